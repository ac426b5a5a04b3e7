"""What the theorems of qu2018 share: a run step by step, the gradient mapping, a slope."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from pfbench.base.protocols import Problem
from pfbench.sets import Box
from pfbench.verification.instruments.indefinite import Indefinite, slope
from pfbench.verification.statistics import Decision, sequential
from pfbench.verification.subject import Broken
from pfbench.verification.trial import Step, Trial

Floats = npt.NDArray[np.float64]


def follow(
    trial: Trial, problem: Problem, algorithm: Any, seed: int = 0
) -> Iterator[tuple[Floats, Step]]:
    """Run the algorithm; yield theta_{k-1}, or theta_ag_{k-1}, and the step that follows.

    Raises
    ------
    Broken
        If it leaves the set.
    """
    x = problem.start()
    for k, step in enumerate(trial.follow(problem, algorithm, seed=seed), 1):
        if not problem.set.contains(step.state.x, 1e-7):
            raise Broken(f"iteration {k} leaves the feasible set")
        yield x, step
        x = np.array(step.state.x)


def mapping_sq(problem: Problem, x: Floats, g: Floats, lam: float) -> float:
    """Return |x - prox(x - lam g)|^2/lam^2."""
    return float(np.sum((x - problem.prox(x, g, lam)) ** 2)) / lam**2


def minimiser(problem: Indefinite) -> tuple[float, float]:
    """Return |theta_0 - theta*| and |theta*|: D and M where the minimiser is not known.

    On a box it is its far corner, in the first coordinate.
    """
    box = problem.set
    if isinstance(box, Box):
        length = float(np.asarray(box.upper)[0])
        return length, length
    return box.diameter, problem.radius


def momentum_reach(N: int) -> float:
    """Return how far option II comes on a slope g, in units of beta g: theta_md_N + 1.

    On f = -g x with room, theta moves by lambda_k g = (k/2) beta g, and theta_ag to one beta g
    beyond theta_md. So with this much room every mapping is still g.
    """
    theta = ag = md = 0.0
    for k in range(1, N + 1):
        md = ag + 2.0 / (k + 1.0) * (theta - ag)
        theta, ag = theta + k / 2.0, md + 1.0
    return max(md + 1.0, theta - N / 2.0)


def momentum_slope(N: int) -> Indefinite:
    """Return a slope whose end N iterations with momentum just reach.

    So every gradient mapping is the gradient, the same at each step: the bound binds for small N.
    For larger N theta_md_N is far before the end, and |G|^2 falls behind the bound.
    """
    return slope(1.0, momentum_reach(N) / 2.0, 1e4)


def sampled(
    trial: Trial, name: str, sample: Callable[[int], float], most: int
) -> tuple[Decision, int]:
    """Decide that samples have mean at most 1, with as few as needed; return how many."""
    seeds = iter(trial.seeds(most, name))
    decision, samples = sequential(
        lambda number: [sample(next(seeds)) for _ in range(number)], 1.0, batch=8, most=most
    )
    return decision, samples.size
