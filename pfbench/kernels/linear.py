"""Loops over the rows of a data matrix for losses of the form phi(<a_i, x>; b_i).

Each loop reads a row once for everything it needs. A small integer selects the loss, so that one
compiled loop serves every loss. A sample is given by indices and counts. A count is the number of
draws of an index; without counts, each index is one draw. The argument `size` is the total number
of draws.
"""

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from pfbench.base.arrays import Floats, Integers
from pfbench.kernels.numba_compilation import (
    check_index,
    check_size,
    compile_reordering_sums,
    compile_serial,
)

LOGISTIC = 0
"""Loss phi(z; b) = log(1 + exp(-b z))."""

ROBUST = 1
"""Loss phi(z; b) = log(1 + (z - b)^2/2)."""

LOG_COSH = 2
"""Loss phi(z; b) = log cosh(z - b)."""

SQUARE = 3
"""Loss phi(z; b) = (z - b)^2/2."""


Pointers = npt.NDArray[np.uint32]
Columns = npt.NDArray[np.uint16] | npt.NDArray[np.uint32]


class RowData(NamedTuple):
    """Rows a_i, each with `columns` entries, and their labels b_i, shape (n,).

    The shape of `values` encodes the format of the rows, so that a loop is compiled for each
    format.

    Attributes
    ----------
    indptr, indices
        Row i has entries in the columns indices[k], k from indptr[i] to indptr[i + 1].
    values
        The entries, shape (nnz,). If the shape is (), all entries are 1. If the shape is (n, d),
        the array has the dense rows, and `indptr` and `indices` are empty.
    """

    indptr: Pointers
    indices: Columns
    values: Floats
    labels: Floats
    columns: int

    @classmethod
    def from_matrix(cls, matrix: Any, labels: Floats) -> "RowData":
        """Return the rows of `matrix`, a CSR array with sorted indices and no duplicates."""
        n, d = matrix.shape
        values = np.ascontiguousarray(matrix.data)
        if matrix.nnz == n * d:
            no_places = np.empty(0, dtype=np.uint32), np.empty(0, dtype=np.uint16)
            return cls(*no_places, values.reshape(n, d), labels, d)
        narrow = np.uint16 if d <= 1 << 16 else np.uint32
        locations = matrix.indptr.astype(np.uint32), matrix.indices.astype(narrow)
        return cls(*locations, np.ones(()) if np.all(values == 1.0) else values, labels, d)


@compile_serial
def loss(kind: int, z: float, b: float) -> float:
    """Return the loss phi(z; b) of the given kind."""
    if kind == LOGISTIC:
        t = b * z
        return math.log1p(math.exp(-t)) if t > 0.0 else math.log1p(math.exp(t)) - t
    r = z - b
    if kind == ROBUST:
        return math.log1p(0.5 * r * r)
    if kind == LOG_COSH:
        return abs(r) + math.log1p(math.exp(-2.0 * abs(r))) - math.log(2.0)
    return 0.5 * r * r


@compile_serial
def slope(kind: int, z: float, b: float) -> float:
    """Return the first derivative of the loss phi(z; b) with respect to z."""
    if kind == LOGISTIC:
        return -b / (1.0 + math.exp(b * z))
    r = z - b
    if kind == ROBUST:
        return r / (1.0 + 0.5 * r * r)
    if kind == LOG_COSH:
        return math.tanh(r)
    return r


@compile_serial
def curvature(kind: int, z: float, b: float) -> float:
    """Return the second derivative of the loss phi(z; b) with respect to z."""
    if kind == LOGISTIC:
        e = math.exp(-abs(z))
        return b * b * e / ((1.0 + e) * (1.0 + e))
    r = z - b
    if kind == ROBUST:
        q = 1.0 + 0.5 * r * r
        return (2.0 - q) / (q * q)
    if kind == LOG_COSH:
        c = math.tanh(r)
        return 1.0 - c * c
    return 1.0


@compile_reordering_sums
def dense_dot(a: Floats, x: Floats) -> float:
    """Return <a, x>; the summation order is unspecified."""
    total = 0.0
    for j in range(x.size):
        total += a[j] * x[j]
    return total


@compile_reordering_sums
def dense_dots(a: Floats, x: Floats, y: Floats) -> tuple[float, float]:
    """Return <a, x> and <a, y>; the summation order is unspecified."""
    at_x = 0.0
    at_y = 0.0
    for j in range(x.size):
        at_x += a[j] * x[j]
        at_y += a[j] * y[j]
    return at_x, at_y


@compile_serial
def dot(indptr: Pointers, indices: Columns, values: Floats, i: int, x: Floats) -> float:
    """Return the inner product <a_i, x> of row a_i and x."""
    total = 0.0
    if values.ndim == 2:
        total = dense_dot(values[i], x)
    elif values.ndim == 0:
        for k in range(indptr[i], indptr[i + 1]):
            total += x[indices[k]]
    else:
        for k in range(indptr[i], indptr[i + 1]):
            total += values[k] * x[indices[k]]
    return total


@compile_serial
def dots(
    indptr: Pointers, indices: Columns, values: Floats, i: int, x: Floats, y: Floats
) -> tuple[float, float]:
    """Return <a_i, x> and <a_i, y> for row a_i, which is read only once."""
    at_x = 0.0
    at_y = 0.0
    if values.ndim == 2:
        at_x, at_y = dense_dots(values[i], x, y)
    elif values.ndim == 0:
        for k in range(indptr[i], indptr[i + 1]):
            j = indices[k]
            at_x += x[j]
            at_y += y[j]
    else:
        for k in range(indptr[i], indptr[i + 1]):
            j = indices[k]
            at_x += values[k] * x[j]
            at_y += values[k] * y[j]
    return at_x, at_y


@compile_serial
def add_row(
    indptr: Pointers, indices: Columns, values: Floats, i: int, weight: float, g: Floats
) -> None:
    """Add weight * a_i to g, where a_i is row i."""
    if values.ndim == 2:
        row = values[i]
        for j in range(g.size):
            g[j] += weight * row[j]
    elif values.ndim == 0:
        for k in range(indptr[i], indptr[i + 1]):
            g[indices[k]] += weight
    else:
        for k in range(indptr[i], indptr[i + 1]):
            g[indices[k]] += weight * values[k]


# --- full passes ----------------------------------------------------------------------------------


@compile_serial
def total_loss(kind: int, data: RowData, x: Floats) -> float:
    """Return the sum of the losses of all rows at x."""
    rows = data.indptr, data.indices, data.values
    check_size(x, data.columns)
    total = 0.0
    for i in range(data.labels.size):
        total += loss(kind, dot(*rows, i, x), data.labels[i])
    return total


@compile_serial
def add_gradient_sum(kind: int, data: RowData, x: Floats, scale: float, g: Floats) -> None:
    """Add scale times the sum of the gradients of all losses at x to g."""
    rows = data.indptr, data.indices, data.values
    check_size(x, data.columns)
    check_size(g, data.columns)
    for i in range(data.labels.size):
        at_x = slope(kind, dot(*rows, i, x), data.labels[i])
        add_row(*rows, i, scale * at_x, g)


@compile_serial
def write_curvatures(kind: int, data: RowData, x: Floats, out: Floats) -> None:
    """Write to `out` the second derivative of each row's loss at x."""
    rows = data.indptr, data.indices, data.values
    check_size(x, data.columns)
    for i in range(data.labels.size):
        out[i] = curvature(kind, dot(*rows, i, x), data.labels[i])


# --- samples --------------------------------------------------------------------------------------


@compile_serial
def sample_weight(counts: Integers, s: int, size: int) -> float:
    """Return the weight of the s-th index of a sample: its number of draws divided by `size`."""
    return counts[s] / size if counts.size else 1.0 / size


@compile_serial
def write_slopes(kind: int, data: RowData, indices: Integers, x: Floats, out: Floats) -> None:
    """Write to `out` the loss derivatives at x of the rows with the given indices."""
    rows = data.indptr, data.indices, data.values
    check_size(x, data.columns)
    for s in range(indices.size):
        i = check_index(indices[s], data.labels.size)
        out[s] = slope(kind, dot(*rows, i, x), data.labels[i])


@compile_serial
def regulariser_slope(alpha: float, t: float) -> float:
    """Return the derivative of the regulariser alpha t^2/(1 + t^2) with respect to t."""
    q = 1.0 + t * t
    return 2.0 * alpha * t / (q * q)


@compile_serial
def write_mean_gradient(
    kind: int,
    data: RowData,
    alpha: float,
    indices: Integers,
    counts: Integers,
    size: int,
    x: Floats,
    g: Floats,
) -> None:
    """Write to g the mean of the component gradients at x over the sample."""
    rows = data.indptr, data.indices, data.values
    check_size(x, data.columns)
    check_size(g, data.columns)
    for j in range(g.size):
        g[j] = regulariser_slope(alpha, x[j])
    for s in range(indices.size):
        i = check_index(indices[s], data.labels.size)
        at_x = slope(kind, dot(*rows, i, x), data.labels[i])
        add_row(*rows, i, sample_weight(counts, s, size) * at_x, g)


@compile_serial
def write_mean_difference(
    kind: int,
    data: RowData,
    alpha: float,
    indices: Integers,
    counts: Integers,
    size: int,
    x: Floats,
    y: Floats,
    g: Floats,
) -> None:
    """Write to g the sample mean of grad f_i(x) - grad f_i(y); each row is read once."""
    rows = data.indptr, data.indices, data.values
    check_size(x, data.columns)
    check_size(y, data.columns)
    check_size(g, data.columns)
    for j in range(g.size):
        g[j] = regulariser_slope(alpha, x[j]) - regulariser_slope(alpha, y[j])
    for s in range(indices.size):
        i = check_index(indices[s], data.labels.size)
        at_x, at_y = dots(*rows, i, x, y)
        b = data.labels[i]
        change = slope(kind, at_x, b) - slope(kind, at_y, b)
        add_row(*rows, i, sample_weight(counts, s, size) * change, g)


@compile_serial
def add_changes_from_stored_slopes(
    kind: int,
    data: RowData,
    indices: Integers,
    counts: Integers,
    size: int,
    stored: Floats,
    x: Floats,
    g: Floats,
) -> None:
    """Add to g the sample mean of row i times the change of its loss derivative since storage."""
    rows = data.indptr, data.indices, data.values
    check_size(x, data.columns)
    check_size(g, data.columns)
    for s in range(indices.size):
        i = check_index(indices[s], data.labels.size)
        change = slope(kind, dot(*rows, i, x), data.labels[i]) - stored[i]
        add_row(*rows, i, sample_weight(counts, s, size) * change, g)


@compile_serial
def replace_slopes(
    kind: int,
    data: RowData,
    indices: Integers,
    counts: Integers,
    size: int,
    stored: Floats,
    x: Floats,
    g: Floats,
    mean: Floats,
) -> None:
    """Run `add_changes_from_stored_slopes`, then store the new slopes and update `mean`.

    `mean`, the mean of the stored gradients, is updated once for each distinct index.
    """
    rows = data.indptr, data.indices, data.values
    check_size(x, data.columns)
    check_size(g, data.columns)
    check_size(mean, data.columns)
    check_size(stored, data.labels.size)
    slopes = np.empty(indices.size)
    for s in range(indices.size):
        i = check_index(indices[s], data.labels.size)
        slopes[s] = slope(kind, dot(*rows, i, x), data.labels[i])
        add_row(*rows, i, sample_weight(counts, s, size) * (slopes[s] - stored[i]), g)
    for s in range(indices.size):
        i = indices[s]
        add_row(*rows, i, 1.0 / data.labels.size * (slopes[s] - stored[i]), mean)
        stored[i] = slopes[s]


@compile_serial
def add_hessian_vector_products(
    data: RowData,
    indices: Integers,
    counts: Integers,
    size: int,
    second_derivatives: Floats,
    v: Floats,
    g: Floats,
) -> None:
    """Add to g the sample mean of second_derivatives[i] * <a_i, v> a_i over the rows a_i."""
    rows = data.indptr, data.indices, data.values
    check_size(v, data.columns)
    check_size(g, data.columns)
    for s in range(indices.size):
        i = check_index(indices[s], data.labels.size)
        at_v = second_derivatives[i] * dot(*rows, i, v)
        add_row(*rows, i, sample_weight(counts, s, size) * at_v, g)


@compile_serial
def move_components_to_slot(
    indices: Integers, slot: int, slot_of_component: Integers, slot_sizes: Integers
) -> None:
    """Assign components to a slot, the number of their shared array; update the slot sizes.

    A repeated index counts once.
    """
    for s in range(indices.size):
        i = check_index(indices[s], slot_of_component.size)
        if slot_of_component[i] != slot:
            slot_sizes[slot_of_component[i]] -= 1
            slot_sizes[slot] += 1
            slot_of_component[i] = slot


@compile_serial
def add_draws_per_slot(
    indices: Integers, counts: Integers, slot_of_component: Integers, out: Floats
) -> None:
    """Add to `out`, for each slot, the number of draws of the components with this slot."""
    for s in range(indices.size):
        i = check_index(indices[s], slot_of_component.size)
        out[slot_of_component[i]] += counts[s] if counts.size else 1
