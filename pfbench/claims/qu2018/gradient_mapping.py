"""Shared parts of qu2018's theorems: the gradient mapping, and a linear problem."""

import numpy as np

from pfbench.base.protocols import Problem
from pfbench.sets import Box
from pfbench.verification import Floats
from pfbench.verification.instruments.indefinite import (
    IndefiniteQuadratic,
    make_quadratic_linear_along_box,
)


def mapping_sq(problem: Problem, x: Floats, g: Floats, lam: float) -> float:
    """Return the squared gradient mapping |x - prox(x - lam g)|^2/lam^2."""
    return float(np.sum((x - problem.prox(x, g, lam)) ** 2)) / lam**2


def minimiser_distance_and_norm(problem: IndefiniteQuadratic) -> tuple[float, float]:
    """Return |theta_0 - theta*| and |theta*|, or upper bounds if theta* is not known.

    On a box theta* is its far corner in the first coordinate. Else the bounds are the diameter D
    and the largest norm M.
    """
    box = problem.set
    if isinstance(box, Box):
        length = float(np.asarray(box.upper)[0])
        return length, length
    return box.diameter, problem.radius


def momentum_reach(N: int) -> float:
    """Return the reach of N iterations of option II on a slope g, in units of beta g.

    It is the larger of theta_md_N + 1 and theta_{N-1}. On f = -g x without an end, theta moves by
    lambda_k g = (k/2) beta g, and theta_ag to one beta g beyond theta_md. So with this much room
    every mapping is still g.
    """
    theta = ag = md = 0.0
    for k in range(1, N + 1):
        md = ag + 2.0 / (k + 1.0) * (theta - ag)
        theta, ag = theta + k / 2.0, md + 1.0
    return max(md + 1.0, theta - N / 2.0)


def make_momentum_slope(N: int) -> IndefiniteQuadratic:
    """Return a slope whose end N iterations with momentum just reach.

    So every gradient mapping equals the constant gradient, and the bound binds for small N. For
    larger N, theta_md_N is far before the end, and |G|^2 is far below the bound.
    """
    return make_quadratic_linear_along_box(1.0, momentum_reach(N) / 2.0, 1e4)
