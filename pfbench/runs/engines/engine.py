"""Engines that execute the runs of a sweep and the checks of a verification.

An engine executes tasks and yields their results, in any order. It neither accesses the store nor
decides which tasks to execute.
"""

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from time import monotonic
from typing import Protocol

from pfbench.kernels.libraries import single_blas_thread
from pfbench.kernels.numba_compilation import set_threads, thread_count
from pfbench.runs.engines.workers import Task, TaskResult, Worker, call_and_catch, run_tasks
from pfbench.runs.storage.content_keys import environment

RETRIES = 2
"""Maximum number of restarts of a task whose worker was killed from outside."""


class Engine(Protocol):
    """Interface of engines, which execute tasks in this process, in other processes or remotely."""

    @property
    def slots(self) -> int:
        """Number of tasks that the engine executes at the same time."""

    def environment(self) -> Mapping[str, str]:
        """Return the versions of libraries and the machine properties that all tasks share."""

    def do(self, tasks: Sequence[Task]) -> Iterator[TaskResult]:
        """Execute tasks, and yield each result when it is available.

        If the caller stops iterating early, the engine ends the running tasks.

        Raises
        ------
        KeyboardInterrupt
            If the user interrupts it.
        """

    def close(self) -> None:
        """Release the resources of the engine."""


class _LocalEngine:
    """Base class of the engines that execute tasks on this machine."""

    def environment(self) -> Mapping[str, str]:
        """Return the library versions and machine properties of this process, using one thread."""
        with use_single_thread():
            return environment()

    def close(self) -> None:
        """Close the engine, which holds no resources."""


class SingleProcessEngine(_LocalEngine):
    """Engine that executes tasks one by one in this process; it cannot kill a task."""

    slots = 1

    def do(self, tasks: Sequence[Task]) -> Iterator[TaskResult]:
        """Execute tasks one by one, and yield each result; see `Engine.do`."""
        for index, task in enumerate(tasks):
            started = monotonic()
            with use_single_thread(), redirect_stdout(sys.stderr):  # as in a worker
                status, value, reason = call_and_catch(task.function, task.arguments, Exception)
            yield TaskResult(index, value, status, reason, monotonic() - started)


@dataclass(frozen=True)
class MultiProcessEngine(_LocalEngine):
    """Engine with several concurrent tasks, each in a process that can be killed and replaced.

    The engine kills a run that exceeds its time limit by 5 % plus a fraction of a second. It
    restarts a task whose process another program has killed. If `idle` is a list, the engine keeps
    its processes in this list between calls, until it is closed.
    """

    slots: int
    idle: list[Worker] | None = None

    def do(self, tasks: Sequence[Task]) -> Iterator[TaskResult]:
        """Execute tasks in worker processes, and yield each result; see `Engine.do`."""
        return run_tasks(tasks, self.slots, retries=RETRIES, idle=self.idle)

    def close(self) -> None:
        """Close the idle processes."""
        while self.idle:
            self.idle.pop().close()


@contextmanager
def use_single_thread() -> Iterator[None]:
    """Compute with one thread in the ``with`` block, so that results equal those of a worker."""
    before = thread_count()
    set_threads(1)
    try:
        with single_blas_thread():
            yield
    finally:
        set_threads(before)
