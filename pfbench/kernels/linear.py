"""Loops over the sparse rows of a data matrix for losses of the form phi(<a_i, x>; b_i).

Each loop reads a row once for all that is needed of it. The loss is chosen by a small number,
so that one compiled loop serves every loss.
"""

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from pfbench.base.arrays import Floats, Integers
from pfbench.kernels.compiled import checked, compiled, sized

LOGISTIC = 0
"""phi(z; b) = log(1 + exp(-b z))."""

ROBUST = 1
"""phi(z; b) = log(1 + (z - b)^2/2)."""

LOG_COSH = 2
"""phi(z; b) = log cosh(z - b)."""

SQUARE = 3
"""phi(z; b) = (z - b)^2/2."""


class Data(NamedTuple):
    """Rows a_i of length `columns` in CSR form and their labels b_i (shape (n,))."""

    indptr: npt.NDArray[np.uint32]
    indices: npt.NDArray[np.uint32]
    values: Floats
    labels: Floats
    columns: int


@compiled
def loss(kind: int, z: float, b: float) -> float:
    """Return phi(z; b)."""
    if kind == LOGISTIC:
        t = b * z
        return math.log1p(math.exp(-t)) if t > 0.0 else math.log1p(math.exp(t)) - t
    r = z - b
    if kind == ROBUST:
        return math.log1p(0.5 * r * r)
    if kind == LOG_COSH:
        return abs(r) + math.log1p(math.exp(-2.0 * abs(r))) - math.log(2.0)
    return 0.5 * r * r


@compiled
def slope(kind: int, z: float, b: float) -> float:
    """Return the first derivative of phi in z."""
    if kind == LOGISTIC:
        return -b / (1.0 + math.exp(b * z))
    r = z - b
    if kind == ROBUST:
        return r / (1.0 + 0.5 * r * r)
    if kind == LOG_COSH:
        return math.tanh(r)
    return r


@compiled
def curvature(kind: int, z: float, b: float) -> float:
    """Return the second derivative of phi in z."""
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


@compiled
def dot(data: Data, i: int, x: Floats) -> float:
    """Return <a_i, x>."""
    total = 0.0
    for k in range(data.indptr[i], data.indptr[i + 1]):
        total += data.values[k] * x[data.indices[k]]
    return total


@compiled
def add_row(data: Data, i: int, weight: float, g: Floats) -> None:
    """Add weight * a_i to g."""
    for k in range(data.indptr[i], data.indptr[i + 1]):
        g[data.indices[k]] += weight * data.values[k]


@compiled
def total_loss(kind: int, data: Data, x: Floats) -> float:
    """Return the sum of phi over all rows."""
    sized(x, data.columns)
    total = 0.0
    for i in range(data.labels.size):
        total += loss(kind, dot(data, i, x), data.labels[i])
    return total


@compiled
def add_full_gradient(kind: int, data: Data, x: Floats, scale: float, g: Floats) -> None:
    """Add scale * sum of all component gradients to g."""
    sized(x, data.columns)
    sized(g, data.columns)
    for i in range(data.labels.size):
        add_row(data, i, scale * slope(kind, dot(data, i, x), data.labels[i]), g)


@compiled
def slopes_at(kind: int, data: Data, indices: Integers, x: Floats, out: Floats) -> None:
    """Write phi'(<a_i, x>) of the given rows to out."""
    sized(x, data.columns)
    for s in range(indices.size):
        i = checked(indices[s], data.labels.size)
        out[s] = slope(kind, dot(data, i, x), data.labels[i])


@compiled
def add_rows(data: Data, indices: Integers, weights: Floats, g: Floats) -> None:
    """Add the weighted rows to g."""
    sized(g, data.columns)
    for s in range(indices.size):
        add_row(data, checked(indices[s], data.labels.size), weights[s], g)


@compiled
def curvatures(kind: int, data: Data, x: Floats, out: Floats) -> None:
    """Write phi''(<a_i, x>) of every row to out."""
    sized(x, data.columns)
    for i in range(data.labels.size):
        out[i] = curvature(kind, dot(data, i, x), data.labels[i])


@compiled
def add_gradients(
    kind: int, data: Data, indices: Integers, weights: Floats, x: Floats, g: Floats
) -> None:
    """Add the weighted component gradients of the sampled rows to g."""
    sized(x, data.columns)
    sized(g, data.columns)
    for s in range(indices.size):
        i = checked(indices[s], data.labels.size)
        add_row(data, i, weights[s] * slope(kind, dot(data, i, x), data.labels[i]), g)


@compiled
def add_differences(
    kind: int, data: Data, indices: Integers, weights: Floats, x: Floats, y: Floats, g: Floats
) -> None:
    """Add the weighted differences of component gradients at x and y to g; one read of each row."""
    sized(x, data.columns)
    sized(y, data.columns)
    sized(g, data.columns)
    for s in range(indices.size):
        i = checked(indices[s], data.labels.size)
        at_x = 0.0
        at_y = 0.0
        for k in range(data.indptr[i], data.indptr[i + 1]):
            j = data.indices[k]
            at_x += data.values[k] * x[j]
            at_y += data.values[k] * y[j]
        b = data.labels[i]
        add_row(data, i, weights[s] * (slope(kind, at_x, b) - slope(kind, at_y, b)), g)


@compiled
def add_curvature_products(
    data: Data, indices: Integers, weights: Floats, curvature_at: Floats, v: Floats, g: Floats
) -> None:
    """Add weights * curvature * a_i <a_i, v> over the sampled rows to g."""
    sized(v, data.columns)
    sized(g, data.columns)
    for s in range(indices.size):
        i = checked(indices[s], data.labels.size)
        add_row(data, i, weights[s] * curvature_at[i] * dot(data, i, v), g)
