"""The zero chain H_T with its gradient and its tridiagonal Hessian.

Source: shen2019 appendix 7.1, after Carmon, Duchi, Hinder, Sidford 2017. For y in R^T

    H_T(y) = -Psi(1) Phi(y_1) + sum_{i>=2} [Psi(-y_{i-1}) Phi(-y_i) - Psi(y_{i-1}) Phi(y_i)],
    Psi(t) = exp(1 - 1/(2 t - 1)^2) for t > 1/2, else 0,
    Phi(t) = sqrt(e) int_{-inf}^t exp(-s^2/2) ds.

At most one of Psi(a) and Psi(-a) is not 0. So the term of a = y_{i-1} and b = y_i in the sum is
-s Psi(|a|) Phi(s b), where s is the sign of a. It is exactly 0 while |a| <= 1/2. If |b| <= 1/2,
too, the gradient entry of b is then exactly 0. For t > 1/2 in float64, r = 1/(2 t - 1) is at most
2^52. The powers of r do not overflow, and exp(1 - r^2) is 0 before they are large.
"""

import math

import numpy as np

from pfbench.base.arrays import Floats, Integers
from pfbench.kernels.numba_compilation import check_index, check_size, compile_serial

SCALE = math.sqrt(0.5 * math.pi * math.e)
"""Factor of Phi(t) = SCALE erfc(-t/sqrt 2)."""

HALF_ROOT = math.sqrt(0.5)


@compile_serial
def psi(t: float) -> float:
    """Return Psi(t) = exp(1 - r^2), where r = 1/(2 t - 1)."""
    if t <= 0.5:
        return 0.0
    r = 1.0 / (2.0 * t - 1.0)
    return math.exp(1.0 - r * r)


@compile_serial
def psi_slope(t: float) -> float:
    """Return Psi'(t) = 4 r^3 Psi(t), where r = 1/(2 t - 1)."""
    if t <= 0.5:
        return 0.0
    r = 1.0 / (2.0 * t - 1.0)
    q = r * r
    return 4.0 * q * r * math.exp(1.0 - q)


@compile_serial
def psi_curvature(t: float) -> float:
    """Return Psi''(t) = (16 r^6 - 24 r^4) Psi(t), where r = 1/(2 t - 1)."""
    if t <= 0.5:
        return 0.0
    r = 1.0 / (2.0 * t - 1.0)
    q = r * r
    return 8.0 * q * q * (2.0 * q - 3.0) * math.exp(1.0 - q)


@compile_serial
def phi(t: float) -> float:
    """Return Phi(t), the integral of exp((1 - s^2)/2) over s <= t, computed by erfc."""
    return SCALE * math.erfc(-HALF_ROOT * t)


@compile_serial
def phi_slope(t: float) -> float:
    """Return Phi'(t) = exp((1 - t^2)/2)."""
    return math.exp(0.5 - 0.5 * t * t)


@compile_serial
def chain_value(y: Floats) -> float:
    """Return the value H_T(y) of the zero chain; y has shape (T,)."""
    total = -phi(y[0])
    for i in range(1, y.size):
        size = abs(y[i - 1])
        if not size <= 0.5:  # so that a NaN is not passed over
            sign = math.copysign(1.0, y[i - 1])
            total -= sign * psi(size) * phi(sign * y[i])
    return total


@compile_serial
def write_chain_gradient(y: Floats, g: Floats) -> None:
    """Write the gradient of the zero chain H_T at y to g; both have shape (T,)."""
    g[0] = -phi_slope(y[0])
    for i in range(1, y.size):
        g[i] = 0.0
        size = abs(y[i - 1])
        if not size <= 0.5:
            sign = math.copysign(1.0, y[i - 1])
            g[i - 1] -= psi_slope(size) * phi(sign * y[i])
            g[i] = -psi(size) * phi_slope(y[i])


@compile_serial
def write_chain_hessian(y: Floats, diagonal: Floats, off_diagonal: Floats) -> None:
    """Write the tridiagonal Hessian of the zero chain H_T at y to `diagonal` and `off_diagonal`.

    `diagonal` has shape (T,). `off_diagonal`, shape (T - 1,), has the entries (i, i + 1).
    """
    diagonal[0] = y[0] * phi_slope(y[0])
    for i in range(1, y.size):
        diagonal[i] = 0.0
        off_diagonal[i - 1] = 0.0
        size = abs(y[i - 1])
        if not size <= 0.5:
            sign = math.copysign(1.0, y[i - 1])
            diagonal[i - 1] -= sign * psi_curvature(size) * phi(sign * y[i])
            off_diagonal[i - 1] = -sign * psi_slope(size) * phi_slope(y[i])
            diagonal[i] = psi(size) * y[i] * phi_slope(y[i])


# --- many chains, one on each block of a vector ---------------------------------------------------


@compile_serial
def sum_of_block_values(x: Floats, length: int, scale: float) -> float:
    """Return the sum of the chain values H_T(scale * block) over all blocks of x.

    x has shape (n * length,).
    """
    total = 0.0
    for i in range(x.size // length):
        total += chain_value(scale * x[i * length : (i + 1) * length])
    return total


@compile_serial
def add_gradients(
    indices: Integers, weights: Floats, x: Floats, length: int, scale: float, g: Floats
) -> None:
    """Add weight * gradient of the zero chain at scale * block of x to g, for sampled blocks."""
    check_size(x, g.size)
    slopes = np.empty(length)
    for s in range(indices.size):
        first = check_index(indices[s], x.size // length) * length
        write_chain_gradient(scale * x[first : first + length], slopes)
        for j in range(length):
            g[first + j] += weights[s] * slopes[j]


@compile_serial
def add_differences(
    indices: Integers, weights: Floats, x: Floats, y: Floats, length: int, scale: float, g: Floats
) -> None:
    """Add weight * (gradient at x - gradient at y) to the block of g, for each sampled block."""
    check_size(x, g.size)
    check_size(y, g.size)
    at_x, at_y = np.empty(length), np.empty(length)
    for s in range(indices.size):
        first = check_index(indices[s], x.size // length) * length
        write_chain_gradient(scale * x[first : first + length], at_x)
        write_chain_gradient(scale * y[first : first + length], at_y)
        for j in range(length):
            g[first + j] += weights[s] * (at_x[j] - at_y[j])


@compile_serial
def write_gradients(indices: Integers, x: Floats, length: int, scale: float, out: Floats) -> None:
    """Write grad H_T(scale * block of x) of each sampled block to a row of `out`."""
    for s in range(indices.size):
        first = check_index(indices[s], x.size // length) * length
        write_chain_gradient(scale * x[first : first + length], out[s])


@compile_serial
def write_block_hessians(
    x: Floats, length: int, scale: float, diagonals: Floats, off_diagonals: Floats
) -> None:
    """Write the Hessian of H_T at scale * block, for each block of x, to a row of both arrays."""
    check_size(x, diagonals.size)
    for i in range(x.size // length):
        write_chain_hessian(
            scale * x[i * length : (i + 1) * length], diagonals[i], off_diagonals[i]
        )


@compile_serial
def add_tridiagonal(
    diagonal: Floats, off_diagonal: Floats, v: Floats, scale: float, g: Floats
) -> None:
    """Add `scale` times the product of a symmetric tridiagonal matrix and v to g."""
    check_size(v, g.size)
    for j in range(v.size):
        g[j] += scale * diagonal[j] * v[j]
    for j in range(v.size - 1):
        g[j] += scale * off_diagonal[j] * v[j + 1]
        g[j + 1] += scale * off_diagonal[j] * v[j]


@compile_serial
def add_hessian_products(
    indices: Integers,
    weights: Floats,
    diagonals: Floats,
    off_diagonals: Floats,
    v: Floats,
    g: Floats,
) -> None:
    """Add weight * (Hessian times block of v) to the block of g, for each sampled block."""
    check_size(v, g.size)
    length = diagonals.shape[1]
    for s in range(indices.size):
        i = check_index(indices[s], diagonals.shape[0])
        first, last = i * length, (i + 1) * length
        add_tridiagonal(diagonals[i], off_diagonals[i], v[first:last], weights[s], g[first:last])
