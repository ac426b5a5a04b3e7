"""Loops over the rows of several tasks, loss (y - 1/(1 + exp(z)))^2, z = <a, theta_t> + b_t.

With s = 1/(1 + exp(-c z)), c = 1 for y = 1 and c = -1 for y = 0, the loss is s^2. The parameters
are read as one contiguous row for each task (the transpose of Theta). A pass over all data reads
each row once.
"""

import math
from typing import NamedTuple

from pfbench.base.arrays import Floats, Integers
from pfbench.kernels.linear import dense_dot as dot
from pfbench.kernels.numba_compilation import (
    check_index,
    compile_parallel,
    compile_reordering_sums,
    compile_serial,
    prange,
)


class TaskData(NamedTuple):
    """Data rows of all tasks; the rows of a task are contiguous.

    Attributes
    ----------
    values
        Rows a_i, shape (n, d).
    signs
        c_i, +1 or -1, shape (n,).
    task
        The task of each row, shape (n,), not decreasing.
    bounds
        Task t has the rows from bounds[t] to bounds[t + 1]; shape (m + 1,).
    offsets
        b_t, shape (m,).
    """

    values: Floats
    signs: Floats
    task: Integers
    bounds: Integers
    offsets: Floats


@compile_serial
def sigmoid(z: float) -> float:
    """Return 1/(1 + exp(-z))."""
    if z >= 0.0:
        return 1.0 / (1.0 + math.exp(-z))
    e = math.exp(z)
    return e / (1.0 + e)


@compile_serial
def slope(z: float, c: float) -> float:
    """Return 2 c s^2 (1 - s), the derivative of s^2 with respect to z, where s = sigmoid(c z)."""
    s = sigmoid(c * z)
    return 2.0 * c * s * s * sigmoid(-c * z)


@compile_serial
def curvature(z: float, c: float) -> float:
    """Return 2 s^2 (1 - s) (2 - 3 s), the second derivative of s^2 by z, where s = sigmoid(c z)."""
    s = sigmoid(c * z)
    return 2.0 * s * s * sigmoid(-c * z) * (2.0 - 3.0 * s)


@compile_reordering_sums
def add_multiple_to_g(a: Floats, weight: float, g: Floats) -> None:
    """Add weight * a to g, in place."""
    for j in range(a.size):
        g[j] += weight * a[j]


# --- full passes ----------------------------------------------------------------------------------


@compile_serial
def task_loss(t: int, rows: TaskData, theta: Floats) -> float:
    """Return the sum of the losses of the rows of task t."""
    total = 0.0
    for i in range(rows.bounds[t], rows.bounds[t + 1]):
        s = sigmoid(rows.signs[i] * (dot(rows.values[i], theta[t]) + rows.offsets[t]))
        total += s * s
    return total


@compile_serial
def add_task_gradient(t: int, rows: TaskData, theta: Floats, scale: float, g: Floats) -> None:
    """Add scale times the gradient of the losses of task t to row t of g."""
    for i in range(rows.bounds[t], rows.bounds[t + 1]):
        a = rows.values[i]
        add_multiple_to_g(a, scale * slope(dot(a, theta[t]) + rows.offsets[t], rows.signs[i]), g[t])


@compile_serial
def write_task_losses_serial(rows: TaskData, theta: Floats, out: Floats) -> None:
    """Write the sum of the losses of each of m tasks to out, shape (m,)."""
    for t in range(out.size):
        out[t] = task_loss(t, rows, theta)


@compile_parallel
def write_task_losses_parallel(rows: TaskData, theta: Floats, out: Floats) -> None:
    """Parallel `write_task_losses_serial` with equal results: threads share the tasks."""
    for t in prange(out.size):
        out[t] = task_loss(t, rows, theta)


@compile_serial
def add_gradient_serial(rows: TaskData, theta: Floats, scale: float, g: Floats) -> None:
    """Add scale times the gradient of all losses to g, which has one row for each task."""
    for t in range(g.shape[0]):
        add_task_gradient(t, rows, theta, scale, g)


@compile_parallel
def add_gradient_parallel(rows: TaskData, theta: Floats, scale: float, g: Floats) -> None:
    """Parallel version of `add_gradient_serial` with equal results: threads share the tasks."""
    for t in prange(g.shape[0]):
        add_task_gradient(t, rows, theta, scale, g)


# --- samples --------------------------------------------------------------------------------------


@compile_serial
def write_slopes(rows: TaskData, indices: Integers, theta: Floats, out: Floats) -> None:
    """Write the first derivative of the loss of each of k sampled rows to out, shape (k,)."""
    for s in range(indices.size):
        i = check_index(indices[s], rows.task.size)
        t = rows.task[i]
        out[s] = slope(dot(rows.values[i], theta[t]) + rows.offsets[t], rows.signs[i])


@compile_serial
def add_gradients(
    rows: TaskData, indices: Integers, weights: Floats, theta: Floats, g: Floats
) -> None:
    """Add weight * gradient of each sampled loss to its task's row of g."""
    for s in range(indices.size):
        i = check_index(indices[s], rows.task.size)
        t, a = rows.task[i], rows.values[i]
        z = dot(a, theta[t]) + rows.offsets[t]
        add_multiple_to_g(a, weights[s] * slope(z, rows.signs[i]), g[t])


@compile_serial
def add_differences(
    rows: TaskData, indices: Integers, weights: Floats, theta: Floats, other: Floats, g: Floats
) -> None:
    """Add weight * (gradient at theta - gradient at other) of each sampled loss to its row of g."""
    for s in range(indices.size):
        i = check_index(indices[s], rows.task.size)
        t, a, c = rows.task[i], rows.values[i], rows.signs[i]
        at_theta = slope(dot(a, theta[t]) + rows.offsets[t], c)
        at_other = slope(dot(a, other[t]) + rows.offsets[t], c)
        add_multiple_to_g(a, weights[s] * (at_theta - at_other), g[t])


@compile_serial
def write_curvatures(rows: TaskData, indices: Integers, theta: Floats, out: Floats) -> None:
    """Write the second derivative of the loss of each of k sampled rows to out, shape (k,)."""
    for s in range(indices.size):
        i = check_index(indices[s], rows.task.size)
        t = rows.task[i]
        out[s] = curvature(dot(rows.values[i], theta[t]) + rows.offsets[t], rows.signs[i])


@compile_serial
def write_products(rows: TaskData, indices: Integers, theta: Floats, out: Floats) -> None:
    """Write to `out` the products <a_i, theta_t> of k sampled rows a_i, with row i's task t."""
    for s in range(indices.size):
        i = check_index(indices[s], rows.task.size)
        out[s] = dot(rows.values[i], theta[rows.task[i]])


@compile_serial
def add_rows(rows: TaskData, indices: Integers, weights: Floats, g: Floats) -> None:
    """Add weight * a_i for each sampled row i to its task's row of g."""
    for s in range(indices.size):
        i = check_index(indices[s], rows.task.size)
        add_multiple_to_g(rows.values[i], weights[s], g[rows.task[i]])
