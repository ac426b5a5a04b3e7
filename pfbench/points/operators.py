"""Matrices that are never formed: what the linear minimisation over spectral sets multiplies by."""

from typing import Protocol

import numpy as np

from pfbench.base.arrays import Floats
from pfbench.kernels.observed import inner_parallel, inner_rows, normal_parallel, normal_rows
from pfbench.points.factored import Factored, Factors
from pfbench.points.pattern import Pattern
from pfbench.points.vertices import RankOne


class Operator(Protocol):
    """An M x N matrix G as Golub-Kahan-Lanczos uses it."""

    @property
    def shape(self) -> tuple[int, int]:
        """(M, N)."""

    def normal_step(self, v: Floats, previous: Floats, beta: float, u: Floats, y: Floats) -> float:
        """Write ``u = G v - beta * previous`` and ``y = G' u``; return the sum of squares of u."""

    def inner(self, vertex: RankOne) -> float:
        """Return <G, vertex>."""

    def scaled(self, factor: float) -> "Operator":
        """Return factor * G."""

    def largest(self) -> float:
        """Return a number that is 0 only for G = 0 and of the order of G's largest entry."""

    def dense(self) -> Floats:
        """Return G itself, shape (M, N)."""


class DenseOperator:
    """A matrix given as an array of shape (M, N)."""

    def __init__(self, array: Floats) -> None:
        self.array = array
        self.shape: tuple[int, int] = (array.shape[0], array.shape[1])

    def normal_step(self, v: Floats, previous: Floats, beta: float, u: Floats, y: Floats) -> float:
        """See `Operator`."""
        np.matmul(self.array, v, out=u)
        u -= beta * previous
        np.matmul(u, self.array, out=y)
        return float(u @ u)

    def inner(self, vertex: RankOne) -> float:
        """See `Operator`."""
        return vertex.scale * float(vertex.u @ (self.array @ vertex.v))

    def scaled(self, factor: float) -> "DenseOperator":
        """See `Operator`."""
        return DenseOperator(factor * self.array)

    def largest(self) -> float:
        """See `Operator`."""
        return float(np.abs(self.array).max(initial=0.0))

    def dense(self) -> Floats:
        """See `Operator`."""
        return self.array


class SparseOperator:
    """A sparse matrix with values g, shape (n,), on an observed pattern."""

    def __init__(self, pattern: Pattern, g: Floats) -> None:
        self.pattern = pattern
        self.g = g
        self.shape: tuple[int, int] = pattern.shape

    def normal_step(self, v: Floats, previous: Floats, beta: float, u: Floats, y: Floats) -> float:
        """See `Operator`."""
        y[:] = 0.0
        given = self.pattern.rows, self.g, v, previous, beta, u, y
        return float(self.pattern.run(normal_rows, normal_parallel, *given))

    def inner(self, vertex: RankOne) -> float:
        """See `Operator`."""
        given = self.pattern.rows, self.g, vertex.u, vertex.v
        return vertex.scale * float(self.pattern.run(inner_rows, inner_parallel, *given))

    def scaled(self, factor: float) -> "SparseOperator":
        """See `Operator`."""
        return SparseOperator(self.pattern, factor * self.g)

    def largest(self) -> float:
        """See `Operator`."""
        return float(np.abs(self.g).max())

    def dense(self) -> Floats:
        """See `Operator`."""
        array = np.zeros(self.shape)
        array[self.pattern.row_numbers(), self.pattern.rows.indices] = self.g
        return array


class TiltedOperator:
    """The matrix ``G + c (X - U)`` for a sparse G and two factored points, taken as they stand."""

    def __init__(self, sparse: SparseOperator, factors: Factors) -> None:
        self.sparse, self.pattern, self.factors = sparse, sparse.pattern, factors
        self.shape: tuple[int, int] = sparse.shape

    def normal_step(self, v: Floats, previous: Floats, beta: float, u: Floats, y: Floats) -> float:
        """See `Operator`."""
        weights, left, right = self.factors
        # The sparse sweep scatters G'(G v - beta p); the low-rank part of u is added after it.
        low = (weights * (right @ v)) @ left
        shifted = previous - low / beta if beta else -low
        self.sparse.normal_step(v, shifted, beta if beta else 1.0, u, y)
        y += (weights * (left @ u)) @ right
        return float(u @ u)

    def inner(self, vertex: RankOne) -> float:
        """See `Operator`."""
        weights, left, right = self.factors
        low = float(weights @ ((left @ vertex.u) * (right @ vertex.v)))
        return self.sparse.inner(vertex) + vertex.scale * low

    def inner_point(self, x: Factored) -> float:
        """Return <G + c (X - U), x>."""
        weights, left, right = self.factors
        own = x.factors()
        gram = (left @ own.left.T) * (right @ own.right.T)
        return float(self.sparse.g @ x.values()) + float(weights @ gram @ own.weights)

    def scaled(self, factor: float) -> "TiltedOperator":
        """See `Operator`."""
        weights, left, right = self.factors
        return TiltedOperator(self.sparse.scaled(factor), Factors(factor * weights, left, right))

    def largest(self) -> float:
        """See `Operator`."""
        return max(self.sparse.largest(), float(np.abs(self.factors.weights).max(initial=0.0)))

    def dense(self) -> Floats:
        """See `Operator`."""
        weights, left, right = self.factors
        return np.asarray(self.sparse.dense() + (left * weights[:, None]).T @ right)


def mixture(x: Factored, y: Factored, a: float, b: float) -> Factors:
    """Return the factors of ``a x + b y``; atoms that both points share are merged."""
    (x_atoms, x_weights), (y_atoms, y_weights) = x.atoms_and_weights(), y.atoms_and_weights()
    if x_atoms is y_atoms:
        weights = np.zeros(max(len(x_weights), len(y_weights)))
        weights[: len(x_weights)] += a * x_weights
        weights[: len(y_weights)] += b * y_weights
        used = np.flatnonzero(weights)
        return Factors(weights[used], x_atoms.left[used], x_atoms.right[used])
    mine, other = x.factors(), y.factors()
    return Factors(
        np.concatenate([a * mine.weights, b * other.weights]),
        np.concatenate([mine.left, other.left]),
        np.concatenate([mine.right, other.right]),
    )
