"""Steps of the Golub-Kahan-Lanczos process, fused with products with a sparse matrix.

After k steps, G V = U B with orthonormal V and U, and B upper bidiagonal; B'B is tridiagonal. Only
V is re-orthogonalised, which is enough for the largest singular value.
"""

import math
from typing import NamedTuple

import numpy as np

from pfbench.base.arrays import Floats, Integers
from pfbench.kernels.numba_compilation import compile_reordering_sums, compile_serial
from pfbench.kernels.observed_entries import (
    ObservedRows,
    first_golub_kahan_sweep_parallel,
    first_golub_kahan_sweep_rows,
    golub_kahan_sweep_parallel,
    golub_kahan_sweep_rows,
)
from pfbench.kernels.tridiagonal import (
    find_largest_eigenvalue,
    find_log_polynomial_crossing,
    write_leading_eigenvector,
)

_BLOCK = 1024
"""Number of entries of a vector that stay in the first-level cache during a pass over a basis."""

UNORDINARY = -1
"""Number of steps that means: the first squared norm is not finite, too small or too large."""


class LanczosBasis(NamedTuple):
    """State of the Lanczos process: its vectors and coefficients so far.

    Attributes
    ----------
    right, left
        Rows of V, shape (room + 1, N), and of U, shape (room, M). Step k needs only the previous
        row of U: if no vectors are requested, U has two rows and step k uses row k mod 2.
    alphas, betas
        Diagonal and superdiagonal of B.
    a, b
        Diagonal and off-diagonal of B'B.
    q
        The leading eigenvector of B'B.
    inner
        <G, x> for the x of the stopping rule, shape (1,); 0 if the rule has no x.
    """

    right: Floats
    left: Floats
    alphas: Floats
    betas: Floats
    a: Floats
    b: Floats
    q: Floats
    inner: Floats


class StoppingRule(NamedTuple):
    """Rule that stops the Lanczos process; see `pfbench.sets.lanczos.leading_singular_triple`.

    Attributes
    ----------
    tolerance
        Relative tolerance of the residual, or of the certified interval.
    needs_certificate
        Whether `tolerance` is that of the certified interval.
    target
        Value of the logarithm of the Lanczos polynomial at the certified upper bound.
    share, offset, weight, x
        A residual of at most share (sigma + offset + weight <G, x>) also ends the steps; x has one
        value for each entry of a sparse G, or is empty.
    """

    tolerance: float
    needs_certificate: bool
    target: float
    share: float
    offset: float
    weight: float
    x: Floats


@compile_serial
def complete_lanczos_step(
    k: int, squared_norm: float, basis: LanczosBasis, goal: StoppingRule, theta: float
) -> tuple[bool, float]:
    """Complete step k of the Lanczos process, whose matrix products are already in the basis.

    `squared_norm` is the sum of squares of that row of U, and `theta` the previous largest
    eigenvalue. Return whether this was the last step, and the new largest eigenvalue.
    """
    u, v, y = basis.left[k % basis.left.shape[0]], basis.right[k], basis.right[k + 1]
    alphas, betas, a, b, q = basis.alphas, basis.betas, basis.a, basis.b, basis.q
    alpha = math.sqrt(squared_norm)
    if alpha > 0.0:
        scale_in_place(1.0 / alpha, u)
        scale_in_place(1.0 / alpha, y)
    subtract_multiple(alpha, v, y)
    orthogonalise(basis.right, k + 1, y)
    before = betas[k - 1] if k else 0.0
    coupling = b[k - 1] if k else 0.0
    beta = math.sqrt(sum_of_squares(y))
    a[k] = alpha * alpha + before * before
    alphas[k], betas[k], b[k] = alpha, beta, alpha * beta
    theta = find_largest_eigenvalue(a, b, k + 1, max(theta, a[k]) + coupling)
    write_leading_eigenvector(a, b, k + 1, theta, q)
    sigma = math.sqrt(theta)
    residual = b[k] * abs(q[k]) / sigma
    if beta <= 1e-14 * sigma:
        return True, theta
    scale_in_place(1.0 / beta, y)
    if not goal.needs_certificate:
        offset = goal.offset + goal.weight * basis.inner[0]
        if residual <= max(goal.tolerance * sigma, goal.share * (sigma + offset)):
            return True, theta
    elif residual <= sigma:
        upper = find_log_polynomial_crossing(a, b, k + 1, theta, goal.target)
        if upper <= theta * (1.0 + goal.tolerance) ** 2:
            return True, theta
    return False, theta


@compile_serial
def is_safely_scaled(squared_norm: float) -> bool:
    """Return whether a squared norm is far from overflow and from underflow."""
    return 1e-100 < squared_norm < 1e100


@compile_serial
def take_steps(
    bounds: Integers | None,
    rows: ObservedRows,
    g: Floats,
    basis: LanczosBasis,
    goal: StoppingRule,
    k: int,
    theta: float,
) -> tuple[int, bool, float]:
    """Execute Lanczos steps from step k on, until the stopping rule holds or the basis is full.

    Returns the number of steps (or `UNORDINARY`), whether the rule holds, and the largest
    eigenvalue. Each thread takes the rows between two `bounds`; without bounds, which numba knows
    when it compiles the loop, one thread takes all rows.
    """
    done, count = False, rows.indptr.size - 1
    while not done and k + 1 < basis.right.shape[0]:
        before, locations = max(k - 1, 0), basis.left.shape[0]
        beta = basis.betas[before] if k else 0.0
        v, y = basis.right[k], basis.right[k + 1]
        previous, u = basis.left[before % locations], basis.left[k % locations]
        y[:] = 0.0
        if k == 0 and goal.x.size:
            x = goal.x
            if bounds is None:
                square, inner = first_golub_kahan_sweep_rows(0, count, rows, g, x, v, u, y)
            else:
                square, inner = first_golub_kahan_sweep_parallel(bounds, rows, g, x, v, u, y)
            basis.inner[0] = inner
        elif bounds is None:
            square = golub_kahan_sweep_rows(0, count, rows, g, v, previous, beta, u, y)
        else:
            square = golub_kahan_sweep_parallel(bounds, rows, g, v, previous, beta, u, y)
        if k == 0 and not is_safely_scaled(square):
            return UNORDINARY, done, theta
        done, theta = complete_lanczos_step(k, square, basis, goal, theta)
        k += 1
    return k, done, theta


@compile_serial
def write_leading_singular_vectors(
    basis: LanczosBasis, steps: int, theta: float, half_step_ahead: bool, u: Floats, v: Floats
) -> None:
    """Write the unit singular vectors of the largest singular value to u and v.

    With `half_step_ahead`, v is the direction of G' u instead: half a step more, without another
    product.
    """
    q, p = basis.q, np.empty(steps)
    for j in range(steps):
        p[j] = basis.alphas[j] * q[j]
        if j + 1 < steps:
            p[j] += basis.betas[j] * q[j + 1]
    write_weighted_sum(q, basis.right, steps, v)
    if half_step_ahead:
        subtract_multiple(-basis.betas[steps - 1] * p[steps - 1] / theta, basis.right[steps], v)
    scale_in_place(1.0 / math.sqrt(sum_of_squares(v)), v)
    write_weighted_sum(p, basis.left, steps, u)
    scale_in_place(1.0 / math.sqrt(sum_of_squares(u)), u)


# --- vectors --------------------------------------------------------------------------------------


@compile_reordering_sums
def sum_of_squares(x: Floats) -> float:
    """Return <x, x>."""
    total = 0.0
    for i in range(x.size):
        total += x[i] * x[i]
    return total


@compile_reordering_sums
def scale_in_place(factor: float, x: Floats) -> None:
    """Multiply the entries of x by a number, in place."""
    for i in range(x.size):
        x[i] *= factor


@compile_reordering_sums
def subtract_multiple(factor: float, x: Floats, y: Floats) -> None:
    """Subtract factor * x from y, in place."""
    for i in range(y.size):
        y[i] -= factor * x[i]


@compile_reordering_sums
def orthogonalise(basis: Floats, count: int, y: Floats) -> None:
    """Subtract from y its projections onto the first `count` rows of a basis.

    All projections are computed before the first one is subtracted.
    """
    parts = np.zeros(count)
    for start in range(0, y.size, _BLOCK):
        block = y[start : start + _BLOCK]
        for j in range(count):
            row, total = basis[j, start : start + _BLOCK], 0.0
            for i in range(block.size):
                total += row[i] * block[i]
            parts[j] += total
    for start in range(0, y.size, _BLOCK):
        block = y[start : start + _BLOCK]
        for j in range(count):
            subtract_multiple(parts[j], basis[j, start : start + _BLOCK], block)


@compile_reordering_sums
def write_weighted_sum(weights: Floats, vectors: Floats, count: int, out: Floats) -> None:
    """Write the weighted sum of the first `count` rows of `vectors` to out."""
    out[:] = 0.0
    for start in range(0, out.size, _BLOCK):
        stop = start + _BLOCK
        for j in range(count):
            subtract_multiple(-weights[j], vectors[j, start:stop], out[start:stop])
