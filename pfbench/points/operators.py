"""Implicit matrices: operators for linear minimisation over spectral sets."""

import math
from typing import Any, Protocol

import numpy as np

from pfbench.base.arrays import Floats
from pfbench.kernels.observed_entries import (
    golub_kahan_sweep_parallel,
    golub_kahan_sweep_rows,
    inner_with_rank_one_parallel,
    inner_with_rank_one_rows,
)
from pfbench.points.atoms import Atoms, Factors, RankOne, nonzero_weight_factors
from pfbench.points.factored import FactoredMatrix
from pfbench.points.pattern import Pattern

_NEAR = 1e-4
"""Relative size below which a squared distance would cancel if computed as a sum."""

SquaredNorm = float  # the squared Euclidean norm of a vector


class LinearOperator(Protocol):
    """Interface of an M x N matrix G, as the Golub-Kahan-Lanczos algorithm uses it."""

    @property
    def shape(self) -> tuple[int, int]:
        """Shape (M, N) of the matrix."""

    def write_golub_kahan_products(
        self, v: Floats, previous: Floats, beta: float, u: Floats, y: Floats
    ) -> SquaredNorm:
        """Write ``u = G v - beta * previous`` and ``y = G' u`` for this matrix G; return |u|^2."""

    def inner(self, vertex: RankOne) -> float:
        """Return the inner product of this matrix and a vertex."""

    def scale(self, factor: float) -> "LinearOperator":
        """Return this matrix times `factor`, as an operator."""

    def magnitude(self) -> float:
        """Return the approximate size of the largest entry; 0 only for the zero matrix."""

    def dense(self) -> Floats:
        """Return this matrix as an array, shape (M, N)."""


class DenseOperator:
    """Dense matrix, an array of shape (M, N)."""

    def __init__(self, array: Floats) -> None:
        self.array = array
        self.shape: tuple[int, int] = (array.shape[0], array.shape[1])

    def write_golub_kahan_products(
        self, v: Floats, previous: Floats, beta: float, u: Floats, y: Floats
    ) -> SquaredNorm:
        """Write ``u = G v - beta * previous`` and ``y = G' u`` for this matrix G; return |u|^2."""
        np.matmul(self.array, v, out=u)
        u -= beta * previous
        np.matmul(u, self.array, out=y)
        return float(u @ u)

    def inner(self, vertex: RankOne) -> float:
        """Return the inner product of this matrix and a vertex."""
        return vertex.scale * float(vertex.u @ (self.array @ vertex.v))

    def scale(self, factor: float) -> "DenseOperator":
        """Return this matrix times `factor`, as an operator."""
        return DenseOperator(factor * self.array)

    def magnitude(self) -> float:
        """Return the largest absolute value of an entry."""
        return float(np.abs(self.array).max(initial=0.0))

    def dense(self) -> Floats:
        """Return this matrix as an array, shape (M, N)."""
        return self.array


class SparseOperator:
    """Sparse matrix with the entries g, shape (n,), at the n positions of a pattern."""

    def __init__(self, pattern: Pattern, g: Floats) -> None:
        self.pattern = pattern
        self.g = g
        self.shape: tuple[int, int] = pattern.shape

    def write_golub_kahan_products(
        self, v: Floats, previous: Floats, beta: float, u: Floats, y: Floats
    ) -> SquaredNorm:
        """Write ``u = G v - beta * previous`` and ``y = G' u`` for this matrix G; return |u|^2."""
        y[:] = 0.0
        value = self.pattern.rows, self.g, v, previous, beta, u, y
        return float(
            self.pattern.run_loop(golub_kahan_sweep_rows, golub_kahan_sweep_parallel, *value)
        )

    def inner(self, vertex: RankOne) -> float:
        """Return the inner product of this matrix and a vertex."""
        value = self.pattern.rows, self.g, vertex.u, vertex.v
        return vertex.scale * float(
            self.pattern.run_loop(inner_with_rank_one_rows, inner_with_rank_one_parallel, *value)
        )

    def scale(self, factor: float) -> "SparseOperator":
        """Return this matrix times `factor`, as an operator."""
        return SparseOperator(self.pattern, factor * self.g)

    def magnitude(self) -> float:
        """Return the largest absolute value of an entry."""
        return float(np.abs(self.g).max())

    def dense(self) -> Floats:
        """Return this matrix as an array, shape (M, N)."""
        array = np.zeros(self.shape)
        array[self.pattern.row_numbers(), self.pattern.rows.indices] = self.g
        return array


class TiltedOperator:
    """Matrix ``G + c (X - U)``, for a sparse matrix G, a number c, and the values X, U of points.

    If both points share their list of atoms, the operator stores that list and the weights of c (X
    - U). Otherwise it stores the atoms of both points, the weights of U, and c.
    """

    def __init__(
        self,
        sparse: SparseOperator,
        factors: Factors,
        shared_atoms: Any = None,
        separate_atoms: Any = None,
    ) -> None:
        self.sparse, self.pattern, self.factors = sparse, sparse.pattern, factors
        self.shape: tuple[int, int] = sparse.shape
        self._shared_atoms: tuple[Atoms, Floats] | None = shared_atoms
        self._separate_atoms: tuple[Atoms, Atoms, Floats, float] | None = separate_atoms

    @classmethod
    def from_points(
        cls, sparse: SparseOperator, x: FactoredMatrix, u: FactoredMatrix, c: float
    ) -> "TiltedOperator":
        """Return ``G + c (X - U)`` for a sparse matrix G and two factored points X and U."""
        shared = _match_atoms(x, u, c, -c)
        if shared is not None:
            return cls(sparse, nonzero_weight_factors(*shared), shared)
        distance = (x.atoms_and_weights()[0], *u.atoms_and_weights(), c)
        return cls(sparse, combine_factors(x, u, c, -c), separate_atoms=distance)

    def gap_and_distance(self, x: FactoredMatrix, vertex: RankOne) -> tuple[float, float] | None:
        """Return <A, x - vertex> for this operator A, and the distance of x and the vertex.

        The values are those of `inner` and `inner_point`, computed from cached products of atoms.
        Return None if x is not X, or is so near to the vertex that the distance would cancel.
        """
        atoms, weights = x.atoms_and_weights()
        count, scale = len(weights), vertex.scale
        if self._shared_atoms is not None and self._shared_atoms[0] is atoms:
            tilted = self._shared_atoms[1]
            k = max(len(tilted), count)
            products = atoms.products_with_rank_one(vertex.u, vertex.v, k)
            image = atoms.gram(k)[:, :count] @ weights
            low_at_x = float(tilted @ image[: len(tilted)])
            low_at_vertex = scale * float(tilted @ products[: len(tilted)])
        elif self._separate_atoms is not None and self._separate_atoms[0] is atoms:
            _, rest, others_weights, c = self._separate_atoms
            products = atoms.products_with_rank_one(vertex.u, vertex.v, count)
            image = atoms.gram(count) @ weights
            met = atoms.products_with_weighted_sum(rest, others_weights, count)
            low_at_x = c * float(weights @ (image - met))
            low_at_vertex = self._inner_of_tilt_part(vertex)
        else:
            return None
        between = scale * float(weights @ products[:count])
        size = scale**2 * float((vertex.u @ vertex.u) * (vertex.v @ vertex.v))
        square = float(weights @ image[:count]) - 2.0 * between + size
        if not square > _NEAR * size:
            return None
        at_x = float(self.sparse.g @ x.values()) + low_at_x
        return at_x - (self.sparse.inner(vertex) + low_at_vertex), math.sqrt(square)

    def write_golub_kahan_products(
        self, v: Floats, previous: Floats, beta: float, u: Floats, y: Floats
    ) -> SquaredNorm:
        """Write ``u = A v - beta * previous`` and ``y = A' u`` for this matrix A; return |u|^2."""
        weights, left, right = self.factors
        # The sparse sweep scatters G'(G v - beta p); the low-rank part of u is added after it.
        low = (weights * (right @ v)) @ left
        shifted = previous - low / beta if beta else -low
        self.sparse.write_golub_kahan_products(v, shifted, beta if beta else 1.0, u, y)
        y += (weights * (left @ u)) @ right
        return float(u @ u)

    def inner(self, vertex: RankOne) -> float:
        """Return the inner product of this operator and a vertex."""
        return self.sparse.inner(vertex) + self._inner_of_tilt_part(vertex)

    def _inner_of_tilt_part(self, vertex: RankOne) -> float:
        """Return the inner product of a vertex and the part c (X - U) of this operator."""
        weights, left, right = self.factors
        return vertex.scale * float(weights @ ((left @ vertex.u) * (right @ vertex.v)))

    def inner_point(self, x: FactoredMatrix) -> float:
        """Return the inner product of this operator and a point x."""
        weights, left, right = self.factors
        own = x.factors()
        gram = (left @ own.left.T) * (right @ own.right.T)
        return float(self.sparse.g @ x.values()) + float(weights @ gram @ own.weights)

    def scale(self, factor: float) -> "TiltedOperator":
        """Return this operator times `factor`."""
        weights, left, right = self.factors
        return TiltedOperator(self.sparse.scale(factor), Factors(factor * weights, left, right))

    def magnitude(self) -> float:
        """Return the larger of the sparse part's magnitude and the largest absolute atom weight."""
        return max(self.sparse.magnitude(), float(np.abs(self.factors.weights).max(initial=0.0)))

    def dense(self) -> Floats:
        """Return this operator as an array, shape (M, N)."""
        weights, left, right = self.factors
        return np.asarray(self.sparse.dense() + (left * weights[:, None]).T @ right)


def combine_factors(x: FactoredMatrix, y: FactoredMatrix, a: float, b: float) -> Factors:
    """Return the factors of ``a x + b y``; atoms that both points share are merged."""
    shared = _match_atoms(x, y, a, b)
    if shared is not None:
        return nonzero_weight_factors(*shared)
    factors, other = x.factors(), y.factors()
    return Factors(
        np.concatenate([a * factors.weights, b * other.weights]),
        np.concatenate([factors.left, other.left]),
        np.concatenate([factors.right, other.right]),
    )


def _match_atoms(
    x: FactoredMatrix, y: FactoredMatrix, a: float, b: float
) -> tuple[Atoms, Floats] | None:
    """Return the atoms of ``a x + b y`` and their weights; None if x and y share no atoms."""
    (x_atoms, x_weights), (y_atoms, y_weights) = x.atoms_and_weights(), y.atoms_and_weights()
    if x_atoms is not y_atoms:
        return None
    weights = np.zeros(max(len(x_weights), len(y_weights)))
    weights[: len(x_weights)] += a * x_weights
    weights[: len(y_weights)] += b * y_weights
    return x_atoms, weights
