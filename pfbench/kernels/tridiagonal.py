"""Small tridiagonal eigenvalue problems inside Golub-Kahan-Lanczos.

After k steps T = B'B is k x k, symmetric and tridiagonal with diagonal `a` and positive
off-diagonal `b[:k-1]`; `b[k-1]` couples it to the next Lanczos vector.
"""

import math

import numpy as np

from pfbench.base.arrays import Floats
from pfbench.kernels.numba_compilation import compile_serial


@compile_serial
def _next_pivot(
    a: Floats, b: Floats, i: int, x: float, before: float, slope: float
) -> tuple[float, float]:
    """Return pivot i of x I - T for a tridiagonal matrix T, and the pivot's derivative in x."""
    if i == 0:
        return x - a[0], 1.0
    square = b[i - 1] * b[i - 1]
    return x - a[i] - square / before, 1.0 + square * slope / (before * before)


@compile_serial
def log_polynomial_and_derivative(a: Floats, b: Floats, k: int, x: float) -> tuple[float, float]:
    """Return log det(x I - T) minus the sum of log b, and its derivative in x (T: tridiagonal).

    x must be above T's eigenvalues.

    If x is not above these eigenvalues, up to rounding, the logarithm is minus infinity.
    """
    log = 0.0
    slope = 0.0
    pivot = 1.0
    pivot_slope = 0.0
    for i in range(k):
        pivot, pivot_slope = _next_pivot(a, b, i, x, pivot, pivot_slope)
        if not pivot > 0.0:
            return -math.inf, math.inf
        log += math.log(pivot / b[i]) if b[i] > 0.0 else math.inf
        slope += pivot_slope / pivot
    return log, slope


@compile_serial
def find_largest_eigenvalue(a: Floats, b: Floats, k: int, upper: float) -> float:
    """Return the largest eigenvalue of a tridiagonal matrix, by Newton's method from above.

    The method is monotone.

    `upper` is any number that is at least the eigenvalue.
    """
    x = upper
    for _ in range(200):
        pivot = 1.0
        pivot_slope = 0.0
        slope = 0.0
        for i in range(k):
            pivot, pivot_slope = _next_pivot(a, b, i, x, pivot, pivot_slope)
            if not pivot > 0.0:
                return x
            slope += pivot_slope / pivot
        step = 1.0 / slope
        x -= step
        if step <= 1e-15 * abs(x):
            break
    return x


@compile_serial
def write_leading_eigenvector(a: Floats, b: Floats, k: int, x: float, q: Floats) -> None:
    """Write to q[:k] the unit eigenvector of a tridiagonal matrix for its largest eigenvalue x.

    The factorisation is twisted where the vector is largest, so that both ends are computed in
    the direction in which they decay.
    """
    down = np.empty(k)
    up = np.empty(k)
    tiny = 1e-300
    down[0] = x - a[0]
    for i in range(1, k):
        down[i] = x - a[i] - b[i - 1] * b[i - 1] / max(down[i - 1], tiny)
    up[k - 1] = x - a[k - 1]
    for i in range(k - 2, -1, -1):
        up[i] = x - a[i] - b[i] * b[i] / max(up[i + 1], tiny)
    twist = 0
    best = math.inf
    for i in range(k):
        gamma = abs(down[i] + up[i] - (x - a[i]))
        if gamma < best:
            best = gamma
            twist = i
    q[twist] = 1.0
    for i in range(twist - 1, -1, -1):
        q[i] = q[i + 1] * b[i] / max(down[i], tiny)
    for i in range(twist + 1, k):
        q[i] = q[i - 1] * b[i - 1] / max(up[i], tiny)
    norm = 0.0
    for i in range(k):
        norm += q[i] * q[i]
    norm = math.sqrt(norm)
    for i in range(k):
        q[i] /= norm


@compile_serial
def find_log_polynomial_crossing(a: Floats, b: Floats, k: int, x: float, target: float) -> float:
    """Return the point y >= x at which log det(y I - T) minus the sum of log b reaches `target`.

    T is the tridiagonal matrix with diagonal `a` and off-diagonal `b`.

    x must be at least the largest eigenvalue. The function is increasing and concave there, so
    Newton's method from the left is monotone. Doubling safeguards the method.
    """
    if x <= 0.0:
        return x
    low = x
    gap = 1e-15 * x
    while True:
        value, _ = log_polynomial_and_derivative(a, b, k, x + gap)
        if value >= target or gap > 1e60 * x:
            break
        low = x + gap
        gap *= 2.0
    high = x + gap
    for _ in range(60):
        middle = 0.5 * (low + high)
        value, _ = log_polynomial_and_derivative(a, b, k, middle)
        if value >= target:
            high = middle
        else:
            low = middle
        if high - low <= 1e-13 * high:
            break
    return high
