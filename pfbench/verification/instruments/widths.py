"""Polytopes with known pyramidal width, and quadratics on them with a known minimiser."""

import math
from itertools import product

import numpy as np

from pfbench.base.arrays import Floats
from pfbench.verification.instruments.indefinite import ConvexHull, IndefiniteQuadratic

POLYTOPES = ("simplex", "cube", "l1")
"""The unit simplex, the cube [0, 1]^d and the unit l1 ball."""


def corners(kind: str, d: int) -> Floats:
    """Return the vertices of a polytope of the given kind in R^d, shape (k, d)."""
    if kind == "simplex":
        return np.eye(d)
    if kind == "cube":
        return np.array(list(product((0.0, 1.0), repeat=d)))
    return np.vstack([np.eye(d), -np.eye(d)])


def pyramidal_width(kind: str, d: int) -> float:
    """Return the pyramidal width of the polytope of the given kind in R^d, d >= 2.

    The width is the least distance between a proper face F and the hull of the vertices outside F
    (Pena, Rodriguez 2019). The values for the three polytopes are known in closed form, and the
    tests recompute them.
    """
    if kind == "simplex":
        return 2.0 / math.sqrt(d) if d % 2 == 0 else 2.0 / math.sqrt(d - 1.0 / d)
    return 1.0 / math.sqrt(d if kind == "cube" else d - 1)


def quadratic_on_facet(kind: str, d: int, kappa: float = 1.0, turn: int = 0) -> IndefiniteQuadratic:
    """Return a strongly convex quadratic whose minimiser lies inside a facet of a polytope.

    f(x) = (x - p)'A(x - p)/2, up to a constant, where A has eigenvalues from 1/kappa to 1 in a
    random basis with seed `turn`. The start is the first vertex. On the simplex and the cube, the
    last entry of the minimiser p is 0. On the l1 ball, p lies in the facet where all entries are
    positive.
    """
    rng = np.random.default_rng(turn)
    weights = np.arange(d, 0.0, -1.0)
    if kind == "simplex":
        weights[-1] = 0.0
    p = weights / weights.sum() if kind != "cube" else (weights - 1.0) / (2.0 * d)
    basis = np.linalg.qr(rng.standard_normal((d, d)))[0]
    A = basis @ np.diag(np.geomspace(1.0 / kappa, 1.0, d)) @ basis.T
    A = (A + A.T) / 2.0
    vertices = corners(kind, d)
    lower = -0.5 * float(p @ A @ p)
    return IndefiniteQuadratic(
        ConvexHull(vertices), A, -A @ p, vertices[0].copy(), lower, math.sqrt(d)
    )
