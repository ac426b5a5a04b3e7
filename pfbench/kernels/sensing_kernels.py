"""Loops over dense rows z_i, shape (n, p), for losses of <z_i, x>; each row is read once.

Rows are processed four at a time, so that x and the sum are read and written a quarter as often.
The rows may be stored in single precision; all sums are in double precision. An error raised in a
thread is lost, so `check_indices` checks the indices before the loops.
"""

from typing import Any, NamedTuple

import numpy.typing as npt

from pfbench.base.arrays import Floats, Integers
from pfbench.kernels.numba_compilation import (
    check_index,
    compile_parallel,
    compile_reordering_sums,
    compile_serial,
    prange,
)

Dense = npt.NDArray[Any]
"""Dense rows, in double or single precision."""


class SampledRows(NamedTuple):
    """Rows z_i, and a sample of them: the index, the weight and the target at each position."""

    rows: Dense
    indices: Integers
    weights: Floats
    targets: Floats


@compile_serial
def check_indices(indices: Integers, n: int) -> None:
    """Raise IndexError if an index is not in 0 .. n - 1."""
    for s in range(indices.size):
        check_index(indices[s], n)


@compile_reordering_sums
def write_products(
    first: int, last: int, rows: Dense, indices: Integers, x: Floats, out: Floats
) -> None:
    """Write <z_i, x> to out for the positions first .. last - 1 of the sample."""
    for s in range(first, last):
        row = rows[indices[s]]
        total = 0.0
        for k in range(x.size):
            total += row[k] * x[k]
        out[s] = total


@compile_parallel
def write_products_parallel(
    bounds: Integers, rows: Dense, indices: Integers, x: Floats, out: Floats
) -> None:
    """Write <z_i, x> for all positions; each thread takes those between two of the `bounds`."""
    for t in prange(bounds.size - 1):
        write_products(bounds[t], bounds[t + 1], rows, indices, x, out)


@compile_reordering_sums
def add_rows(rows: Dense, indices: Integers, weights: Floats, g: Floats) -> None:
    """Add weight * z_i for each sampled row i to g."""
    for s in range(indices.size):
        row = rows[indices[s]]
        for k in range(g.size):
            g[k] += weights[s] * row[k]


@compile_reordering_sums
def replace_slopes(
    rows: Dense,
    indices: Integers,
    changes: Floats,
    slopes: Floats,
    stored: Floats,
    g: Floats,
    mean: Floats,
) -> None:
    """Add each sampled row times its slope's change to g, store the slopes, and update `mean`.

    `mean`, the mean of the stored gradients, is updated once for each distinct index.
    """
    for s in range(indices.size):
        i = indices[s]
        row = rows[i]
        change = 1.0 / stored.size * (slopes[s] - stored[i])
        stored[i] = slopes[s]
        for k in range(g.size):
            g[k] += changes[s] * row[k]
            mean[k] += change * row[k]


@compile_reordering_sums
def add_weighted_residual_rows(
    first: int, last: int, sampled: SampledRows, x: Floats, g: Floats
) -> None:
    """Add ``weights * (<z_i, x> - targets) z_i`` to g for the positions first .. last - 1."""
    rows, indices, weights, targets = sampled
    s = first
    while s + 4 <= last:
        a, b = rows[indices[s]], rows[indices[s + 1]]
        c, d = rows[indices[s + 2]], rows[indices[s + 3]]
        at_a, at_b, at_c, at_d = 0.0, 0.0, 0.0, 0.0
        for k in range(x.size):
            at_a += a[k] * x[k]
            at_b += b[k] * x[k]
            at_c += c[k] * x[k]
            at_d += d[k] * x[k]
        at_a = weights[s] * (at_a - targets[s])
        at_b = weights[s + 1] * (at_b - targets[s + 1])
        at_c = weights[s + 2] * (at_c - targets[s + 2])
        at_d = weights[s + 3] * (at_d - targets[s + 3])
        for k in range(x.size):
            g[k] += at_a * a[k] + at_b * b[k] + at_c * c[k] + at_d * d[k]
        s += 4
    for t in range(s, last):
        row = rows[indices[t]]
        position = 0.0
        for k in range(x.size):
            position += row[k] * x[k]
        position = weights[t] * (position - targets[t])
        for k in range(x.size):
            g[k] += position * row[k]


@compile_parallel
def add_residual_sums_parallel(
    bounds: Integers, sampled: SampledRows, x: Floats, parts: Floats
) -> None:
    """Add weighted residual rows in parallel; each chunk's sum is added to its row of `parts`."""
    for t in prange(bounds.size - 1):
        add_weighted_residual_rows(bounds[t], bounds[t + 1], sampled, x, parts[t])
