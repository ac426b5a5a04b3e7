"""Loops over the observed entries of a matrix, in CSR order.

An iterate is read through an `EntryView`: entry k, in row i and column j, is ``a * values[k] + b *
u[i] * v[j]``. So a recorded rank-one step can be read without being applied. Column and row-pointer
arrays are unsigned. For signed indices, numba compiles wrap-around checks that prevent
vectorisation.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from pfbench.base.arrays import Floats, Integers
from pfbench.kernels.numba_compilation import (
    check_index,
    compile_parallel,
    compile_reordering_sums,
    compile_serial,
    prange,
)


class ObservedRows(NamedTuple):
    """Observed positions in CSR order; row i has columns ``indices[indptr[i]:indptr[i+1]]``."""

    indptr: npt.NDArray[np.uint32]
    indices: npt.NDArray[np.uint16] | npt.NDArray[np.uint32]


class EntryView(NamedTuple):
    """View of an iterate on the observed entries: ``a * values + b * u[row] * v[column]``."""

    values: Floats
    a: float
    b: float
    u: Floats
    v: Floats


# --- one rank-one step ------------------------------------------------------------------------


@compile_reordering_sums
def write_entries(first: int, last: int, rows: ObservedRows, x: EntryView, out: Floats) -> None:
    """Write the entries of rows first .. last - 1 to `out`, which may be x.values itself."""
    for i in range(first, last):
        ui = x.b * x.u[i]
        for k in range(rows.indptr[i], rows.indptr[i + 1]):
            out[k] = x.a * x.values[k] + ui * x.v[rows.indices[k]]


@compile_parallel
def write_entries_parallel(bounds: Integers, rows: ObservedRows, x: EntryView, out: Floats) -> None:
    """Write the entries of all rows; each thread takes rows between two consecutive `bounds`."""
    for t in prange(bounds.size - 1):
        write_entries(bounds[t], bounds[t + 1], rows, x, out)


@compile_serial
def find_row(indptr: npt.NDArray[np.uint32], k: int) -> int:
    """Return the row of the observed position with index k.

    The search starts at the row that k has if all rows are equally long, and doubles its steps.
    """
    last = indptr.size - 1
    low = min(int(k * (last / indptr[last])), last - 1)
    high, step = low + 1, 1
    while indptr[low] > k:
        low, high, step = max(low - step, 0), low, 2 * step
    while indptr[high] <= k:
        low, high, step = high, min(high + step, last), 2 * step
    while high - low > 1:
        middle = (low + high) >> 1
        low, high = (middle, high) if indptr[middle] <= k else (low, middle)
    return low


@compile_serial
def read_entries(indices: Integers, rows: ObservedRows, x: EntryView) -> Floats:
    """Return the entries of the iterate x at observed positions, given by their indices."""
    # Parts of a tuple that are read in the loop, or passed on, are counted as references there.
    indptr, columns = rows
    values, a, b, u, v = x
    out = np.empty(indices.size)
    for s in range(indices.size):
        k = check_index(indices[s], values.size)
        out[s] = a * values[k]
        if b != 0.0:
            out[s] += b * u[find_row(indptr, k)] * v[columns[k]]
    return out


# --- products with the sparse matrix of entries g on the pattern --------------------------------


@compile_reordering_sums
def inner_with_rank_one_rows(
    first: int, last: int, rows: ObservedRows, g: Floats, u: Floats, v: Floats
) -> float:
    """Return the sum of g[k] * u[row] * v[column] over the entries k of rows first .. last - 1."""
    total = 0.0
    for i in range(first, last):
        part = 0.0
        for k in range(rows.indptr[i], rows.indptr[i + 1]):
            part += g[k] * v[rows.indices[k]]
        total += u[i] * part
    return total


@compile_parallel
def inner_with_rank_one_parallel(
    bounds: Integers, rows: ObservedRows, g: Floats, u: Floats, v: Floats
) -> float:
    """Return the result of `inner_with_rank_one_rows` for all rows, in parallel.

    The partial sums are added in a fixed order.
    """
    parts = np.zeros(bounds.size - 1)
    for t in prange(bounds.size - 1):
        parts[t] = inner_with_rank_one_rows(bounds[t], bounds[t + 1], rows, g, u, v)
    return float(parts.sum())


@compile_reordering_sums
def inner_with_iterate_rows(
    first: int, last: int, rows: ObservedRows, g: Floats, x: EntryView
) -> float:
    """Return the sum of g[k] times entry k of x, over the entries k of rows first .. last - 1."""
    total = 0.0
    for i in range(first, last):
        ui = x.b * x.u[i]
        part = 0.0
        for k in range(rows.indptr[i], rows.indptr[i + 1]):
            part += g[k] * (x.a * x.values[k] + ui * x.v[rows.indices[k]])
        total += part
    return total


@compile_parallel
def inner_with_iterate_parallel(
    bounds: Integers, rows: ObservedRows, g: Floats, x: EntryView
) -> float:
    """Return the result of `inner_with_iterate_rows` for all rows, in parallel.

    The partial sums are added in a fixed order.
    """
    parts = np.zeros(bounds.size - 1)
    for t in prange(bounds.size - 1):
        parts[t] = inner_with_iterate_rows(bounds[t], bounds[t + 1], rows, g, x)
    return float(parts.sum())


@compile_reordering_sums
def add_scaled_row(
    start: int,
    end: int,
    indices: npt.NDArray[np.uint16] | npt.NDArray[np.uint32],
    g: Floats,
    factor: float,
    out: Floats,
) -> None:
    """Add factor * g[k] to out[column] for each entry k of a row with distinct columns."""
    # Four at a time, read before they are written: the compiler does not know that they are.
    fours = start + (end - start) // 4 * 4
    for k in range(start, fours, 4):
        j0, j1, j2, j3 = indices[k], indices[k + 1], indices[k + 2], indices[k + 3]
        y0, y1 = out[j0] + factor * g[k], out[j1] + factor * g[k + 1]
        y2, y3 = out[j2] + factor * g[k + 2], out[j3] + factor * g[k + 3]
        out[j0], out[j1], out[j2], out[j3] = y0, y1, y2, y3
    for k in range(fours, end):
        out[indices[k]] += factor * g[k]


@compile_reordering_sums
def golub_kahan_sweep_rows(
    first: int,
    last: int,
    rows: ObservedRows,
    g: Floats,
    v: Floats,
    previous: Floats,
    beta: float,
    u: Floats,
    y: Floats,
) -> float:
    """Perform one fused sweep of Golub-Kahan-Lanczos over rows first .. last - 1.

    The sweep writes ``u = G v - beta * previous`` for these rows, and adds ``G' u`` to y while each
    row is still in cache. It returns the sum of squares of u.
    """
    indptr, indices = rows
    square = 0.0
    for i in range(first, last):
        start, end = indptr[i], indptr[i + 1]
        total = -beta * previous[i]
        for k in range(start, end):
            total += g[k] * v[indices[k]]
        u[i] = total
        square += total * total
        add_scaled_row(start, end, indices, g, total, y)
    return square


@compile_parallel
def golub_kahan_sweep_parallel(
    bounds: Integers,
    rows: ObservedRows,
    g: Floats,
    v: Floats,
    previous: Floats,
    beta: float,
    u: Floats,
    y: Floats,
) -> float:
    """Perform `golub_kahan_sweep_rows` over all rows, in parallel; each thread has its own y."""
    chunks = bounds.size - 1
    private = np.zeros((chunks, y.size))
    squares = np.zeros(chunks)
    for t in prange(chunks):
        squares[t] = golub_kahan_sweep_rows(
            bounds[t], bounds[t + 1], rows, g, v, previous, beta, u, private[t]
        )
    for t in range(chunks):
        y += private[t]
    return float(squares.sum())


@compile_reordering_sums
def first_golub_kahan_sweep_rows(
    first: int, last: int, rows: ObservedRows, g: Floats, x: Floats, v: Floats, u: Floats, y: Floats
) -> tuple[float, float]:
    """Perform `golub_kahan_sweep_rows` without a previous u; return |u|^2 and <g, x>."""
    indptr, indices = rows
    square = inner = 0.0
    for i in range(first, last):
        start, end = indptr[i], indptr[i + 1]
        total = part = 0.0
        for k in range(start, end):
            total += g[k] * v[indices[k]]
            part += g[k] * x[k]
        u[i] = total
        square += total * total
        inner += part
        add_scaled_row(start, end, indices, g, total, y)
    return square, inner


@compile_parallel
def first_golub_kahan_sweep_parallel(
    bounds: Integers, rows: ObservedRows, g: Floats, x: Floats, v: Floats, u: Floats, y: Floats
) -> tuple[float, float]:
    """Perform `first_golub_kahan_sweep_rows` over all rows, in parallel.

    Each thread has its own y.
    """
    chunks = bounds.size - 1
    private = np.zeros((chunks, y.size))
    squares, inners = np.zeros(chunks), np.zeros(chunks)
    for t in prange(chunks):
        squares[t], inners[t] = first_golub_kahan_sweep_rows(
            bounds[t], bounds[t + 1], rows, g, x, v, u, private[t]
        )
    for t in range(chunks):
        y += private[t]
    return float(squares.sum()), float(inners.sum())
