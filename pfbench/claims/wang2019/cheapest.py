"""Smallest cost of a recursive method on a problem where the batch decides about convergence.

On the turning bowl, each batch and each epoch length of a grid is tried, and the cheapest run
counts. So the exponent of n is the method's, and not that of the formula from which its schedule
takes batch and epoch length.
"""

import itertools
import math

import numpy as np

from pfbench.base.protocols import Algorithm, Problem
from pfbench.claims.wang2019.shared import mapping_sq_function, output_point
from pfbench.verification import Trial, make_instance
from pfbench.verification.instruments.rotating import RotatingBowl
from pfbench.verification.statistics import Exponent, fit_exponent

ACCURACY = 1.0 / 30.0
"""epsilon over |grad f| at the start."""

_LOST = 30.0
"""Growth factor of the gradient at which a run is given up."""

_MOST = 100
"""Maximum number of component gradients, in units of n."""

BATCHES = (1 / 2, 1 / 4, 1 / 8)
"""Batches over sqrt n that are tried, in order; the most promising is the first."""

PERIODS = (1, 2)
"""Epoch lengths over sqrt n that are tried."""


def turning(n: int = 400, curvature: float = 4.0, d: int = 64) -> RotatingBowl:
    """Return a rotating bowl with L = 1: gradients decay slowly, and errors of estimates remain.

    With step size 1/2, the gradient shrinks by the factor e in (2/curvature) sqrt n steps. An
    error of the estimate remains until the next reference gradient, and the bowl turns it into a
    gradient. So with a batch far below sqrt n, or much longer epochs, no run comes near the
    minimum.
    """
    mu = curvature / math.sqrt(n)
    return RotatingBowl(n, mu, tau=math.sqrt(1.0 - mu * mu), d=d)


TURNING = make_instance(turning)


def fit_min_sfo_exponent_in_n(trial: Trial, curvature: float) -> tuple[Exponent, int]:
    """Fit the exponent of n in the least number of component gradients to accuracy epsilon.

    G is the gradient mapping.

    The least is taken over batches and epoch lengths. The fit divides out L Delta/epsilon^2, the
    theorem's number of steps.

    Parameters
    ----------
    trial
        Trial that makes the runs.
    curvature
        `curvature` of the bowl; at 4 a step shrinks the gradient by 2/sqrt n.

    Returns
    -------
    tuple
        The exponent, and the number of runs.

    Raises
    ------
    NotTestable
        If the subject has no schedule that takes batch and period.
    """
    roots = trial.choose_by_effort((20, 36, 64, 112, 200), (20, 28, 40, 56, 80, 112, 160, 224))
    problems = [TURNING(n=root * root, curvature=curvature) for root in roots]
    seeds = trial.seeds(trial.choose_by_effort(6, 10), "cheapest")
    calls = [[_min_sfo_to_target(trial, problem, seed) for problem in problems] for seed in seeds]
    steps = [_step_count_up_to_constant(problem) for problem in problems]
    sizes = [problem.n for problem in problems]
    tried = len(BATCHES) * len(PERIODS)
    return fit_exponent(sizes, calls, log_known_factors=np.log(steps)), tried * len(seeds) * len(
        sizes
    )


def _step_count_up_to_constant(problem: RotatingBowl) -> float:
    """Return L (f(x_0) - min f)/epsilon^2, to which the theorem's step count is proportional."""
    constants = problem.constants(problem.start())
    return constants.L * float(constants.delta) / _epsilon(problem) ** 2


def _epsilon(problem: RotatingBowl) -> float:
    return ACCURACY * float(np.linalg.norm(problem.gradient(problem.start())))


def _min_sfo_to_target(trial: Trial, problem: RotatingBowl, seed: int) -> float:
    """Return the fewest component gradients to the target among several batch and epoch sizes.

    The result is infinite if no run reaches the target.
    """
    epsilon, root = _epsilon(problem), math.isqrt(problem.n)
    constants, lower = problem.constants(problem.start()), math.inf
    for period, batch in itertools.product(PERIODS, BATCHES):
        arguments = {"batch": max(1, round(batch * root)), "period": period * root}
        algorithm = trial.make_scheduled(epsilon, constants, **arguments)
        upper = min(lower, float(_MOST * problem.n))
        lower = min(lower, calls_to_target(trial, problem, algorithm, epsilon, seed, upper))
    return lower


def calls_to_target(
    trial: Trial, problem: Problem, algorithm: Algorithm, epsilon: float, seed: int, max_sfo: float
) -> float:
    """Return the number of component gradients until |G| <= epsilon, G the gradient mapping.

    If that fails, the result is infinite.

    The result is infinite if a run has spent `max_sfo` of them before, or if |G| grows too much.
    """
    square = mapping_sq_function(problem)
    lost = _LOST**2 * square(problem.start())
    for step in trial.follow(problem, algorithm, seed=seed):
        value, calls = square(output_point(step.state)), float(step.counts().sfo)
        if value <= epsilon**2:
            return calls
        if value > lost or calls >= max_sfo:
            break
    return math.inf
