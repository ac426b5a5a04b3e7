"""Engines: where the runs of a sweep are made.

An engine gets planned runs and yields what became of each, in any order. It neither knows the store
nor decides what is run.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol

import numba
from threadpoolctl import threadpool_limits

from pfbench.runs.keys import environment
from pfbench.runs.making import make, of_result
from pfbench.runs.run import Run
from pfbench.runs.study import PlannedRun
from pfbench.runs.workers import Task, run_tasks

RETRIES = 2
"""So often a run is begun again whose worker was killed from outside."""


@dataclass(frozen=True, eq=False)
class Made:
    """What became of a planned run.

    Attributes
    ----------
    index
        Its position among those that the engine was given.
    run
        The run, whatever its status.
    retries
        How often it was begun again because its worker was lost.
    """

    index: int
    run: Run
    retries: int = 0


class Engine(Protocol):
    """Where runs are made."""

    @property
    def slots(self) -> int:
        """Number of runs at a time."""

    def environment(self) -> Mapping[str, str]:
        """Return the environment that every run is made in; see `pfbench.runs.keys`."""

    def make(self, plans: Sequence[PlannedRun]) -> Iterator[Made]:
        """Make runs; yield each as it comes. Leaving the iteration early ends them.

        Raises
        ------
        KeyboardInterrupt
            If the user interrupts it.
        """

    def close(self) -> None:
        """Let go of what the engine holds."""


class ThisProcess:
    """Makes one run after the other, here; nothing can end a run that does not end by itself."""

    slots = 1

    def environment(self) -> Mapping[str, str]:
        """See `Engine.environment`."""
        with _one_thread():
            return environment()

    def make(self, plans: Sequence[PlannedRun]) -> Iterator[Made]:
        """See `Engine.make`."""
        for index, plan in enumerate(plans):
            with _one_thread():
                run = make(plan)
            yield Made(index, run)

    def close(self) -> None:
        """See `Engine.close`."""


@dataclass(frozen=True)
class LocalProcesses:
    """Makes so many runs at a time, each in a process that can be killed and is replaced.

    A run is killed when it is past its time limit by a twentieth and less than a second. One whose
    process was killed from outside is begun again.
    """

    slots: int

    def environment(self) -> Mapping[str, str]:
        """See `Engine.environment`."""
        with _one_thread():
            return environment()

    def make(self, plans: Sequence[PlannedRun]) -> Iterator[Made]:
        """See `Engine.make`."""
        tasks = [Task(make, (plan,)) for plan in plans]
        for result in run_tasks(tasks, self.slots, retries=RETRIES):
            yield Made(result.index, of_result(plans[result.index], result), result.retries)

    def close(self) -> None:
        """See `Engine.close`."""


@contextmanager
def _one_thread() -> Iterator[None]:
    """Use one thread inside, so that a run has the same bits here as in a worker."""
    before = numba.get_num_threads()
    numba.set_num_threads(1)
    try:
        with threadpool_limits(1, user_api="blas"):
            yield
    finally:
        numba.set_num_threads(before)
