"""A run as it is planned: by selectors, names and limits."""

from collections.abc import Iterable
from dataclasses import dataclass

from pfbench.base.counts import Budget
from pfbench.runs.loop.stop import Stop


@dataclass(frozen=True)
class PlannedRun:
    """One run, by selectors.

    Attributes
    ----------
    problem, algorithm
        Selectors; either may be somebody's own, ``MODULE:NAME[...]``.
    seed
        The algorithm's seed.
    measures, every
        What the trace records, each so many iterations; a measure may be ``MODULE:NAME``.
    budget, stop, time_limit
        As `pfbench.solve` takes them (oracle calls, a target by its name in the trace, seconds).
    memory_limit
        Bytes that the run may add to those of its process; None for no limit.
    """

    problem: str
    algorithm: str
    seed: int
    measures: tuple[str, ...]
    every: int
    budget: Budget | None = None
    stop: Stop | None = None
    time_limit: float | None = None
    memory_limit: float | None = None

    @property
    def own_selectors(self) -> tuple[str, ...]:
        """The selectors MODULE:NAME of somebody's own problem, algorithm and measures."""
        named = (self.problem, self.algorithm, *self.measures)
        return tuple(text for text in named if own_names([text]))


def own_names(selectors: Iterable[str]) -> list[str]:
    """Return the names MODULE:NAME among those of selectors, each once."""
    names = (text.partition("[")[0].strip() for text in selectors)
    return list(dict.fromkeys(name for name in names if ":" in name))
