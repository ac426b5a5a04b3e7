"""Loops over the rows of several tasks for the loss (y - 1/(1 + exp(z)))^2, z = <a, theta_t> + b_t.

With s = 1/(1 + exp(-c z)), c = 1 for y = 1 and c = -1 for y = 0, the loss is s^2. The parameters
are read as one contiguous row for each task (the transpose of Theta), and the full passes read each
row of the data once.
"""

import math

from pfbench.base.arrays import Floats, Integers
from pfbench.kernels import plain
from pfbench.kernels.compiled import (
    checked,
    compiled,
    compiled_parallel,
    compiled_vector,
    prange,
    without_numba,
)
from pfbench.kernels.forms import Tasks
from pfbench.kernels.linear import dense_dot as dot


@compiled
def sigmoid(z: float) -> float:
    """Return 1/(1 + exp(-z))."""
    if z >= 0.0:
        return 1.0 / (1.0 + math.exp(-z))
    e = math.exp(z)
    return e / (1.0 + e)


@compiled
def slope(z: float, c: float) -> float:
    """Return the first derivative of s^2 in z: 2 c s^2 (1 - s)."""
    s = sigmoid(c * z)
    return 2.0 * c * s * s * sigmoid(-c * z)


@compiled
def curvature(z: float, c: float) -> float:
    """Return the second derivative of s^2 in z: 2 s^2 (1 - s) (2 - 3 s)."""
    s = sigmoid(c * z)
    return 2.0 * s * s * sigmoid(-c * z) * (2.0 - 3.0 * s)


@compiled_vector
def add(a: Floats, weight: float, g: Floats) -> None:
    """Add weight * a to g."""
    for j in range(a.size):
        g[j] += weight * a[j]


# --- full passes ----------------------------------------------------------------------------------


@without_numba(plain.task_loss)
@compiled
def task_loss(t: int, rows: Tasks, theta: Floats) -> float:
    """Return the sum of the losses of task t."""
    total = 0.0
    for i in range(rows.bounds[t], rows.bounds[t + 1]):
        s = sigmoid(rows.signs[i] * (dot(rows.values[i], theta[t]) + rows.offsets[t]))
        total += s * s
    return total


@without_numba(plain.task_gradient)
@compiled
def task_gradient(t: int, rows: Tasks, theta: Floats, scale: float, g: Floats) -> None:
    """Add scale times the gradient of the losses of task t to its row of g."""
    for i in range(rows.bounds[t], rows.bounds[t + 1]):
        a = rows.values[i]
        add(a, scale * slope(dot(a, theta[t]) + rows.offsets[t], rows.signs[i]), g[t])


@compiled
def losses_serial(rows: Tasks, theta: Floats, out: Floats) -> None:
    """Write the sum of the losses of every task to out, shape (m,)."""
    for t in range(out.size):
        out[t] = task_loss(t, rows, theta)


@compiled_parallel
def losses_parallel(rows: Tasks, theta: Floats, out: Floats) -> None:
    """As `losses_serial`, the tasks shared among the threads; the bits are the same."""
    for t in prange(out.size):
        out[t] = task_loss(t, rows, theta)


@compiled
def gradient_serial(rows: Tasks, theta: Floats, scale: float, g: Floats) -> None:
    """Add scale times the gradient of all losses to g, shape (m, d)."""
    for t in range(g.shape[0]):
        task_gradient(t, rows, theta, scale, g)


@compiled_parallel
def gradient_parallel(rows: Tasks, theta: Floats, scale: float, g: Floats) -> None:
    """As `gradient_serial`, the tasks shared among the threads; the bits are the same."""
    for t in prange(g.shape[0]):
        task_gradient(t, rows, theta, scale, g)


# --- samples --------------------------------------------------------------------------------------


@without_numba(plain.task_slopes_at)
@compiled
def slopes_at(rows: Tasks, indices: Integers, theta: Floats, out: Floats) -> None:
    """Write the first derivative of each sampled loss to out, shape (k,)."""
    for s in range(indices.size):
        i = checked(indices[s], rows.task.size)
        t = rows.task[i]
        out[s] = slope(dot(rows.values[i], theta[t]) + rows.offsets[t], rows.signs[i])


@without_numba(plain.add_task_gradients)
@compiled
def add_gradients(
    rows: Tasks, indices: Integers, weights: Floats, theta: Floats, g: Floats
) -> None:
    """Add each sampled gradient, times its weight, to its task's row of g, shape (m, d)."""
    for s in range(indices.size):
        i = checked(indices[s], rows.task.size)
        t, a = rows.task[i], rows.values[i]
        z = dot(a, theta[t]) + rows.offsets[t]
        add(a, weights[s] * slope(z, rows.signs[i]), g[t])


@without_numba(plain.add_task_differences)
@compiled
def add_differences(
    rows: Tasks, indices: Integers, weights: Floats, theta: Floats, other: Floats, g: Floats
) -> None:
    """As `add_gradients` with the differences of gradients at two points; each row is read once."""
    for s in range(indices.size):
        i = checked(indices[s], rows.task.size)
        t, a, c = rows.task[i], rows.values[i], rows.signs[i]
        at_theta = slope(dot(a, theta[t]) + rows.offsets[t], c)
        at_other = slope(dot(a, other[t]) + rows.offsets[t], c)
        add(a, weights[s] * (at_theta - at_other), g[t])


@without_numba(plain.task_curvatures_at)
@compiled
def curvatures_at(rows: Tasks, indices: Integers, theta: Floats, out: Floats) -> None:
    """Write the second derivative of each sampled loss to out, shape (k,)."""
    for s in range(indices.size):
        i = checked(indices[s], rows.task.size)
        t = rows.task[i]
        out[s] = curvature(dot(rows.values[i], theta[t]) + rows.offsets[t], rows.signs[i])


@without_numba(plain.task_products_at)
@compiled
def products_at(rows: Tasks, indices: Integers, theta: Floats, out: Floats) -> None:
    """Write <a_i, theta_t> of each sampled row to out, shape (k,)."""
    for s in range(indices.size):
        i = checked(indices[s], rows.task.size)
        out[s] = dot(rows.values[i], theta[rows.task[i]])


@without_numba(plain.add_task_rows)
@compiled
def add_rows(rows: Tasks, indices: Integers, weights: Floats, g: Floats) -> None:
    """Add each sampled row, times its weight, to its task's row of g, shape (m, d)."""
    for s in range(indices.size):
        i = checked(indices[s], rows.task.size)
        add(rows.values[i], weights[s], g[rows.task[i]])
