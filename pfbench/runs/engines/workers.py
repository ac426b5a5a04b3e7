"""Worker processes that can be killed at a time limit and are replaced.

Each worker imports its modules once and then executes one task after the other. A task that exceeds
its limit, or crashes its process, costs only that process. If another program kills a worker, its
task is lost and can be restarted elsewhere. A worker that has run user-defined code executes no
task of other code. Each answer carries the number of its task.
"""

import json
import os
import signal
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from math import inf
from multiprocessing import sharedctypes
from multiprocessing.connection import Connection, wait
from time import monotonic
from typing import Any

from pfbench.base.counts import COUNTED
from pfbench.base.errors import brief_error_text, format_error
from pfbench.runs.loop.processes import kill_process_group, prepare_child_process, start_process
from pfbench.runs.storage.serialization import decode_json, json_default

_GRACE = 2.0
"""Seconds that a worker has to end by itself, before it is killed."""

_POLL = 0.1
"""Seconds between two checks of the numbers that tasks share."""

_MOST_PLAIN = 2**28
"""Maximum number of bytes of an answer of an untrusted process."""

_UNNOTED = [inf] + [0.0] * (len(COUNTED) + 2)
"""Shared numbers of a task before it writes any: a deadline, and one for each trace column."""

_FROM_OUTSIDE = frozenset(
    getattr(signal, name)
    for name in ("SIGKILL", "SIGTERM", "SIGHUP", "SIGINT", "SIGQUIT")
    if hasattr(signal, name)
)
"""Signals that other processes or the system send; any other means that the task crashed."""


@dataclass(frozen=True)
class Task:
    """Task of a worker process: a call of an importable function.

    Attributes
    ----------
    function, arguments
        The function and its arguments.
    limit
        Time limit in seconds.
    user_code_name
        Name of the user-defined code that the task runs; empty if it runs none.
    untrusted_code_folder
        Folder of the task's code if that is untrusted. Its process is then confined, works in the
        folder, and answers with plain data, which are never unpickled.
    """

    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    limit: float = inf
    user_code_name: str = ""
    untrusted_code_folder: str = ""


@dataclass(frozen=True)
class TaskResult:
    """Result of a task: its value, or the reason why it failed.

    Attributes
    ----------
    index
        Position of the task in the list.
    value
        Return value of the function; None unless status is "done".
    status
        "done", "error" (the function raised), "timeout" (killed at the limit), "died" (its process
        crashed) or "lost" (its process was killed from outside).
    reason
        Reason of a status other than "done", in words; else empty.
    seconds
        Duration of the last execution.
    shared_numbers
        The last shared numbers; see `send_numbers_to_parent`.
    retries
        Number of restarts after a loss.
    """

    index: int
    value: Any
    status: str
    reason: str
    seconds: float
    shared_numbers: tuple[float, ...] = ()
    retries: int = 0


def run_tasks(
    tasks: Sequence[Task],
    jobs: int,
    *,
    retries: int = 0,
    idle: "list[Worker] | None" = None,
    check: Callable[[], object] | None = None,
) -> Iterator[TaskResult]:
    """Execute all tasks in `jobs` processes; yield each result when it is available.

    A task whose process was killed by another program is restarted at most `retries` times. If the
    caller stops iterating early, all busy workers are ended. If `idle` is a list, idle workers stay
    in it for the next call, since they have imported their modules. Otherwise idle workers are
    ended, too. `check` is called at least every second, and may raise to end all tasks.
    """
    waiting = list(enumerate(tasks))[::-1]
    lost = [0] * len(tasks)
    workers = [idle.pop() if idle else Worker() for _ in range(min(jobs, len(tasks)))]

    def assign_tasks() -> list[Worker]:
        """Assign waiting tasks to idle workers; return the busy workers."""
        for worker in workers:
            if worker.index is None and waiting:
                worker.start_task(*waiting.pop())
        return [worker for worker in workers if worker.index is not None]

    try:
        while busy := assign_tasks():
            if check is not None:
                check()
            for result in _wait_for_results(busy):
                if result.status == "lost" and lost[result.index] < retries:
                    lost[result.index] += 1
                    waiting.append((result.index, tasks[result.index]))
                    continue
                # So that no worker waits for what is done with the result.
                assign_tasks()
                yield replace(result, retries=lost[result.index])
    finally:
        for worker in workers:
            if idle is not None and worker.index is None:
                idle.append(worker)
            else:
                worker.close()


def _wait_for_results(busy: "Sequence[Worker]") -> "list[TaskResult]":
    """Wait for `_POLL` seconds, or until a worker has answered, died or timed out.

    Return the results of such workers.
    """
    until = min(worker.next_check_time() for worker in busy)
    watched = [end for worker in busy for end in worker.wait_handles]
    ready = wait(watched, max(0.0, until - monotonic()))
    results = [
        worker.finish_task(answered=not worker.wait_handles.isdisjoint(ready))
        for worker in busy
        if worker.is_late() or not worker.wait_handles.isdisjoint(ready)
    ]
    return [result for result in results if result is not None]


_noted: Any = None
"""Numbers that this process shares with its parent; set when a worker starts."""

_worker = 0
"""Process id of the worker; processes that a task forks may not write the shared numbers."""


def send_numbers_to_parent(numbers: Sequence[float]) -> None:
    """Send numbers to the parent process, which keeps them in case it kills this worker process.

    The first number is the time, on the clock `time.monotonic`, after which the parent kills the
    task. Infinity, its initial value, and 0 mean that there is no such time. Task and caller agree
    on the meaning of the other numbers. Fewer numbers than before replace only the first ones.
    Outside a worker process, the function does nothing.
    """
    if _noted is not None and os.getpid() == _worker:
        _noted[: len(numbers)] = numbers


class Worker:
    """Worker process with its pipe and its current task."""

    def __init__(self) -> None:
        self.index: int | None = None
        self._started = self._limit = 0.0
        self._number = 0
        self._folder = ""
        self._start()

    def _start(self) -> None:
        self._code = ""
        self._notes = sharedctypes.RawArray("d", _UNNOTED)
        self._process, self.pipe = start_process(_serve, self._notes, self._folder)

    @property
    def wait_handles(self) -> set[Any]:
        """Handles for `multiprocessing`'s `wait`: ready when the process answers or dies."""
        return {self.pipe, self._process.sentinel}

    def start_task(self, index: int, task: Task) -> None:
        """Send a task to the process; first replace a process that died or ran other user code."""
        ran_other_code = self._code not in ("", task.user_code_name)
        if ran_other_code or self._folder != task.untrusted_code_folder:
            self._folder = task.untrusted_code_folder
            self._replace()
        self._notes[:] = _UNNOTED
        try:
            self._send(task)
        except ConnectionError:
            self._replace()
            self._send(task)
        self.index, self._limit = index, task.limit
        self._started = monotonic()

    def _send(self, task: Task) -> None:
        self._code = task.user_code_name
        self._number += 1
        self.pipe.send(self._number)
        self.pipe.send((task.function, task.arguments))

    def next_check_time(self) -> float:
        """Return the next time, on the clock `time.monotonic`, at which to check `is_late`."""
        return min(self._started + self._limit, monotonic() + _POLL)

    def is_late(self) -> bool:
        """Return whether the task exceeded its time limit, or the deadline sent by its process."""
        now = monotonic()
        return now >= self._started + self._limit or now >= (self._notes[0] or inf)

    def finish_task(self, *, answered: bool) -> TaskResult | None:
        """Return the result of the current task; replace the process if it timed out or died.

        Return None if the answer of the process belongs to another task.
        """
        assert self.index is not None
        status, value, reason = "timeout", None, f"it took more than {self._limit:g} s"
        if answered:
            number, status, value, reason = self._receive_answer()
            if number != self._number:
                return None
        seconds = monotonic() - self._started
        result = TaskResult(self.index, value, status, reason, seconds, tuple(self._notes))
        self.index = None
        if status not in ("done", "error"):
            self._replace()
        return result

    def _receive_answer(self) -> tuple[int, str, Any, str]:
        """Return the process's answer: task number, status, value, reason if the task failed."""
        try:
            if not self.pipe.poll():  # the process is gone, and something that it started is not
                raise EOFError
            if self._folder:
                return _read_plain_answer(self.pipe.recv_bytes(_MOST_PLAIN))
            number, status, value, reason = self.pipe.recv()
            return number, status, value, reason
        except (EOFError, ConnectionError):
            self._process.join(_GRACE)
            code = self._process.exitcode
            lost = code is not None and -code in _FROM_OUTSIDE
            return self._number, "lost" if lost else "died", None, describe_exit_code(code)
        except Exception as error:  # of any kind, as the bytes are not trusted
            reason = f"its answer cannot be read ({format_error(error)})"
            return self._number, "died", None, reason

    def _replace(self) -> None:
        self.close(at_once=True)
        self._start()

    def close(self, *, at_once: bool = False) -> None:
        """End the process; an idle process may first end by itself, unless `at_once` is true."""
        if self.index is None and not at_once:
            try:
                self.pipe.send(None)
                self._process.join(_GRACE)
            except (BrokenPipeError, ConnectionError):
                pass
        kill_process_group(self._process)
        self.pipe.close()


def _read_plain_answer(data: bytes) -> tuple[int, str, Any, str]:
    number, status, value, reason = decode_json(data)
    if status not in ("done", "error") or not isinstance(reason, str):
        raise ValueError("it is not an answer")
    return number, status, value, reason


def describe_exit_code(code: int | None) -> str:
    """Return a description of how a process ended, from its exit code."""
    if code is None:
        return "its process closed the connection to its parent process"
    with suppress(ValueError):  # no signal has this number
        return f"its process was ended by {signal.Signals(-code).name}"
    return f"its process ended with status {code}"


def _serve(pipe: Connection, notes: Any, code_folder: str = "") -> None:
    """Receive tasks in the worker process and execute them, until the parent sends None."""
    global _noted, _worker
    prepare_child_process(confinement_folder=code_folder)
    _noted, _worker = notes, os.getpid()  # which a confined process gets there
    folder = os.getcwd()
    sys.stdout = sys.stderr  # the standard output is the command's, which may print JSON there

    def send(message: tuple[Any, ...]) -> None:
        if code_folder:
            pipe.send_bytes(json.dumps(message, default=json_default).encode())
        else:
            pipe.send(message)

    while True:
        try:
            number = pipe.recv()
            if number is None:
                return
            function, arguments = pipe.recv()
            with suppress(OSError):
                os.chdir(folder)  # wherever the last task went
            answer = call_and_catch(function, arguments, BaseException)
        except (EOFError, ConnectionError):
            return
        except Exception as error:
            reason = f"the task cannot be read by a worker: {brief_error_text(error)}"
            answer = "error", None, reason
        if os.getpid() != _worker:  # the task forked, and its child came back here, too
            os._exit(0)
        try:
            send((number, *answer))
        except ConnectionError:
            return
        except Exception as error:
            send((number, "error", None, f"its result cannot be sent: {brief_error_text(error)}"))


def call_and_catch(
    function: Callable[..., Any], arguments: tuple[Any, ...], caught: type[BaseException]
) -> tuple[str, Any, str]:
    """Call a function; return "done" and its value, or "error", None and the exception's text."""
    try:
        return "done", function(*arguments), ""
    except caught as error:
        location = traceback.extract_tb(error.__traceback__)[-1]
        line = f"line {location.lineno} of {location.name}"
        return "error", None, f"{type(error).__name__}: {brief_error_text(error)} ({line})"
