"""Runs of an algorithm step by step, through oracles that are guarded."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np

from pfbench.base.counts import Budget, Counts
from pfbench.base.errors import BudgetExhausted
from pfbench.base.state import Point, State
from pfbench.checking.bypass import guarded
from pfbench.checking.findings import Patience, Wrong
from pfbench.oracles import Ledger

MOST = 40
"""Iterations that are looked at; an endless method is stopped there."""

_SECONDS, _FEWEST = 0.3, 3
"""The first run goes on for so long, and for so many iterations at least."""

CALLS = Budget(sfo=10**6, lo=10**4, po=10**4, fv=10**6, hvp=10**6)
"""No more is spent in one run."""


@dataclass(frozen=True)
class Trail:
    """One run, step by step.

    Attributes
    ----------
    states
        Copies of what was yielded.
    counts
        What the ledger had after each.
    total
        What it had at the end.
    spent
        Whether a call was refused, since the budget was spent.
    """

    states: tuple[State, ...]
    counts: tuple[Counts, ...]
    total: Counts
    spent: bool

    def same(self, other: "Trail", most: int | None = None) -> bool:
        """Return whether the first iterates are the same bits, all if no number is given."""
        mine, its = self.states[:most], other.states[:most]
        return len(mine) == len(its) and all(
            same_point(a.x, b.x) for a, b in zip(mine, its, strict=True)
        )


@dataclass
class Trails:
    """The runs of an algorithm on a problem.

    Attributes
    ----------
    algorithm, problem
        The two.
    most
        Iterations that are looked at: as many as the first run makes in its time.
    touched
        Which private parts of its oracles the last run read, with the lines.
    """

    algorithm: Any
    problem: Any

    def __post_init__(self) -> None:
        self.touched: dict[str, str] = {}
        self.most = MOST
        self._plain: Trail | None = None

    def trail(
        self,
        *,
        seed: int = 0,
        budget: Budget = CALLS,
        answer: Callable[[Any], Any] = lambda backend: backend,
        algorithm: Any = None,
    ) -> Trail:
        """Run the algorithm, for as many iterations as the first run at most."""
        problem, ledger = self.problem, Ledger(budget)
        backend = answer(problem.open(np.random.default_rng(0)))
        ask = guarded(problem, backend, ledger)
        self.touched = ask.touched
        rng = np.random.default_rng(seed)
        states, counts, patience = [], [], Patience(_SECONDS)
        try:
            for state in islice(self._states(ask, rng, algorithm or self.algorithm), self.most):
                states.append(_copied(state))
                counts.append(ledger.counts())
                if len(states) == 1:  # in which loops are compiled
                    patience = Patience(_SECONDS)
                if self._plain is None and patience.over and len(states) >= _FEWEST:
                    break
        except BudgetExhausted:
            pass
        return Trail(tuple(states), tuple(counts), ledger.counts(), bool(ledger.ended))

    def as_long_as(self, other: "Trails") -> Trail:
        """Return the run of seed 0, of as many iterations as the first run of another has."""
        self._plain, self.most = other.plain, other.most
        return self.trail()

    def _states(self, ask: Any, rng: np.random.Generator, algorithm: Any) -> Iterator[State]:
        states = algorithm.run(ask, self.problem.start(), rng)
        if not isinstance(states, Iterator):
            raise Wrong("run(ask, x, rng) to yield states", f"a {type(states).__name__}")
        for state in states:
            if not isinstance(state, State):
                raise Wrong("it to yield a State", f"a {type(state).__name__}")
            yield state

    @property
    def plain(self) -> Trail:
        """The run of seed 0."""
        if self._plain is None:
            self._plain = self.trail()
            self.most = max(_FEWEST, len(self._plain.states))
        return self._plain


def _copied(state: State) -> State:
    parts: Any = state
    return State(*(part.copy() if hasattr(part, "copy") else part for part in parts))


def entries(x: Point) -> Any:
    """Return the entries of a point that gradients see."""
    return x if isinstance(x, np.ndarray) else x.values()


def same_point(x: Point, y: Point) -> bool:
    """Return whether two points are the same bits."""
    return np.array_equal(entries(x), entries(y))
