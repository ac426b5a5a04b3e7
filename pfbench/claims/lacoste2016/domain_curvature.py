"""Curvature constant in the statements of lacoste2016."""

from pfbench.verification.instruments.indefinite import (
    ConvexHull,
    IndefiniteQuadratic,
    curvature_upper_bound,
)


def curvature_bound(problem: IndefiniteQuadratic) -> float:
    """Return an upper bound of the curvature constant C_f, positive even for concave f."""
    hull = problem.set
    if not isinstance(hull, ConvexHull):
        raise TypeError("the curvature is known only on a set that is a convex hull of points")
    return max(curvature_upper_bound(hull.vertices, problem.A), 1e-3)
