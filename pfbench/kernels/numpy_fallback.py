"""Finite sums where numba is not installed: what the compiled loops do, in NumPy.

Each function has the arguments of the loop that names it as its twin, and the same results to
rounding. What has no twin runs as the Python loop that it is.
"""

from typing import Any

import numpy as np

from pfbench.base.arrays import Floats, Integers
from pfbench.kernels import loop_inputs


def _check_indices(indices: Integers, n: int) -> None:
    if indices.size and (indices.min() < 0 or indices.max() >= n):
        raise IndexError("a sampled component index is outside 0 .. n - 1")


def _check_sizes(size: int, *arrays: Floats) -> None:
    if any(array.size != size for array in arrays):
        raise IndexError("a point or gradient has another size than the problem's")


def _sample_weights(indices: Integers, counts: Integers, size: int) -> Floats:
    return counts / size if counts.size else np.full(indices.size, 1.0 / size)


# --- linear losses --------------------------------------------------------------------------------


def _loss_values(kind: int, z: Floats, b: Floats) -> Floats:
    if kind == loop_inputs.LOGISTIC:
        return np.logaddexp(0.0, -b * z)
    r = z - b
    if kind == loop_inputs.ROBUST:
        return np.log1p(0.5 * r * r)
    if kind == loop_inputs.LOG_COSH:
        return np.asarray(np.abs(r) + np.log1p(np.exp(-2.0 * np.abs(r))) - np.log(2.0))
    return np.asarray(0.5 * r * r)


def _loss_slopes(kind: int, z: Floats, b: Floats) -> Floats:
    if kind == loop_inputs.LOGISTIC:
        with np.errstate(over="ignore"):
            return np.asarray(-b / (1.0 + np.exp(b * z)))
    r = z - b
    if kind == loop_inputs.ROBUST:
        return np.asarray(r / (1.0 + 0.5 * r * r))
    return np.tanh(r) if kind == loop_inputs.LOG_COSH else r


def _loss_curvatures(kind: int, z: Floats, b: Floats) -> Floats:
    if kind == loop_inputs.LOGISTIC:
        e = np.exp(-np.abs(z))
        return np.asarray(b * b * e / ((1.0 + e) * (1.0 + e)))
    r = z - b
    if kind == loop_inputs.ROBUST:
        q = 1.0 + 0.5 * r * r
        return np.asarray((2.0 - q) / (q * q))
    return np.asarray(1.0 - np.tanh(r) ** 2) if kind == loop_inputs.LOG_COSH else np.ones_like(r)


class _RowSelection:
    """Some rows of the data: all their entries with the row, among these, and the column."""

    def __init__(self, data: loop_inputs.RowData, indices: Integers) -> None:
        _check_indices(indices, data.labels.size)
        self.labels, self._size, self._shape = data.labels[indices], indices.size, data.values.ndim
        self._d = data.columns
        if self._shape == 2:
            self._values = data.values[indices]
            return
        first, last = (data.indptr[indices + k].astype(np.int64) for k in (0, 1))
        lengths = last - first
        ends = np.cumsum(lengths)
        arange = np.arange(lengths.sum()) + np.repeat(first - ends + lengths, lengths)
        self._row = np.repeat(np.arange(indices.size), lengths)
        self._column = data.indices[arange]
        self._values = data.values[arange] if self._shape else np.ones(arange.size)

    def products(self, x: Floats) -> Floats:
        _check_sizes(self._d, x)
        if self._shape == 2:
            return np.asarray(self._values @ x)
        sums = np.bincount(self._row, self._values * x[self._column], self._size)
        return np.asarray(sums, dtype=np.float64)

    def slopes(self, kind: int, x: Floats) -> Floats:
        return _loss_slopes(kind, self.products(x), self.labels)

    def add(self, weights: Floats, g: Floats) -> None:
        _check_sizes(self._d, g)
        if self._shape == 2:
            g += weights @ self._values
        else:
            g += np.bincount(self._column, weights[self._row] * self._values, self._d)


def _regulariser_slopes(alpha: float, x: Floats) -> Floats:
    q = 1.0 + x * x
    return np.asarray(2.0 * alpha * x / (q * q))


def _select_all_rows(data: loop_inputs.RowData) -> _RowSelection:
    return _RowSelection(data, np.arange(data.labels.size))


def total_loss(kind: int, data: loop_inputs.RowData, x: Floats) -> float:
    """As `linear.total_loss`."""
    rows = _select_all_rows(data)
    return float(_loss_values(kind, rows.products(x), rows.labels).sum())


def add_full_gradient(
    kind: int, data: loop_inputs.RowData, x: Floats, scale: float, g: Floats
) -> None:
    """As `linear.add_full_gradient`."""
    rows = _select_all_rows(data)
    rows.add(scale * rows.slopes(kind, x), g)


def write_curvatures(kind: int, data: loop_inputs.RowData, x: Floats, out: Floats) -> None:
    """As `linear.write_curvatures`."""
    rows = _select_all_rows(data)
    out[:] = _loss_curvatures(kind, rows.products(x), rows.labels)


def write_slopes(
    kind: int, data: loop_inputs.RowData, indices: Integers, x: Floats, out: Floats
) -> None:
    """As `linear.write_slopes`."""
    out[:] = _RowSelection(data, indices).slopes(kind, x)


def write_mean_gradient(kind: int, data: loop_inputs.RowData, alpha: float, *args: Any) -> None:
    """As `linear.write_mean_gradient`."""
    *sample, x, g = args
    rows = _RowSelection(data, sample[0])
    slopes = rows.slopes(kind, x)
    g[:] = _regulariser_slopes(alpha, x)
    rows.add(_sample_weights(*sample) * slopes, g)


def write_mean_difference(kind: int, data: loop_inputs.RowData, alpha: float, *args: Any) -> None:
    """As `linear.write_mean_difference`."""
    *sample, x, y, g = args
    rows = _RowSelection(data, sample[0])
    changes = rows.slopes(kind, x) - rows.slopes(kind, y)
    g[:] = _regulariser_slopes(alpha, x) - _regulariser_slopes(alpha, y)
    rows.add(_sample_weights(*sample) * changes, g)


def add_changes_from_stored_slopes(kind: int, data: loop_inputs.RowData, *args: Any) -> None:
    """As `linear.add_changes_from_stored_slopes`."""
    *sample, stored, x, g = args
    rows = _RowSelection(data, sample[0])
    rows.add(_sample_weights(*sample) * (rows.slopes(kind, x) - stored[sample[0]]), g)


def replace_slopes(kind: int, data: loop_inputs.RowData, *args: Any) -> None:
    """As `linear.replace_slopes`."""
    *sample, stored, x, g, mean = args
    add_changes_from_stored_slopes(kind, data, *sample, stored, x, g)
    distinct = np.unique(sample[0])
    rows = _RowSelection(data, distinct)
    slopes = rows.slopes(kind, x)
    rows.add(1.0 / data.labels.size * (slopes - stored[distinct]), mean)
    stored[distinct] = slopes


def add_hessian_vector_products(data: loop_inputs.RowData, *args: Any) -> None:
    """As `linear.add_hessian_vector_products`."""
    *sample, curvature_at, v, g = args
    rows = _RowSelection(data, sample[0])
    rows.add(_sample_weights(*sample) * curvature_at[sample[0]] * rows.products(v), g)


# --- separate tasks -------------------------------------------------------------------------------


def _sigmoid(z: Floats) -> Floats:
    return np.exp(-np.logaddexp(0.0, -z))


def _inner_products_times_scale(
    rows: loop_inputs.TaskData, indices: Integers, theta: Floats
) -> Floats:
    """Return c z of some rows."""
    t = rows.task[indices]
    z = np.einsum("ij,ij->i", rows.values[indices], theta[t]) + rows.offsets[t]
    return np.asarray(rows.signs[indices] * z)


def _task_slopes(rows: loop_inputs.TaskData, indices: Integers, theta: Floats) -> Floats:
    z = _inner_products_times_scale(rows, indices, theta)
    return np.asarray(2.0 * rows.signs[indices] * _sigmoid(z) ** 2 * _sigmoid(-z))


def task_loss(t: int, rows: loop_inputs.TaskData, theta: Floats) -> float:
    """As `multitask_kernels.task_loss`."""
    indices = np.arange(rows.bounds[t], rows.bounds[t + 1])
    return float((_sigmoid(_inner_products_times_scale(rows, indices, theta)) ** 2).sum())


def add_task_gradient(
    t: int, rows: loop_inputs.TaskData, theta: Floats, scale: float, g: Floats
) -> None:
    """As `multitask_kernels.add_task_gradient`."""
    indices = np.arange(rows.bounds[t], rows.bounds[t + 1])
    g[t] += scale * _task_slopes(rows, indices, theta) @ rows.values[indices]


def write_task_slopes(
    rows: loop_inputs.TaskData, indices: Integers, theta: Floats, out: Floats
) -> None:
    """As `multitask_kernels.write_slopes`."""
    _check_indices(indices, rows.task.size)
    out[:] = _task_slopes(rows, indices, theta)


def write_task_curvatures(
    rows: loop_inputs.TaskData, indices: Integers, theta: Floats, out: Floats
) -> None:
    """As `multitask_kernels.write_curvatures`."""
    _check_indices(indices, rows.task.size)
    z = _inner_products_times_scale(rows, indices, theta)
    s = _sigmoid(z)
    out[:] = 2.0 * s * s * _sigmoid(-z) * (2.0 - 3.0 * s)


def write_task_products(
    rows: loop_inputs.TaskData, indices: Integers, theta: Floats, out: Floats
) -> None:
    """As `multitask_kernels.write_products`."""
    _check_indices(indices, rows.task.size)
    out[:] = np.einsum("ij,ij->i", rows.values[indices], theta[rows.task[indices]])


def add_task_rows(
    rows: loop_inputs.TaskData, indices: Integers, weights: Floats, g: Floats
) -> None:
    """As `multitask_kernels.add_rows`."""
    _check_indices(indices, rows.task.size)
    np.add.at(g, rows.task[indices], weights[:, None] * rows.values[indices])


def add_task_gradients(
    rows: loop_inputs.TaskData, indices: Integers, weights: Floats, theta: Floats, g: Floats
) -> None:
    """As `multitask_kernels.add_gradients`."""
    _check_indices(indices, rows.task.size)
    add_task_rows(rows, indices, weights * _task_slopes(rows, indices, theta), g)


def add_task_differences(
    rows: loop_inputs.TaskData, indices: Integers, weights: Floats, x: Floats, y: Floats, g: Floats
) -> None:
    """As `multitask_kernels.add_differences`."""
    _check_indices(indices, rows.task.size)
    changes = _task_slopes(rows, indices, x) - _task_slopes(rows, indices, y)
    add_task_rows(rows, indices, weights * changes, g)


# --- sensing matrices -----------------------------------------------------------------------------


def write_sensing_products(first: int, last: int, *args: Any) -> None:
    """As `sensing_kernels.write_products`."""
    rows, indices, x, out = args
    out[first:last] = rows[indices[first:last]] @ x


def add_weighted_residual_rows(
    first: int, last: int, sampled: loop_inputs.SampledRows, x: Floats, g: Floats
) -> None:
    """As `sensing_kernels.add_weighted_residual_rows`."""
    rows = sampled.rows[sampled.indices[first:last]]
    residuals = rows @ x - sampled.targets[first:last]
    g += (sampled.weights[first:last] * residuals) @ rows


def add_sensing_rows(rows: Any, indices: Integers, weights: Floats, g: Floats) -> None:
    """As `sensing_kernels.add_rows`."""
    g += weights @ rows[indices]


def replace_sensing_slopes(rows: Any, indices: Integers, changes: Floats, *args: Any) -> None:
    """As `sensing_kernels.replace_slopes`."""
    slopes, stored, g, mean = args
    g += changes @ rows[indices]
    distinct, first = np.unique(indices, return_index=True)
    mean += 1.0 / stored.size * (slopes[first] - stored[distinct]) @ rows[distinct]
    stored[distinct] = slopes[first]
