"""Convex quadratics on polytopes on which bounds of Frank-Wolfe are nearly reached."""

from typing import Any

import numpy as np

from pfbench.verification.instruments.indefinite import ConvexHull, IndefiniteQuadratic


def suboptimality(problem: IndefiniteQuadratic, x: Any) -> float:
    """Return f(x) - min f."""
    return problem.value(np.asarray(x)) - problem.minimum_value


def make_simplex_half_square(d: int) -> IndefiniteQuadratic:
    """Return |x|^2/2 on the simplex of d vertices; the start is a vertex.

    x_t has at most t + 1 nonzero entries, so that f(x_t) >= 1/(2(t+1)), and C_f = 2. So for large d
    no method that adds one vertex in each step gets below an eighth of the bound.
    """
    return IndefiniteQuadratic(
        ConvexHull(np.eye(d)), np.eye(d), np.zeros(d), np.eye(d)[0], 0.5 / d, 1.0
    )


def make_interval_quadratic(slope: float) -> IndefiniteQuadratic:
    """Return x^2/2 + slope x on [0, 1]; the start is 1, and C_f = 1.

    With a small negative slope, the second step overshoots the minimiser by nearly 2/3, which is
    0.44 of the bound. With a large positive slope h0 is far above C_f, and only a first step of 1
    makes the run independent of h0.
    """
    ends, lower = ConvexHull(np.array([[0.0], [1.0]])), -0.5 * min(0.0, slope) ** 2
    return IndefiniteQuadratic(ends, np.eye(1), np.array([slope]), np.ones(1), lower, 1.0)
