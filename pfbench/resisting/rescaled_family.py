"""LO calls of an algorithm until V <= eps D, compared with the lower bound T(eps).

The functions fbar are 1-smooth with fbar(0) - min fbar <= 1. No method that satisfies (14) has V
<= eps D before T(eps) = (0.0016/12)/(l eps^2) LO calls, rounded down. This is theorem 5.1 of
shen2019 for L = delta = 1, with the certified constant l. Each run is against the resisting oracle
for its epsilon. It continues beyond T calls until the target is reached, and is censored after
`limit` calls. The function is fixed as soon as all directions are drawn, and the rest is an
ordinary run in floating point. The chain amplifies rounding errors. So other units can change the
calls of a method that oscillates a little. The bound, calls >= T, does not depend on them.
"""

import math
from contextlib import suppress

from pfbench.base.checks import check_integer
from pfbench.base.counts import Budget
from pfbench.base.errors import BudgetExhausted
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


def max_epsilon(T: int) -> float:
    """Return the largest epsilon at which the lower bound on LO calls is T, up to rounding."""
    check_integer("horizon", T, minimum=1)
    return math.sqrt(GAP**2 / DEPTH / chain_smoothness() / T) * (1.0 - 1e-12)


def count_calls_to_target(text: str, epsilon: float, *, limit: int = MOST, seed: int = 0) -> int:
    """Count an algorithm's LO calls until its gap is at most epsilon times the diameter.

    Parameters
    ----------
    text
        Selector; see `make_contestant` for default parameters. The number of iterations is `limit`.
    epsilon
        Accuracy with T(epsilon) >= 1.
    limit
        LO calls after which a run is censored.
    seed
        Seed of the hidden directions.

    Returns
    -------
    int
        All calls of the run, where it does not reach the target.

    Raises
    ------
    InputError
        If T(epsilon) is below 1, or the selector is wrong.
    RefusedError
        If the theorem does not cover the algorithm.
    """
    T, mu = chain_scaling(epsilon, 1.0, 1.0)
    problem = make_resisting_chain(T, L=1.0, mu=mu)
    algorithm = make_contestant(text, problem, iterations=limit).algorithm
    oracle = ResistingOracle(problem, random_stream(seed, "oracles"), record=False)
    target = epsilon * problem.set.diameter
    with suppress(BudgetExhausted):
        run_against_oracle(
            algorithm,
            oracle,
            random_stream(seed, "algorithm"),
            budget=Budget(lo=limit),
            watch=lambda ask, state: oracle.gap(state.x) <= target,
        )
    return oracle.counts().lo
