"""Bounded loss psi(z) = 1 - exp(-z^2/(2 sigma)) over observed entries, fused with their reading.

The exponential is a polynomial that vectorises: exp(-a) = (degree-10 Taylor of exp(-a/64))^64
with a cut at 64, where exp(-a) is below 2e-28 (absolute error 6e-15; relative error 6e-14 for
a <= 13, growing to 4e-6 at the cut).
"""

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from pfbench.base.arrays import Floats, Integers
from pfbench.kernels.numba_compilation import (
    compile_parallel,
    compile_reordering_sums,
    compile_serial,
    prange,
)
from pfbench.kernels.observed_entries import EntryView, ObservedRows, read_entries

_TAYLOR = tuple(1.0 / math.factorial(k) for k in range(11))

_BLOCK = 2048
"""Number of entries that stay in the first-level cache during two passes."""


class WelschEntries(NamedTuple):
    """Observed positions (see `ObservedRows`), their entries, shape (n,), and the loss's scale."""

    indptr: npt.NDArray[np.uint32]
    indices: npt.NDArray[np.uint16] | npt.NDArray[np.uint32]
    targets: Floats
    sigma: float


@compile_reordering_sums
def exp_of_negative(a: float) -> float:
    """Return exp(-a) for a >= 0, by a polynomial."""
    t = -min(a, 64.0) * 0.015625
    e = _TAYLOR[10]
    e = _TAYLOR[9] + t * e
    e = _TAYLOR[8] + t * e
    e = _TAYLOR[7] + t * e
    e = _TAYLOR[6] + t * e
    e = _TAYLOR[5] + t * e
    e = _TAYLOR[4] + t * e
    e = _TAYLOR[3] + t * e
    e = _TAYLOR[2] + t * e
    e = _TAYLOR[1] + t * e
    e = _TAYLOR[0] + t * e
    e *= e
    e *= e
    e *= e
    e *= e
    e *= e
    return e * e


@compile_serial
def slope(z: float, sigma: float) -> float:
    """Return the derivative z/sigma exp(-z^2/(2 sigma)) of the Welsch loss at z."""
    return z / sigma * exp_of_negative(z * z / (2.0 * sigma))


# --- full sweeps ------------------------------------------------------------------------------


@compile_reordering_sums
def fw_step_and_gradient_rows(
    first: int, last: int, entries: WelschEntries, x: EntryView, scale: float, g: Floats
) -> None:
    """Apply the pending Frank-Wolfe step of `x` to x.values, and write the new gradient to g.

    The rows are `first` to `last`; the entries of the gradient are ``scale * psi'`` of the
    residuals.
    """
    indptr, indices, targets, sigma = entries
    inverse = 1.0 / sigma
    i = first
    while i < last:
        start = indptr[i]
        # Two loops over some rows, while they are in cache: one loop would write to two arrays,
        # and the compiler would not vectorise it for fear that they overlap.
        while i < last and indptr[i] - start < _BLOCK:
            ui = x.b * x.u[i]
            for k in range(indptr[i], indptr[i + 1]):
                x.values[k] = x.a * x.values[k] + ui * x.v[indices[k]]
            i += 1
        for k in range(start, indptr[i]):
            z = x.values[k] - targets[k]
            g[k] = scale * inverse * z * exp_of_negative(0.5 * inverse * z * z)


@compile_parallel
def fw_step_and_gradient_parallel(
    bounds: Integers, entries: WelschEntries, x: EntryView, scale: float, g: Floats
) -> None:
    """Perform `fw_step_and_gradient_rows` over all rows, in parallel."""
    for t in prange(bounds.size - 1):
        fw_step_and_gradient_rows(bounds[t], bounds[t + 1], entries, x, scale, g)


@compile_reordering_sums
def write_slope_rows(
    first: int, last: int, entries: WelschEntries, x: EntryView, scale: float, g: Floats
) -> None:
    """Write `scale` times the loss derivatives of rows first .. last - 1 to g; keep `x` as is."""
    indptr, indices, targets, sigma = entries
    inverse = 1.0 / sigma
    i = first
    while i < last:
        start = indptr[i]
        while i < last and indptr[i] - start < _BLOCK:
            ui = x.b * x.u[i]
            for k in range(indptr[i], indptr[i + 1]):
                g[k] = x.a * x.values[k] + ui * x.v[indices[k]]
            i += 1
        for k in range(start, indptr[i]):
            z = g[k] - targets[k]
            g[k] = scale * inverse * z * exp_of_negative(0.5 * inverse * z * z)


@compile_parallel
def write_slopes_parallel(
    bounds: Integers, entries: WelschEntries, x: EntryView, scale: float, g: Floats
) -> None:
    """Write `scale` times the loss derivatives of all rows to g; threads share the rows."""
    for t in prange(bounds.size - 1):
        write_slope_rows(bounds[t], bounds[t + 1], entries, x, scale, g)


@compile_reordering_sums
def sum_loss_rows(first: int, last: int, entries: WelschEntries, x: EntryView) -> float:
    """Return the sum of the losses over the residuals of rows first .. last - 1."""
    indptr, indices, targets, sigma = entries
    half = 0.5 / sigma
    total = 0.0
    for i in range(first, last):
        ui = x.b * x.u[i]
        for k in range(indptr[i], indptr[i + 1]):
            z = x.a * x.values[k] + ui * x.v[indices[k]] - targets[k]
            total += 1.0 - exp_of_negative(half * z * z)
    return total


@compile_parallel
def sum_loss_parallel(bounds: Integers, entries: WelschEntries, x: EntryView) -> float:
    """Return the sum of the losses over all rows' residuals, in a fixed summation order."""
    parts = np.zeros(bounds.size - 1)
    for t in prange(bounds.size - 1):
        parts[t] = sum_loss_rows(bounds[t], bounds[t + 1], entries, x)
    return float(parts.sum())


@compile_reordering_sums
def write_curvatures(residuals: Floats, sigma: float, out: Floats) -> None:
    """Write the second derivative (1 - z^2/sigma)/sigma exp(-z^2/(2 sigma)) at each z to out."""
    inverse = 1.0 / sigma
    for k in range(residuals.size):
        square = residuals[k] * residuals[k] * inverse
        out[k] = inverse * (1.0 - square) * exp_of_negative(0.5 * square)


# --- samples ----------------------------------------------------------------------------------


@compile_serial
def slopes_at_positions(indices: Integers, entries: WelschEntries, x: EntryView) -> Floats:
    """Return the loss derivatives at the sampled positions, in the order of the sample."""
    indptr, columns, targets, sigma = entries
    out = read_entries(indices, ObservedRows(indptr, columns), x)
    for s in range(indices.size):
        out[s] = slope(out[s] - targets[indices[s]], sigma)
    return out
