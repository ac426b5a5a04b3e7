"""Engines: where the runs of a sweep are made, and the checks of a verification.

An engine gets tasks and yields what became of each, in any order. It neither knows the store nor
decides what is done.
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
"""So often a task is begun again whose worker was killed from outside."""


class Engine(Protocol):
    """Where tasks are done."""

    @property
    def slots(self) -> int:
        """Number of tasks at a time."""

    def environment(self) -> Mapping[str, str]:
        """Return the environment that every task is done in; see `pfbench.runs.storage.content_keys`."""  # noqa: E501

    def do(self, tasks: Sequence[Task]) -> Iterator[TaskResult]:
        """Do tasks; yield the result of each as it comes. Leaving the iteration early ends them.

        Raises
        ------
        KeyboardInterrupt
            If the user interrupts it.
        """

    def close(self) -> None:
        """Let go of what the engine holds."""


class _LocalEngine:
    """What the engines of this machine share."""

    def environment(self) -> Mapping[str, str]:
        """See `Engine.environment`."""
        with use_single_thread():
            return environment()

    def close(self) -> None:
        """See `Engine.close`."""


class SingleProcessEngine(_LocalEngine):
    """Does one task after the other, here; nothing can end one that does not end by itself."""

    slots = 1

    def do(self, tasks: Sequence[Task]) -> Iterator[TaskResult]:
        """See `Engine.do`."""
        for index, task in enumerate(tasks):
            started = monotonic()
            with use_single_thread(), redirect_stdout(sys.stderr):  # as in a worker
                status, value, reason = call_and_catch(task.function, task.arguments, Exception)
            yield TaskResult(index, value, status, reason, monotonic() - started)


@dataclass(frozen=True)
class MultiProcessEngine(_LocalEngine):
    """Does so many tasks at a time, each in a process that can be killed and is replaced.

    A run is killed when it is past its time limit by a twentieth and less than a second. A task
    whose process was killed from outside is begun again. With a list `idle`, processes are kept in
    it from one call to the next, until the engine is closed.
    """

    slots: int
    idle: list[Worker] | None = None

    def do(self, tasks: Sequence[Task]) -> Iterator[TaskResult]:
        """See `Engine.do`."""
        return run_tasks(tasks, self.slots, retries=RETRIES, idle=self.idle)

    def close(self) -> None:
        """See `Engine.close`."""
        while self.idle:
            self.idle.pop().close()


@contextmanager
def use_single_thread() -> Iterator[None]:
    """Use one thread inside, so that a run has the same bits here as in a worker."""
    before = thread_count()
    set_threads(1)
    try:
        with single_blas_thread():
            yield
    finally:
        set_threads(before)
