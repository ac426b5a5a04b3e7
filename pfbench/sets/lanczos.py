"""The largest singular triple by Golub-Kahan-Lanczos, with a certificate.

From a start with a random part, k steps give a lower bound (the Ritz value) and, because the k-th
Lanczos polynomial is at most 1/|gamma| at the largest eigenvalue, where gamma is the start's
component along the leading vector, an upper bound that fails with a stated probability:
J. van Dorsselaer, M. Hochstenbach, H. van der Vorst, "Computing probabilistic bounds for extreme
eigenvalues of symmetric matrices with the Lanczos method" (SIMAX 22, 2000); M. Hochstenbach,
"Probabilistic upper bounds for the matrix two-norm" (J. Sci. Comput. 57, 2013). A small residual
alone certifies nothing: on clustered spectra it is wrong in up to two thirds of the cases.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import scipy

from pfbench.base.arrays import Floats
from pfbench.base.errors import Diverged
from pfbench.kernels.tridiagonal import largest_eigenvalue, leading_eigenvector, polynomial_root
from pfbench.points.operators import Operator

RANDOM_PART = 0.3
"""Size of the random part added to a warm start (relative to the unit start vector)."""


@dataclass(frozen=True, slots=True)
class Triple:
    """The leading singular triple of a matrix.

    Attributes
    ----------
    u, v
        Unit left and right vectors, shapes (M,) and (N,).
    sigma
        ``u' G v``, a lower bound of the largest singular value.
    upper
        An upper bound of it (infinite if none was asked for).
    steps
        Products with G and with its transpose.
    """

    u: Floats
    v: Floats
    sigma: float
    upper: float
    steps: int


def leading_triple(
    operator: Operator,
    rng: np.random.Generator,
    *,
    tolerance: float,
    failure: float | None = None,
    warm: Floats | None = None,
    most_steps: int = 300,
) -> Triple:
    """Compute the leading singular triple of an M x N matrix.

    Parameters
    ----------
    operator
        The matrix; only products with it are used.
    rng
        For the random part of the start.
    tolerance
        Without `failure` (heuristic): stop when the residual is at most ``tolerance * sigma``.
        With it (certified): stop when ``upper <= (1 + tolerance) * sigma``.
    failure
        Probability with which the upper bound may be wrong.
    warm
        A right vector to start near, shape (N,).
    most_steps
        Stop there in any case; `upper` stays valid and is only less sharp.

    Raises
    ------
    Diverged
        If the matrix has NaN or infinite entries.
    """
    M, N = operator.shape
    noise = rng.standard_normal(N) / math.sqrt(N)
    start = noise if warm is None else warm + RANDOM_PART * noise
    length = float(np.linalg.norm(start))
    start /= length
    # |gamma| is at least this, except with probability `failure` (Anderson's inequality).
    spread = (1.0 if warm is None else RANDOM_PART) / math.sqrt(N)
    target = 0.0
    if failure is not None:
        quantile = scipy.special.erfinv(failure)
        target = -math.log(spread * math.sqrt(2) * quantile / length)

    most_steps = min(most_steps, M + 1, N)
    room = min(most_steps, 24)
    right, left = np.empty((room + 1, N)), np.empty((room, M))
    # G V = U B with B upper bidiagonal (alphas, betas); B'B is tridiagonal (a, b).
    alphas, betas, a, b, q = np.zeros((5, most_steps))
    y = np.empty(N)
    right[0] = start
    previous = np.zeros(M)
    beta = theta = sigma = residual = 0.0
    for k in range(most_steps):
        if k == room:
            room = min(most_steps, 2 * room)
            right, left = _taller(right, room + 1), _taller(left, room)
        u, v = left[k], right[k]
        with np.errstate(over="ignore", invalid="ignore"):
            square = operator.normal_step(v, previous, beta, u, y)
        if k == 0 and not 1e-280 < square < 1e280:
            again = partial(
                leading_triple, rng=rng, tolerance=tolerance, failure=failure, most_steps=most_steps
            )
            return _rescaled(operator, again, warm)
        alpha = math.sqrt(square)
        if alpha > 0.0:
            u /= alpha
            y /= alpha
        y -= alpha * v
        basis = right[: k + 1]
        y -= (basis @ y) @ basis
        a[k] = alpha * alpha + beta * beta
        beta = math.sqrt(float(y @ y))
        alphas[k], betas[k], b[k] = alpha, beta, alpha * beta
        coupling = b[k - 1] if k else 0.0
        theta = largest_eigenvalue(a, b, k + 1, max(theta, a[k]) + coupling)
        leading_eigenvector(a, b, k + 1, theta, q)
        sigma = math.sqrt(theta)
        residual = b[k] * abs(q[k]) / sigma
        if beta <= 1e-14 * sigma:
            break
        if failure is None:
            if residual <= tolerance * sigma:
                break
        elif (
            residual <= sigma
            and polynomial_root(a, b, k + 1, theta, target) <= theta * (1.0 + tolerance) ** 2
        ):
            break
        right[k + 1] = y / beta
        previous = u
    steps = k + 1
    vector = q[:steps] @ right[:steps]
    vector /= np.linalg.norm(vector)
    p = alphas[:steps] * q[:steps]
    p[:-1] += betas[: steps - 1] * q[1:steps]
    image = p @ left[:steps]
    image /= np.linalg.norm(image)
    upper = math.inf
    if failure is not None:
        upper = math.sqrt(polynomial_root(a, b, steps, theta, target)) * (1.0 + 1e-14)
    return Triple(image, vector, sigma, upper, steps)


def _taller(array: Floats, rows: int) -> Floats:
    taller = np.empty((rows, array.shape[1]))
    taller[: len(array)] = array
    return taller


def _rescaled(operator: Operator, again: Callable[..., Triple], warm: Floats | None) -> Triple:
    """Handle zero matrices and those whose squares overflow or underflow."""
    M, N = operator.shape
    largest = operator.largest()
    if not math.isfinite(largest):
        raise Diverged("the gradient handed to the linear minimisation has NaN or infinite entries")
    ordinary = 1e-100 < largest < 1e100
    if largest == 0.0 or (ordinary and warm is None):
        # A random start is orthogonal to no matrix but 0, or a sum whose terms cancel.
        u, v = np.zeros(M), np.zeros(N)
        u[0] = v[0] = 1.0
        return Triple(u, v, 0.0, 1e-100 if ordinary else 0.0, 1)
    if ordinary:
        # The start was (nearly) orthogonal to the matrix: begin elsewhere.
        return again(operator)
    # Two factors, because 1/largest itself may overflow for subnormal entries.
    half = 2.0 ** (-math.frexp(largest)[1] // 2)
    found = again(operator.scaled(half).scaled(half), warm=warm)
    return replace(found, sigma=found.sigma / half / half, upper=found.upper / half / half)
