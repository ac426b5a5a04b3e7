"""Worker processes that can be killed at a time limit and are replaced.

Each worker imports what it needs once and then makes one task after the other. A task that outlives
its limit, or takes its process down with it, costs that process and nothing else.
"""

import multiprocessing
import signal
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.context import BaseContext
from time import monotonic
from typing import Any

import numba
from threadpoolctl import threadpool_limits

_GRACE = 2.0
"""Seconds that a worker gets to end by itself."""


@dataclass(frozen=True)
class Task:
    """A call of an importable function, with the seconds it may take."""

    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    limit: float


@dataclass(frozen=True)
class Result:
    """How a task ended.

    Attributes
    ----------
    index
        Position of the task in the given order.
    value
        What it returned; None unless status is "done".
    status
        "done", "error" (it raised), "timeout" (killed at its limit) or "died" (its process did).
    reason
        In words.
    seconds
        From its start to its end.
    """

    index: int
    value: Any
    status: str
    reason: str
    seconds: float


def run_tasks(tasks: Sequence[Task], jobs: int) -> Iterator[Result]:
    """Make all tasks in `jobs` processes; yield each result as it comes.

    Leaving the iteration early ends all workers.
    """
    context = _context()
    waiting = list(enumerate(tasks))[::-1]
    workers = [_Worker(context) for _ in range(min(jobs, len(tasks)))]
    try:
        while True:
            for worker in workers:
                if worker.index is None and waiting:
                    worker.begin(*waiting.pop())
            busy = [worker for worker in workers if worker.index is not None]
            if not busy:
                return
            until = min(worker.deadline for worker in busy)
            ready = wait([worker.pipe for worker in busy], max(0.0, until - monotonic()))
            for worker in busy:
                if worker.pipe in ready or monotonic() >= worker.deadline:
                    yield worker.end(answered=worker.pipe in ready)
    finally:
        for worker in workers:
            worker.close()


def _context() -> BaseContext:
    """Return how processes are started: a server with the imports done where there is one.

    Never a plain fork: threads of numba and BLAS do not survive it.
    """
    if "forkserver" in multiprocessing.get_all_start_methods():
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(["pfbench.runs.solve"])
        return context
    return multiprocessing.get_context("spawn")


class _Worker:
    """One process, its pipe, and the task it is at."""

    def __init__(self, context: BaseContext) -> None:
        self._context = context
        self.index: int | None = None
        self.deadline = self._started = 0.0
        self._limit = 0.0
        self._start()

    def _start(self) -> None:
        self.pipe: Connection
        self.pipe, far = self._context.Pipe()
        self._process = self._context.Process(target=_serve, args=(far,), daemon=True)  # type: ignore[attr-defined]
        self._process.start()
        far.close()

    def begin(self, index: int, task: Task) -> None:
        """Hand the process a task."""
        self.index, self._limit = index, task.limit
        self._started = monotonic()
        self.deadline = self._started + task.limit
        self.pipe.send((task.function, task.arguments))

    def end(self, *, answered: bool) -> Result:
        """Return the result of the task at hand; a process that is late or dead is replaced."""
        assert self.index is not None
        status, value, reason = "timeout", None, f"it took more than {self._limit:g} s"
        if answered:
            try:
                status, value, reason = self.pipe.recv()
            except (EOFError, ConnectionError):
                self._process.join(_GRACE)
                status, reason = "died", _why(self._process.exitcode)
        result = Result(self.index, value, status, reason, monotonic() - self._started)
        self.index = None
        if status in ("timeout", "died"):
            self.close(at_once=True)
            self._start()
        return result

    def close(self, *, at_once: bool = False) -> None:
        """End the process."""
        if self.index is None and not at_once:
            try:
                self.pipe.send(None)
                self._process.join(_GRACE)
            except (BrokenPipeError, ConnectionError):
                pass
        if self._process.is_alive():
            self._process.kill()
        self._process.join()
        self.pipe.close()


def _why(code: int | None) -> str:
    """Return in words how a process ended."""
    if code is not None and code < 0:
        try:
            return f"its process was ended by {signal.Signals(-code).name}"
        except ValueError:
            return f"its process was ended by signal {-code}"
    return f"its process ended with status {code}"


def _serve(pipe: Connection) -> None:
    """Make tasks until there are no more; runs in the worker."""
    # The parent decides what an interruption means.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _use_one_thread()
    while True:
        try:
            order = pipe.recv()
        except (EOFError, ConnectionError):
            return
        except Exception as error:
            pipe.send(("error", None, f"it cannot be sent to a worker: {error}"))
            continue
        if order is None:
            return
        function, arguments = order
        try:
            answer = "done", function(*arguments), ""
        except BaseException as error:
            place = traceback.extract_tb(sys.exc_info()[2])[-1]
            words = f"{type(error).__name__}: {error} (line {place.lineno} of {place.name})"
            answer = "error", None, words
        pipe.send(answer)


def _use_one_thread() -> None:
    """Compute with one thread, so that N workers use N cores."""
    # numba makes a lock of the default kind; only a forking one leaves nothing behind when its
    # process is killed.
    usual = multiprocessing.get_start_method()
    if "fork" in multiprocessing.get_all_start_methods():
        multiprocessing.set_start_method("fork", force=True)
    numba.set_num_threads(1)
    multiprocessing.set_start_method(usual, force=True)
    threadpool_limits(1)
