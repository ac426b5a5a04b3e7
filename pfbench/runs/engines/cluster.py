"""Engine that executes tasks on a Dask cluster.

Each thread of a Dask worker executes its tasks in a separate process, as `MultiProcessEngine` does,
so that a task can be killed. If a worker dies, Dask moves its tasks to another worker.
"""

import logging
import multiprocessing
import os
import queue
import re
import socket
import threading
from asyncio import CancelledError
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from importlib import import_module
from pathlib import Path
from time import monotonic
from typing import Any
from uuid import uuid4

from pfbench.base.errors import InputError, WorkerDied, brief_error_text
from pfbench.runs.engines.engine import RETRIES
from pfbench.runs.engines.workers import Task, TaskResult, run_tasks
from pfbench.runs.storage.content_keys import environment, source_digest

REACH = 5.0
"""Seconds within which a scheduler's machine must accept a connection."""

CONNECT = 20.0
"""Seconds within which a scheduler must answer."""

NO_WORKERS_LEFT = 60.0
"""Seconds without a scheduler or workers after which the engine gives up; Dask restarts workers
sooner."""

ANSWER = 120.0
"""Seconds within which every worker must report its environment."""

_FETCH = 30.0
"""Seconds within which the result of a task must arrive."""

_MAKING = "pfbench.runs.engines.run_task"
"""Module from which a task reaches the objects that workers must have in common."""


def _check_reachable(address: str) -> None:
    """Raise at once if no scheduler listens at an address; Dask itself would retry for long."""
    match = re.fullmatch(r"(?:tcp|tls)://\[?([^/]+?)\]?:(\d{1,5})", address)
    if match is None or int(match[2]) > 65535:
        raise InputError(
            f"--scheduler {address!r} is not an address: write tcp://HOST:8786 or tls://HOST:8786."
        )
    try:
        socket.create_connection((match[1], int(match[2])), timeout=REACH).close()
    except OSError as error:
        reason = error.strerror or str(error)
        raise InputError(f"no Dask scheduler answers at {address} ({reason}): start one.") from None


class DaskEngine:
    """Engine that executes tasks on the workers of a Dask scheduler.

    Parameters
    ----------
    address
        ``tcp://HOST:8786``, or ``tls://HOST:8786`` if Dask's configuration names the certificates.

    Raises
    ------
    InputError
        If `distributed` is not installed, the address is invalid, a certificate is missing, or no
        scheduler with workers answers.
    """

    def __init__(self, address: str) -> None:
        try:
            dask = import_module("distributed")
        except ImportError as error:
            raise InputError(
                '--scheduler needs Dask: pip install "pfbench[cluster]" here and on the workers.'
            ) from error
        _check_reachable(address)
        self._address = address
        self._expected: tuple[Mapping[str, str], str] | None = None
        try:
            self._client: Any = dask.Client(address, timeout=CONNECT, set_as_default=False)
        except (OSError, ValueError, TypeError) as error:
            raise InputError(
                f"{address} does not answer like a Dask scheduler, or refuses this machine: "
                "start a scheduler there, or fix the certificates."
            ) from error
        self.slots = sum(self._thread_counts().values())
        if not self.slots:
            self.close()
            raise InputError(f"the Dask scheduler at {address} has no workers: start workers.")

    def close(self) -> None:
        """Disconnect from the scheduler; the cluster keeps running."""
        # A lost scheduler cannot be left in good order: what Dask raises and logs then is no news.
        log = logging.getLogger("distributed.client")
        log.disabled = self._client.status != "running"
        with suppress(Exception):
            self._client.close(timeout=2)
        log.disabled = False

    def environment(self) -> Mapping[str, str]:
        """Return the library versions and machine properties of a worker.

        Workers that differ from this one execute no task, since equal runs could have different
        bits there.

        Raises
        ------
        InputError
            If no worker answers, or its pfbench differs from that of this machine.
        WorkerDied
            If workers answered before, and none answers now.
        """
        kind = InputError if self._expected is None else WorkerDied
        if not self._thread_counts():
            raise kind(
                f"the Dask scheduler at {self._address} does not answer or has no workers: start "
                "the scheduler or its workers."
            )
        try:
            future = self._client.submit(_query_process_environment, pure=False)
            self._expected = values, source = future.result(timeout=ANSWER)
        except (Exception, CancelledError) as error:  # Dask's errors have no type in common
            raise kind(
                f"the workers of the Dask scheduler at {self._address} did not report their "
                f"environment ({_describe_error(error)}): check that all are idle and have "
                "pfbench, and repeat the command."
            ) from error
        if source != source_digest(frozenset({_MAKING})):
            raise InputError(
                f"the Dask workers at {self._address} have another version of pfbench: install it."
            )
        return dict(values)

    def _thread_counts(self) -> Mapping[str, int]:
        """Return each worker's number of threads, by address; {} if no scheduler answers."""
        if self._client.status != "running":
            return {}
        try:
            threads: Mapping[str, int] = self._client.nthreads()
        except (Exception, CancelledError):
            return {}
        return threads

    def do(self, tasks: Sequence[Task]) -> Iterator[TaskResult]:
        """Execute tasks on the cluster, and yield each result as it arrives; see `Engine.do`."""
        scheduler = f"the Dask scheduler {self._address}"
        reason = f"{scheduler} was lost"
        if self._client.status != "running":
            yield from (_make_lost_result(index, reason) for index in range(len(tasks)))
            return
        done: queue.SimpleQueue[tuple[int, Any]] = queue.SimpleQueue()
        caller = uuid4().hex
        futures = self._client.map(
            partial(_do_in_worker, expected=self._expected, folder=os.getcwd()),
            range(len(tasks)),
            tasks,
            pure=False,
            retries=0,
            key=[f"pfbench-{caller}-{index}" for index in range(len(tasks))],
        )
        for index, future in enumerate(futures):
            future.add_done_callback(lambda future, index=index: done.put((index, future)))
        left = set(range(len(tasks)))
        manned = monotonic()
        try:
            while left and self._client.status != "closed":
                try:
                    index, future = done.get(timeout=0.5)
                except queue.Empty:
                    if self._thread_counts():
                        manned = monotonic()
                    elif monotonic() - manned > NO_WORKERS_LEFT:
                        reason = f"{scheduler} has had no workers for {NO_WORKERS_LEFT:g} s"
                        break
                    continue
                # Dask cancels all tasks here when their scheduler is lost or begins anew.
                if future.status == "cancelled":
                    left.discard(index)
                    yield _make_lost_result(index, reason)
                elif index in left and future.status in ("finished", "error"):
                    left.discard(index)
                    # Neither a point nor a program stays in the cluster's memory.
                    yield _read_future(index, future)
                    future.release()
                manned = monotonic()
            yield from (_make_lost_result(index, reason) for index in sorted(left))
        finally:
            if self._client.status == "running":
                self._client.cancel([futures[index] for index in left], force=True)


def _read_future(index: int, future: Any) -> TaskResult:
    """Return the result of a Dask future; if the future raised, a result with status "lost"."""
    try:
        result: TaskResult = future.result(timeout=_FETCH)
    # A scheduler may be lost just now, and Dask's errors have no type in common.
    except (Exception, CancelledError) as error:
        reason = f"its Dask worker failed, or its result was lost ({_describe_error(error)})"
        return _make_lost_result(index, reason)
    return replace(result, index=index)


def _describe_error(error: BaseException) -> str:
    """Return the type and the message of an error that Dask raised, on one line."""
    text = " ".join(brief_error_text(error).split()).rstrip(".")
    return f"{type(error).__name__}: {text}"


def _make_lost_result(index: int, reason: str) -> TaskResult:
    return TaskResult(index, None, "lost", reason, 0.0)


# --- on the workers -------------------------------------------------------------------------------

_local = threading.local()
"""Idle worker process of each thread of a Dask worker."""


def _query_process_environment() -> tuple[dict[str, str], str]:
    """Return environment and source digest of the process that executes this thread's tasks."""
    result = _run_in_process_of_thread(Task(_environment_and_source_digest, (), 120.0))
    if result.status != "done":
        raise WorkerDied(f"a worker process did not report its environment: {result.reason}.")
    environment: tuple[dict[str, str], str] = result.value
    return environment


def _environment_and_source_digest() -> tuple[dict[str, str], str]:
    """Return this process's environment, and the digest of the pfbench source that it runs."""
    return environment(), source_digest(frozenset({_MAKING}))


def _do_in_worker(
    index: int, task: Task, *, expected: tuple[Mapping[str, str], str] | None, folder: str
) -> TaskResult:
    """Execute a task in this Dask thread's own process; repeat it if that process was killed.

    If this worker's environment or source differs from `expected`, `WorkerDied` is raised. Relative
    paths are resolved in the folder where the command was started, if the worker's machine has this
    folder.
    """
    if expected is not None and getattr(_local, "checked", None) != expected:
        if _query_process_environment() != expected:
            raise WorkerDied("this worker's pfbench, libraries or BLAS differ from other workers'.")
        _local.checked = expected
    task = replace(
        task, function=_call_in_folder, arguments=(folder, task.function, task.arguments)
    )
    return _run_in_process_of_thread(task, RETRIES)


def _call_in_folder(folder: str, function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    if Path(folder).is_dir():
        os.chdir(folder)
    return function(*arguments)


def _run_in_process_of_thread(task: Task, retries: int = 0) -> TaskResult:
    """Execute a task in this Dask thread's own process, until the task ends or Dask cancels it."""
    if not hasattr(_local, "idle"):
        # Dask's own processes are daemons, which may have no children; this one ends with it.
        multiprocessing.current_process()._config["daemon"] = False  # type: ignore[attr-defined]
        _local.idle = []
    dask: Any = import_module("distributed").get_worker()
    key = dask.get_current_task()

    def check() -> None:
        existing = dask.state.tasks.get(key)
        if existing is None or existing.state == "cancelled":
            raise WorkerDied("Dask cancelled the task.")

    (result,) = run_tasks([task], 1, retries=retries, idle=_local.idle, check=check)
    return result
