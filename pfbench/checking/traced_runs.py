"""Step-by-step runs of an algorithm whose oracles record forbidden accesses."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np

from pfbench.base.counts import Budget, Counts
from pfbench.base.errors import BudgetExhausted
from pfbench.base.state import Point, State
from pfbench.checking.findings import CheckFailed, TimeLimit
from pfbench.checking.uncounted_calls import PrivateAccessRecordingOracles
from pfbench.oracles import Ledger
from pfbench.runs.loop.steps import Steps

MAX_STATES = 40
"""Maximum number of recorded iterations, at which a run of an endless method is stopped."""

_SECONDS, _FEWEST = 0.3, 3
"""Seconds and iterations after which the first run is stopped: once both are exceeded."""

CALLS = Budget(sfo=10**6, lo=10**4, po=10**4, fv=10**6, hvp=10**6)
"""Oracle calls after which a recorded run is stopped."""


def follow_guarded(
    problem: Any, algorithm: Any, *, seed: int = 0, budget: Budget = CALLS, **options: Any
) -> Steps:
    """Return an iterator over a run's steps, with oracles that record private attribute reads.

    Other options are those of `Steps`.
    """
    streams = {"oracles": np.random.default_rng(0), "algorithm": np.random.default_rng(seed)}
    return Steps(
        problem,
        algorithm,
        ledger=Ledger(budget),
        bundle=PrivateAccessRecordingOracles,
        streams=streams,
        **options,
    )


@dataclass(frozen=True)
class RunRecord:
    """Record of one run: the states, and the oracle counts after each state.

    Attributes
    ----------
    states
        Copies of the yielded states.
    counts
        The counts after each state.
    total
        The counts at the end.
    exhausted_budget
        Whether a call was refused because the budget was spent.
    """

    states: tuple[State, ...]
    counts: tuple[Counts, ...]
    total: Counts
    exhausted_budget: bool

    def has_same_iterates(self, other: "RunRecord", limit: int | None = None) -> bool:
        """Return whether the first `limit` iterates of two runs are identical bit for bit.

        By default all iterates are compared.
        """
        states, its = self.states[:limit], other.states[:limit]
        return len(states) == len(its) and all(
            points_identical(a.x, b.x) for a, b in zip(states, its, strict=True)
        )


@dataclass
class RunRecords:
    """Several recorded runs of one algorithm on one problem.

    Attributes
    ----------
    algorithm, problem
        The algorithm and the problem.
    max_states
        Maximum number of recorded iterations: as many as the first run recorded.
    accessed_privates
        Private attributes of the oracles that the last run read, each with the line that read it.
    """

    algorithm: Any
    problem: Any

    def __post_init__(self) -> None:
        self.accessed_privates: dict[str, str] = {}
        self.max_states = MAX_STATES
        self._seed_zero_run: RunRecord | None = None

    def record_run(
        self,
        *,
        seed: int = 0,
        budget: Budget = CALLS,
        wrap_backend: Callable[[Any], Any] = lambda backend: backend,
        algorithm: Any = None,
    ) -> RunRecord:
        """Run the algorithm, and return the record of the run.

        The run has at most as many iterations as the first run.
        """
        run = follow_guarded(
            self.problem, algorithm or self.algorithm, seed=seed, budget=budget, wrap=wrap_backend
        )
        ledger, self.accessed_privates = run.ledger, run.ask.accessed_privates
        states, counts, patience = [], [], TimeLimit(_SECONDS)
        try:
            for state in islice(run.states, self.max_states):
                if not isinstance(state, State):
                    raise CheckFailed("run must yield States", f"a {type(state).__name__}")
                states.append(_copy_state(state))
                counts.append(ledger.counts())
                if len(states) == 1:  # in which loops are compiled
                    patience = TimeLimit(_SECONDS)
                if self._seed_zero_run is None and patience.is_over and len(states) >= _FEWEST:
                    break
        except BudgetExhausted:
            pass
        return RunRecord(tuple(states), tuple(counts), ledger.counts(), bool(ledger.end_reason))

    def record_run_as_long_as(self, other: "RunRecords") -> RunRecord:
        """Record a run with seed 0 that has as many iterations as the first run of `other`."""
        self._seed_zero_run, self.max_states = other.seed_zero_run, other.max_states
        return self.record_run()

    @property
    def seed_zero_run(self) -> RunRecord:
        """Record of the run with seed 0."""
        if self._seed_zero_run is None:
            self._seed_zero_run = self.record_run()
            self.max_states = max(_FEWEST, len(self._seed_zero_run.states))
        return self._seed_zero_run


def _copy_state(state: State) -> State:
    parts: Any = state
    return State(*(part.copy() if hasattr(part, "copy") else part for part in parts))


def gradient_entries(x: Point) -> Any:
    """Return all entries of an array, or the observed entries of a factored matrix.

    They correspond to the entries of the gradient.
    """
    return x if isinstance(x, np.ndarray) else x.values()


def points_identical(x: Point, y: Point) -> bool:
    """Return whether two points are identical bit for bit."""
    return np.array_equal(gradient_entries(x), gradient_entries(y))
