"""Rescaled family over epsilon: calls to V <= eps D against the lower bound T(eps).

fbar is L-smooth with fbar(0) - min fbar <= delta, and no method that satisfies (14) has V <= eps D
before T(eps) = (0.0016/12) L delta/(l eps^2) LO calls, rounded down (shen2019, theorem 5.1,
with the constant l that is certified here). Each run is against the resisting oracle of its own
epsilon, continues beyond T until the target, and is censored after too many calls.

Once all directions are drawn the function is fixed, and the rest is an ordinary run in floating
point. The chain amplifies rounding errors, so other units can change the calls of a method that
oscillates a little; the bound, calls >= T, does not depend on that.
"""

import math
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from pfbench.algorithms.base import get_parameters
from pfbench.algorithms.sliding import CGS, SlidingMethod
from pfbench.base.checks import check_integer
from pfbench.base.counts import Budget
from pfbench.base.errors import BudgetExhausted, InputError
from pfbench.base.protocols import Algorithm
from pfbench.base.state import State
from pfbench.oracles import Oracles
from pfbench.problems.chain_bounds import PAPER_SMOOTHNESS
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
    """Run of the family.

    Attributes
    ----------
    algorithm
        The selector as originally written.
    epsilon, L, delta
        Parameters of fbar; the target is V <= epsilon D.
    T, paper_T
        The lower bound with the certified l, rounded down, and with the paper's 3^15, as a number.
    calls
        LO calls up to the target, or all calls if it was not reached.
    censored
        Whether the target was not reached.
    """

    algorithm: str
    epsilon: float
    L: float
    delta: float
    T: int
    paper_T: float
    calls: int
    censored: bool

    @property
    def tightness(self) -> float:
        """Calls over T; a lower bound if the run is censored."""
        return self.calls / self.T

    def as_json(self) -> dict[str, Any]:
        """Return the run as printed by ``pfbench adversary --family --json``."""
        return {**asdict(self), "tightness": self.tightness}


@dataclass(frozen=True)
class PowerLawFit:
    """Power law calls = constant L delta eps^slope of a family.

    Attributes
    ----------
    slope
        Least-squares slope on logarithms, over the runs that reached their target.
    interval
        Its 95 % interval by Student's t; infinite ends if fewer than three runs are left.
    constant
        Geometric mean of calls eps^2/(L delta).
    """

    slope: float
    interval: tuple[float, float]
    constant: float


def lower_bound_constant(smoothness: float) -> float:
    """Return T eps^2/(L delta) = (0.0016/12)/l, not rounded."""
    return GAP**2 / DEPTH / smoothness


def max_epsilon(T: int, L: float = 1.0, delta: float = 1.0) -> float:
    """Return the largest epsilon, up to rounding, whose lower bound is T."""
    check_integer("horizon", T, minimum=1)
    return math.sqrt(lower_bound_constant(chain_smoothness()) * L * delta / T) * (1.0 - 1e-12)


def run_family(
    algorithms: Sequence[str],
    epsilons: Sequence[float],
    *,
    L: float = 1.0,
    delta: float = 1.0,
    limit: int = MOST,
    seed: int = 0,
) -> list[FamilyRun]:
    """Return the calls of each algorithm to V <= epsilon D, for each epsilon.

    Parameters
    ----------
    algorithms
        Selectors; see `make_contestant` for default parameters. The number of iterations is
        unlimited; a sliding method, whose tolerance depends on it, gets T, 2T, 4T, ... iterations,
        and its calls are those of the first such run that reaches the target.
    epsilons
        Accuracies, each with T(epsilon) >= 1.
    L, delta
        Smoothness and depth of fbar.
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
        run_to_target(text, epsilon, L, delta, limit, seed)
        for text in algorithms
        for epsilon in epsilons
    ]


def run_to_target(
    text: str, epsilon: float, L: float, delta: float, limit: int, seed: int
) -> FamilyRun:
    """Return one run of the family; see `run_family`."""
    T, mu = chain_scaling(epsilon, L, delta)
    problem = make_resisting_chain(T, L=L, mu=mu)
    target = epsilon * problem.set.diameter
    for algorithm in _horizons(make_contestant(text, problem).algorithm, T, limit):
        oracle = ResistingOracle(problem, random_stream(seed, "oracles"), record=False)
        calls, exists = _calls(algorithm, oracle, target, limit, seed)
        if exists:
            break
    paper = lower_bound_constant(PAPER_SMOOTHNESS) * L * delta / epsilon**2
    return FamilyRun(text, epsilon, L, delta, T, paper, calls, censored=not exists)


def _horizons(algorithm: Algorithm, T: int, limit: int) -> Iterator[Algorithm]:
    """Yield the algorithm with each number of iterations to try.

    The tolerances of sliding methods depend on their number of iterations: it is T, 2T, 4T, ... up
    to `limit`. Other methods get `limit` only.
    """
    own: Any = algorithm  # a dataclass of the catalogue, or a user-defined class
    if not isinstance(algorithm, (CGS, SlidingMethod)):
        yield (
            replace(own, iterations=limit)
            if "iterations" in get_parameters(algorithm)
            else algorithm
        )
        return
    field = "period" if isinstance(algorithm, CGS) else "iterations"
    iterations = T
    while iterations <= limit:
        yield replace(own, **{field: iterations})
        iterations *= 2


def _calls(
    algorithm: Algorithm, oracle: ResistingOracle, target: float, limit: int, seed: int
) -> tuple[int, bool]:
    """Return the LO calls up to the target, or all calls, and whether it was reached."""
    reached = False

    def has_reached_target(ask: Oracles, state: State) -> bool:
        nonlocal reached
        reached = oracle.gap(state.x) <= target
        return reached

    with suppress(BudgetExhausted):
        run_against_oracle(
            algorithm,
            oracle,
            random_stream(seed, "algorithm"),
            budget=Budget(lo=limit),
            watch=has_reached_target,
        )
    return oracle.counts().lo, reached


def fit_calls(runs: Sequence[FamilyRun]) -> PowerLawFit:
    """Fit the runs of one algorithm.

    Raises
    ------
    InputError
        If fewer than two of them reached their target.
    """
    family_runs = [run for run in runs if not run.censored]
    if len({run.epsilon for run in family_runs}) < 2:
        raise InputError("a slope needs two accuracies whose targets were reached: raise limit.")
    from scipy.stats import linregress, t

    x = np.log([run.epsilon for run in family_runs])
    line = linregress(x, np.log([run.calls for run in family_runs]))
    freedom = len(family_runs) - 2
    half = float(t.ppf(0.975, freedom) * line.stderr) if freedom else math.inf
    scaled = [math.log(run.calls * run.epsilon**2 / (run.L * run.delta)) for run in family_runs]
    slope = float(line.slope)
    return PowerLawFit(slope, (slope - half, slope + half), math.exp(sum(scaled) / len(scaled)))
