"""What a recursive method must spend where its batch decides whether it converges.

On the turning bowl each batch and each epoch length is allowed, and the cheapest counts: so the
exponent of n is the method's, and not that of the formula from which its schedule takes them.
"""

import itertools
import math

import numpy as np

from pfbench.base.protocols import Algorithm, Problem
from pfbench.claims.wang2019.common import mapping_sq, output_of
from pfbench.verification import Trial, instance
from pfbench.verification.instruments.rotating import Rotating
from pfbench.verification.statistics import Exponent, fit_exponent

ACCURACY = 1.0 / 30.0
"""epsilon over |grad f| at the start."""

_LOST = 30.0
"""A run whose gradient has grown by this factor is given up."""

_MOST = 100
"""So many n component gradients are spent at most."""

BATCHES = (1 / 2, 1 / 4, 1 / 8)
"""Batches over sqrt n that are tried, the most promising first."""

PERIODS = (1, 2)
"""Epoch lengths over sqrt n that are tried."""


def turning(n: int = 400, curvature: float = 4.0, d: int = 64) -> Rotating:
    """Return a bowl with L = 1 whose gradient shrinks e-fold in 2/curvature times sqrt n steps 1/2.

    What the estimate errs stays until the next reference gradient, and the bowl makes a gradient of
    it: with a batch far below sqrt n, or epochs far longer, no run comes near its end.
    """
    mu = curvature / math.sqrt(n)
    return Rotating(n, mu, tau=math.sqrt(1.0 - mu * mu), d=d)


TURNING = instance(turning)


def exponent(trial: Trial, curvature: float) -> tuple[Exponent, int]:
    """Fit, in n, the least SFO to |G| <= epsilon over all batches and epochs; return runs, too.

    Divided out is L Delta/epsilon^2, the number of steps of the theorem.

    Parameters
    ----------
    trial
        What makes the runs.
    curvature
        That of the bowl; such that a step of the method shrinks the gradient by 2/sqrt n.

    Raises
    ------
    Untestable
        If the subject has no schedule that takes batch and period.
    """
    roots = trial.pick((20, 36, 64, 112, 200), (20, 28, 40, 56, 80, 112, 160, 224))
    problems = [TURNING(n=root * root, curvature=curvature) for root in roots]
    seeds = trial.seeds(trial.pick(6, 10), "cheapest")
    calls = [[_cheapest(trial, problem, seed) for problem in problems] for seed in seeds]
    steps = [_schedule_steps(problem) for problem in problems]
    sizes = [problem.n for problem in problems]
    tried = len(BATCHES) * len(PERIODS)
    return fit_exponent(sizes, calls, known=np.log(steps)), tried * len(seeds) * len(sizes)


def _schedule_steps(problem: Rotating) -> float:
    """Return L Delta/epsilon^2."""
    constants = problem.constants(problem.start())
    return constants.L * float(constants.delta) / _epsilon(problem) ** 2


def _epsilon(problem: Rotating) -> float:
    return ACCURACY * float(np.linalg.norm(problem.gradient(problem.start())))


def _cheapest(trial: Trial, problem: Rotating, seed: int) -> float:
    """Return the least SFO to the target over batches and epoch lengths; inf if none gets there."""
    epsilon, root = _epsilon(problem), math.isqrt(problem.n)
    constants, least = problem.constants(problem.start()), math.inf
    for period, batch in itertools.product(PERIODS, BATCHES):
        given = {"batch": max(1, round(batch * root)), "period": period * root}
        algorithm = trial.scheduled(epsilon, constants, **given)
        most = min(least, float(_MOST * problem.n))
        least = min(least, calls_to_target(trial, problem, algorithm, epsilon, seed, most))
    return least


def calls_to_target(
    trial: Trial, problem: Problem, algorithm: Algorithm, epsilon: float, seed: int, most: float
) -> float:
    """Return the SFO until |G| <= epsilon; inf after `most`, or if the gradient only grows."""
    square = mapping_sq(problem)
    lost = _LOST**2 * square(problem.start())
    for step in trial.follow(problem, algorithm, seed=seed):
        found, calls = square(output_of(step.state)), float(step.counts().sfo)
        if found <= epsilon**2:
            return calls
        if found > lost or calls >= most:
            break
    return math.inf
