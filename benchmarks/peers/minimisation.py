"""Peers on linear minimisation over the nuclear ball: leading singular pair of a sparse gradient.

Each peer is given the loosest of its settings at which the residual |G'u - sigma v| / sigma of what
it returns, taken by us, is at most 1e-4; that setting is then timed.
"""

from importlib.util import find_spec

import numpy as np
import scipy.sparse
import scipy.sparse.linalg
from sklearn.utils.extmath import randomized_svd
from timing import OURS, compare, timed_from_outside

import pfbench as pf
from pfbench.points.operators import SparseOperator
from pfbench.sets.lanczos import leading_singular_triple

RESIDUAL = 1e-4
TOLERANCES = [10.0**-k for k in range(1, 13)]
POWERS = [2**k for k in range(1, 8)]


def gradient(size, observed):
    """Return a gradient after some steps, as an operator of pfbench and as a matrix of scipy."""
    density = observed / size**2
    problem = pf.problem("robust-matrix-recovery", rows=size, columns=size, density=density)
    run = pf.solve(problem, pf.algorithm("frank-wolfe", step="open-loop", iterations=10), every=10)
    g = problem.gradient(run.x)
    pattern = problem.pattern
    i, j = pattern.row_numbers(), pattern.rows.indices.astype(np.int64)
    return SparseOperator(pattern, g), scipy.sparse.csr_array((g, (i, j)), shape=(size, size))


def residual(matrix, u, v):
    """Return |G'u - sigma v| / sigma for unit vectors, or |Gv - sigma u| / sigma if larger."""
    sigma = float(u @ (matrix @ v))
    sides = np.linalg.norm(matrix.T @ u - sigma * v), np.linalg.norm(matrix @ v - sigma * u)
    return float(max(sides)) / sigma


def peers(operator, matrix):
    """Return, by name, a function from a setting to u and v, and the settings to try."""

    def ours(tolerance):
        found = leading_singular_triple(operator, np.random.default_rng(0), tolerance=tolerance)
        return found.u, found.v

    def svds(solver):
        def solve(tolerance):
            u, _, v = scipy.sparse.linalg.svds(matrix, k=1, tol=tolerance, solver=solver, rng=0)
            return u[:, 0], v[0]

        return solve

    def randomised(powers):
        u, _, v = randomized_svd(matrix, 1, n_iter=powers, random_state=0)
        return u[:, 0], v[0]

    found = {
        OURS: (ours, TOLERANCES),
        "scipy svds, ARPACK": (svds("arpack"), TOLERANCES),
        "scipy svds, PROPACK": (svds("propack"), TOLERANCES),
        "scipy svds, LOBPCG": (svds("lobpcg"), TOLERANCES),
        "scikit-learn randomized_svd": (randomised, POWERS),
    }
    if find_spec("primme"):
        import primme

        def with_primme(tolerance):
            u, _, v = primme.svds(matrix, 1, tol=tolerance)
            return u[:, 0], v[0]

        found["PRIMME"] = with_primme, TOLERANCES
    if matrix.shape[0] <= 1000:

        def full(_):
            u, _, v = np.linalg.svd(matrix.toarray(), full_matrices=False)
            return u[:, 0], v[0]

        found["full SVD, as a projection takes"] = full, [None]
    return found


def comparisons(quick):
    for size, observed in ((200, 4_000), (1_000, 100_000), (5_000, 10**6))[: 2 if quick else 3]:
        operator, matrix = gradient(size, observed)
        functions, reached, left_out = {}, {}, []
        for name, (solve, settings) in peers(operator, matrix).items():
            for setting in settings:
                seen = residual(matrix, *solve(setting))
                if seen <= RESIDUAL:
                    functions[name] = timed_from_outside(solve, setting)
                    reached[name] = f"residual {seen:.1e}"
                    break
            else:
                left_out.append(f"{name}: no setting reaches {RESIDUAL:g} (last {seen:.1e})")
        if not find_spec("primme"):
            left_out.append("PRIMME: not installed")
        yield compare(
            f"Leading singular pair, {size} x {size}, {observed:,} entries",
            f"Cold start; the residual of each result, taken alike, is at most {RESIDUAL:g}.",
            functions,
            reached,
            5,
            left_out,
        )
