"""Largest singular triple of a matrix by Golub-Kahan-Lanczos, with a certificate.

From a start vector with a random part, k steps give two bounds of the largest singular value. The
lower bound is the Ritz value. The upper bound holds because the k-th Lanczos polynomial is at most
1/|gamma| at the largest eigenvalue, where gamma is the component of the start vector along the
leading vector. The upper bound fails with a stated probability: J. van Dorsselaer, M.
Hochstenbach, H. van der Vorst, "Computing probabilistic bounds for extreme eigenvalues of
symmetric matrices with the Lanczos method" (SIMAX 22, 2000); M. Hochstenbach, "Probabilistic upper
bounds for the matrix two-norm" (J. Sci. Comput. 57, 2013). A small residual alone certifies
nothing: on clustered spectra, it belongs to another singular value in up to two thirds of the
cases.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import numpy as np
import scipy

from pfbench.base.arrays import Floats, copy_with_more_rows, norm
from pfbench.base.errors import DivergedError
from pfbench.kernels.lanczos_kernels import (
    UNORDINARY,
    LanczosBasis,
    StoppingRule,
    complete_lanczos_step,
    is_safely_scaled,
    take_steps,
    write_leading_singular_vectors,
)
from pfbench.kernels.tridiagonal import find_log_polynomial_crossing
from pfbench.points.operators import LinearOperator, SparseOperator

RANDOM_PART = 0.3
"""Size of the random part added to a warm start, relative to the unit start vector."""

SMALL_PART = 0.1
"""Size of the random part with a `gap_share`: a smaller part needs fewer steps."""

_ROOM = 24
"""Number of steps for which memory is allocated at first."""


@dataclass(frozen=True, slots=True)
class SingularTriple:
    """Leading singular triple of a matrix, with an upper bound of the largest singular value.

    Attributes
    ----------
    u, v
        Unit left and right vectors, shapes (M,) and (N,).
    sigma
        ``u' G v``, a lower bound of the largest singular value.
    upper
        An upper bound of the largest singular value (infinite unless requested).
    steps
        Number of products with G and with its transpose.
    """

    u: Floats
    v: Floats
    sigma: float
    upper: float
    steps: int


class GapResidualLimit(NamedTuple):
    """Limit of the residual of a singular triple, proportional to a Frank-Wolfe gap.

    It is ``share * (sigma + offset + weight * <G, x>)``. Here sigma is the computed singular value
    of G.

    Attributes
    ----------
    share, offset, weight
        Coefficients.
    x
        Values on the entries of a sparse G, shape (n,); if empty, there is no third term.
    """

    share: float
    offset: float = 0.0
    weight: float = 0.0
    x: Floats = np.empty(0)


def leading_singular_triple(
    operator: LinearOperator,
    rng: np.random.Generator,
    *,
    tolerance: float,
    failure: float | None = None,
    warm: Floats | None = None,
    most_steps: int = 300,
    vectors: bool = True,
    gap_share: GapResidualLimit | None = None,
) -> SingularTriple:
    """Compute the leading singular triple of an M x N matrix.

    Parameters
    ----------
    operator
        The matrix; only products with it are used.
    rng
        Generator of the random part of the start.
    tolerance
        Without `failure` (heuristic): stop when the residual is at most ``tolerance * sigma``.
        With `failure` (certified): stop when ``upper <= (1 + tolerance) * sigma``.
    failure
        Largest probability that the upper bound is wrong.
    warm
        Right vector near which the steps start, shape (N,).
    most_steps
        Maximum number of steps; `upper` is valid after any number, but less sharp.
    vectors
        Whether to compute u and v. Without them, each step needs 8 M bytes less.
    gap_share
        Without `failure`: another limit of the residual that ends the steps (except where squares
        of the matrix overflow or underflow). Then v is the direction of ``G' u``, so that sigma may
        be larger than the value at which the residual was measured.

    Raises
    ------
    DivergedError
        If the matrix has NaN or infinite entries.
    """
    M, N = operator.shape
    shared = failure is None and gap_share is not None
    start = _start_vector(rng, N, warm, shared)
    length = norm(start)
    start /= length
    # |gamma| is at least this, except with probability `failure` (Anderson's inequality).
    spread = (1.0 if warm is None else RANDOM_PART) / math.sqrt(N)
    target = 0.0
    if failure is not None:
        quantile = scipy.special.erfinv(failure)
        target = -math.log(spread * math.sqrt(2) * quantile / length)

    most_steps = min(most_steps, M + 1, N)
    goal = StoppingRule(
        tolerance, failure is not None, target, *(gap_share or GapResidualLimit(0.0))
    )
    room = min(most_steps, _ROOM)
    basis = _allocate_basis((M, N), room, room if vectors else 2, most_steps)
    basis.right[0] = start
    steps, done, theta = 0, False, 0.0
    while not done and steps < most_steps:
        if steps == room:
            room = min(most_steps, 2 * steps)
            basis = basis._replace(right=copy_with_more_rows(basis.right, room + 1))
            if vectors:
                basis = basis._replace(left=copy_with_more_rows(basis.left, room))
        steps, done, theta = _extend_basis(operator, basis, goal, steps, theta)
        if steps < 0:
            recomputed = partial(
                leading_singular_triple,
                rng=rng,
                tolerance=tolerance,
                failure=failure,
                most_steps=most_steps,
                vectors=vectors,
            )
            return _retry_with_rescaling(operator, recomputed, warm)
    u, v = (np.empty(size if vectors else 0) for size in (M, N))
    if vectors:
        write_leading_singular_vectors(basis, steps, theta, shared, u, v)
        if shared:
            theta += (float(basis.b[steps - 1]) * float(basis.q[steps - 1])) ** 2 / theta
    upper = math.inf
    if failure is not None:
        root = find_log_polynomial_crossing(basis.a, basis.b, steps, theta, target)
        upper = math.sqrt(root) * (1.0 + 1e-14)
    return SingularTriple(u, v, math.sqrt(theta), upper, steps)


def _start_vector(
    rng: np.random.Generator, N: int, warm: Floats | None, has_gap_share: bool
) -> Floats:
    """Return the start vector: a Gaussian one, or the warm start plus a random part."""
    if warm is None:
        return rng.standard_normal(N) / math.sqrt(N)
    if not has_gap_share:
        return warm + RANDOM_PART * (rng.standard_normal(N) / math.sqrt(N))
    # No bound is derived from its law: a uniform vector takes a quarter of the time.
    start = rng.random(N)
    start -= 0.5
    start *= SMALL_PART * math.sqrt(12.0 / N)
    start += warm
    return start


def _extend_basis(
    operator: LinearOperator, basis: LanczosBasis, goal: StoppingRule, k: int, theta: float
) -> tuple[int, bool, float]:
    """Extend the Lanczos basis from step k on, until the stopping rule holds or the basis is full.

    For a sparse matrix, one compiled loop takes all steps.
    """
    if isinstance(operator, SparseOperator):
        pattern = operator.pattern
        bounds = None if pattern.is_serial else pattern.bounds
        return take_steps(bounds, pattern.rows, operator.g, basis, goal, k, theta)
    done = False
    locations = len(basis.left)
    while not done and k + 1 < len(basis.right):
        before = max(k - 1, 0)
        beta = float(basis.betas[before]) if k else 0.0
        v, previous, u = basis.right[k], basis.left[before % locations], basis.left[k % locations]
        with np.errstate(over="ignore", invalid="ignore"):
            square = operator.write_golub_kahan_products(v, previous, beta, u, basis.right[k + 1])
        if k == 0 and not is_safely_scaled(square):
            return UNORDINARY, done, theta
        done, theta = complete_lanczos_step(k, square, basis, goal, theta)
        k += 1
    return k, done, theta


def _allocate_basis(
    shape: tuple[int, int], room: int, left_vectors: int, most_steps: int
) -> LanczosBasis:
    """Allocate a Lanczos basis with memory for `room` steps and `left_vectors` left vectors."""
    M, N = shape
    right, before = np.empty((room + 1, N)), np.empty((left_vectors, M))
    before[0] = 0.0
    alphas, betas, a, b, q = np.zeros((5, most_steps))
    return LanczosBasis(right, before, alphas, betas, a, b, q, np.zeros(1))


def _retry_with_rescaling(
    operator: LinearOperator, recompute: Callable[..., SingularTriple], warm: Floats | None
) -> SingularTriple:
    """Recompute a singular triple after rescaling the matrix, or from a new random start vector."""
    M, N = operator.shape
    largest = operator.magnitude()
    if not math.isfinite(largest):
        raise DivergedError(
            "the gradient passed to the linear minimisation has NaN or infinite entries"
        )
    near_one = 0.2 < largest < 1.1
    if largest == 0.0 or (near_one and warm is None):
        # A random start is orthogonal to no matrix but 0, or a sum whose terms cancel.
        u, v = np.zeros(M), np.zeros(N)
        u[0] = v[0] = 1.0
        return SingularTriple(u, v, 0.0, 1e-30 if near_one else 0.0, 1)
    if near_one:
        # The start was (nearly) orthogonal to the matrix: begin elsewhere.
        return recompute(operator)
    # Two factors, because 1/largest itself may overflow for subnormal entries.
    half = 2.0 ** (-math.frexp(largest)[1] // 2)
    triple = recompute(operator.scale(half).scale(half), warm=warm)
    return replace(triple, sigma=triple.sigma / half / half, upper=triple.upper / half / half)
