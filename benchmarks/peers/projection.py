"""Projection onto a nuclear ball: the leading singular triplets, or all of them.

The matrix has rank ten and dense noise, as a gradient step from a point of low rank has, and the
ball keeps its ten leading singular values. The distance of each result from the projection by the
full decomposition, relative to that, is taken by us; a peer that has to be told how many values to
compute is told.
"""

import numpy as np
import scipy.sparse.linalg
from sklearn.utils.extmath import randomized_svd
from timing import OURS, compare, timed_from_outside

from pfbench.sets import NuclearBall
from pfbench.sets.balls import project_simplex

RANK, NOISE = 10, 0.05


def matrix(size):
    """Return the matrix, and the radius of the ball that keeps its leading singular values."""
    rng = np.random.default_rng(0)
    left, right = rng.standard_normal((2, size, RANK))
    leading = left @ right.T / size
    y = leading + NOISE / np.sqrt(size) * rng.standard_normal((size, size))
    return y, 0.8 * np.linalg.svd(leading, compute_uv=False)[:RANK].sum()


def lowered(u, s, v, radius):
    """Return the matrix with its singular values s projected onto the simplex of this radius."""
    return (u * project_simplex(s, radius)) @ v


def peers(y, radius):
    """Return, by name, a function that projects y onto the nuclear ball."""

    def full():
        return lowered(*np.linalg.svd(y, full_matrices=False), radius)

    def arpack():
        return lowered(*scipy.sparse.linalg.svds(y, k=RANK, rng=0), radius)

    def propack():
        return lowered(*scipy.sparse.linalg.svds(y, k=RANK, solver="propack", rng=0), radius)

    def randomised():
        return lowered(*randomized_svd(y, RANK, n_iter=7, random_state=0), radius)

    ball = NuclearBall(y.shape, radius)
    return {
        OURS: lambda: ball.project(y),
        "numpy, full SVD": full,
        "scipy svds, ARPACK, told the rank": arpack,
        "scipy svds, PROPACK, told the rank": propack,
        "scikit-learn randomized_svd, told the rank": randomised,
    }


def comparisons(quick):
    for size in (500, 1_000, 2_000)[: 1 if quick else 3]:
        y, radius = matrix(size)
        functions = peers(y, radius)
        right = functions["numpy, full SVD"]()
        reached = {
            name: f"distance {np.linalg.norm(call() - right) / np.linalg.norm(right):.1e}"
            for name, call in functions.items()
        }
        yield compare(
            f"Projection onto a nuclear ball, {size} x {size}, rank {RANK} and noise",
            "Ours is certified: no singular value above the threshold is missed, except with "
            "probability 1e-9. The others find as many values as they are told to, or all.",
            {name: timed_from_outside(call) for name, call in functions.items()},
            reached,
            5,
        )
