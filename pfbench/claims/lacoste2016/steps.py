"""What the statements of lacoste2016 share: the gap, the curvature."""

from typing import Any

from pfbench.base.protocols import Problem
from pfbench.verification.instruments.indefinite import Hull, Indefinite, curvature


def curvature_of(problem: Indefinite) -> float:
    """Return a C >= C_f, positive also where f is concave."""
    hull = problem.set
    if not isinstance(hull, Hull):
        raise TypeError("the curvature is known over the hull of points only")
    return max(curvature(hull.vertices, problem.A), 1e-3)


def gap_at(problem: Problem, x: Any) -> float:
    """Return the Frank-Wolfe gap at x."""
    g = problem.gradient(x)
    return float(g @ x) - problem.minimum(g)[0]
