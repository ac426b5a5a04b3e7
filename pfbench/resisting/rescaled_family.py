"""LO calls of algorithms until V <= eps D, compared with the lower bound T(eps), for several eps.

The functions fbar are 1-smooth with fbar(0) - min fbar <= 1. No method that satisfies (14) has V
<= eps D before T(eps) = (0.0016/12)/(l eps^2) LO calls, rounded down. This is theorem 5.1 of
shen2019 for L = delta = 1, with the certified constant l. Each run is against the resisting oracle
for its epsilon. It continues beyond T calls until the target is reached, and is censored after
`limit` calls. The function is fixed as soon as all directions are drawn, and the rest is an
ordinary run in floating point. The chain amplifies rounding errors. So other units can change the
calls of a method that oscillates a little. The bound, calls >= T, does not depend on them.
"""

import math
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from pfbench.algorithms.base import get_parameters
from pfbench.algorithms.sliding import CGS, SlidingMethod
from pfbench.base.checks import check_integer
from pfbench.base.counts import Budget
from pfbench.base.errors import BudgetExhausted
from pfbench.base.protocols import Algorithm
from pfbench.base.state import State
from pfbench.oracles import Oracles
from pfbench.problems.zero_chain import DEPTH, GAP, chain_scaling, chain_smoothness
from pfbench.resisting.contestants import make_contestant
from pfbench.resisting.resisting_oracle import (
    ResistingOracle,
    make_resisting_chain,
    run_against_oracle,
)
from pfbench.runs.loop.steps import random_stream

MOST = 200_000
"""Default number of LO calls after which a run is censored."""


@dataclass(frozen=True)
class FamilyRun:
    """Number of LO calls until an algorithm's gap reaches a target, with a lower bound T.

    Attributes
    ----------
    algorithm
        The selector as originally written.
    epsilon
        The target is V <= epsilon D.
    T
        The lower bound with the certified l, rounded down.
    calls
        LO calls up to the target, or all calls if it was not reached.
    censored
        Whether the target was not reached.
    """

    algorithm: str
    epsilon: float
    T: int
    calls: int
    censored: bool

    @property
    def tightness(self) -> float:
        """Ratio of LO calls to their lower bound T; too small if the run missed the target."""
        return self.calls / self.T


def max_epsilon(T: int) -> float:
    """Return the largest epsilon at which the lower bound on LO calls is T, up to rounding."""
    check_integer("horizon", T, minimum=1)
    return math.sqrt(GAP**2 / DEPTH / chain_smoothness() / T) * (1.0 - 1e-12)


def run_family(
    algorithms: Sequence[str], epsilons: Sequence[float], *, limit: int = MOST, seed: int = 0
) -> list[FamilyRun]:
    """Count each algorithm's LO calls until the gap is at most epsilon times the diameter.

    Parameters
    ----------
    algorithms
        Selectors; see `make_contestant` for default parameters. The number of iterations is
        unlimited; a sliding method, whose tolerance depends on it, gets T, 2T, 4T, ... iterations,
        and its calls are those of the first such run that reaches the target.
    epsilons
        Accuracies, each with T(epsilon) >= 1.
    limit
        LO calls after which a run is censored.
    seed
        Seed of the hidden directions.

    Raises
    ------
    InputError
        If T(epsilon) is below 1 for an epsilon, or a selector is wrong.
    RefusedError
        If the theorem does not cover an algorithm.
    """
    check_integer("limit", limit, minimum=1)
    return [
        _count_lo_calls_to_target(text, epsilon, limit, seed)
        for text in algorithms
        for epsilon in epsilons
    ]


def _count_lo_calls_to_target(text: str, epsilon: float, limit: int, seed: int) -> FamilyRun:
    """Count one algorithm's LO calls until the gap is at most epsilon times the diameter."""
    T, mu = chain_scaling(epsilon, 1.0, 1.0)
    problem = make_resisting_chain(T, L=1.0, mu=mu)
    target = epsilon * problem.set.diameter
    for algorithm in _copies_by_horizon(make_contestant(text, problem).algorithm, T, limit):
        oracle = ResistingOracle(problem, random_stream(seed, "oracles"), record=False)
        calls, exists = _calls(algorithm, oracle, target, limit, seed)
        if exists:
            break
    return FamilyRun(text, epsilon, T, calls, censored=not exists)


def _copies_by_horizon(algorithm: Algorithm, T: int, limit: int) -> Iterator[Algorithm]:
    """Yield copies of an algorithm, one for each number of iterations to try.

    The tolerances of sliding methods depend on their number of iterations. So they are tried with
    T, 2T, 4T, ... iterations, up to `limit`. Other methods are tried with `limit` only.
    """
    own: Any = algorithm  # a dataclass of the catalogue, or a user-defined class
    if not isinstance(algorithm, (CGS, SlidingMethod)):
        has_iterations = "iterations" in get_parameters(algorithm)
        yield replace(own, iterations=limit) if has_iterations else algorithm
        return
    field = "period" if isinstance(algorithm, CGS) else "iterations"
    iterations = T
    while iterations <= limit:
        yield replace(own, **{field: iterations})
        iterations *= 2


def _calls(
    algorithm: Algorithm, oracle: ResistingOracle, target: float, limit: int, seed: int
) -> tuple[int, bool]:
    """Return a run's LO calls until its gap is at most `target`, and whether it reached that gap.

    If it was not reached, these are all LO calls of the run.
    """
    reached = False

    def has_reached_target(ask: Oracles, state: State) -> bool:
        nonlocal reached
        reached = oracle.gap(state.x) <= target
        return reached

    with suppress(BudgetExhausted):
        rng, budget = random_stream(seed, "algorithm"), Budget(lo=limit)
        run_against_oracle(algorithm, oracle, rng, budget=budget, watch=has_reached_target)
    return oracle.counts().lo, reached
