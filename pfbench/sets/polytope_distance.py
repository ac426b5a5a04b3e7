"""Distance of a point to a polytope that is given by a linear minimisation."""

import math
from collections.abc import Callable

import numpy as np
import scipy

from pfbench.base.arrays import Floats, LowerUpper

_WEIGHT = 1e-13
"""Weight at or below which an atom is dropped."""


def hull_distance_bounds(lo: Callable[[Floats], Floats], x: Floats, enough: float) -> LowerUpper:
    """Return proved bounds (lower, upper) of the distance of x to the hull of `lo`'s vertices.

    Both are proved: the upper bound by a point of the hull, the lower one by a separating
    hyperplane. The search ends as soon as the upper bound is at most `enough`, or the lower bound
    exceeds it.

    Wolfe's minimum-norm-point algorithm ("Finding the nearest point in a polytope", Mathematical
    Programming 11, 1976), with an updated QR factorisation of the affinely independent atoms. Each
    round calls `lo` once and costs O(dK) for K <= d + 1 atoms; there are finitely many.

    Parameters
    ----------
    lo
        Returns a vertex v, shape (d,), that minimises <g, v>.
    x
        The point, shape (d,).
    enough
        Distance at which the search may end: see above.
    """
    atoms = [lo(-x) - x]
    weights = np.ones(1)
    # A unit row under the atoms turns the nearest point of their affine hull into least squares.
    size = max(1.0, float(np.linalg.norm(atoms[0])))
    Q, R = scipy.linalg.qr(np.append(atoms[0], size)[:, None], mode="economic")
    lower, upper = 0.0, math.inf
    while True:
        z = weights @ np.array(atoms)
        norm = float(np.linalg.norm(z))
        if norm >= upper:
            return lower, upper  # no progress: the rest is rounding
        upper = norm
        if upper <= enough:
            return lower, upper
        atom = lo(z) - x
        lower = max(lower, float(z @ atom) / norm)
        if lower > enough or lower >= upper:
            return min(lower, upper), upper
        if len(atoms) > x.size:
            return lower, upper  # they enclose x: what is left of the distance is rounding
        try:
            Q, R = scipy.linalg.qr_insert(
                Q, R, np.append(atom, size), len(atoms), which="col", rcond=1e-14
            )
        except (np.linalg.LinAlgError, ValueError):
            return lower, upper  # the atom lies in their affine hull, up to rounding
        atoms.append(atom)
        weights = np.append(weights, 0.0)
        while True:
            solution = scipy.linalg.solve_triangular(R, size * Q[-1])
            affine = solution / solution.sum()
            if affine.min() > _WEIGHT:
                weights = affine
                break
            leaving = np.flatnonzero(affine <= _WEIGHT)
            steps = weights[leaving] / np.maximum(weights[leaving] - affine[leaving], 1e-300)
            step = min(1.0, float(steps.min()))
            weights = (1.0 - step) * weights + step * affine
            weights[leaving[int(np.argmin(steps))]] = 0.0
            for index in np.flatnonzero(weights <= _WEIGHT)[::-1]:
                Q, R = scipy.linalg.qr_delete(Q, R, int(index), which="col")
                del atoms[index]
                weights = np.delete(weights, index)
            Q, R = Q[:, : len(atoms)], R[: len(atoms)]  # deleting from a square Q keeps all of it
            weights /= weights.sum()


def is_in_hull(lo: Callable[[Floats], Floats], x: Floats, distance: float) -> bool:
    """Return whether x is proved to be within `distance` of the convex hull of `lo`'s results."""
    return hull_distance_bounds(lo, x, distance)[1] <= distance
