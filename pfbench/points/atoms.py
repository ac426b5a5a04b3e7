"""Weighted sums of rank-one matrices, without any M x N array."""

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from pfbench.base.arrays import Floats, copy_with_more_rows
from pfbench.points.pattern import Pattern

_ATOM_BYTES = 1 << 28
"""Number of bytes of atoms above which an SVD recompresses them; see `max_atoms`."""


@dataclass(frozen=True, slots=True)
class RankOne(np.lib.mixins.NDArrayOperatorsMixin):
    """Matrix ``scale * outer(u, v)``: an extreme point of the nuclear-norm ball.

    For a problem with dense gradients, the object behaves as the dense array: ``lo(g) - x`` is an
    array.

    Attributes
    ----------
    u, v
        Unit vectors, shapes (M,) and (N,).
    scale
        A number whose absolute value is the nuclear norm of the matrix.
    pattern
        Pattern of the observed entries of gradients; None if gradients are dense matrices.
    """

    u: Floats
    v: Floats
    scale: float
    pattern: Pattern | None = None

    def matrix(self) -> Floats:
        """Return the dense matrix, shape (M, N)."""
        return self.scale * np.outer(self.u, self.v)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        """Return the dense matrix; raise TypeError unless the problem's points are arrays."""
        if self.pattern is not None:
            raise TypeError("vertices of factored points are not arrays: use combine(x, v, w)")
        return self.matrix() if dtype is None else self.matrix().astype(dtype)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **keywords: Any) -> Any:
        """Apply a ufunc to the dense matrix, if the problem's points are arrays."""
        if self.pattern is not None:
            return NotImplemented
        dense = [item.matrix() if isinstance(item, RankOne) else item for item in inputs]
        return getattr(ufunc, method)(*dense, **keywords)

    def __getattr__(self, name: str) -> Any:
        """Return an attribute of the dense matrix, e.g. `copy`, `ravel` or `T`.

        This requires a problem whose points are arrays.
        """
        if name.startswith("_") or self.pattern is not None:
            raise AttributeError(f"a vertex of rank one has no attribute {name}")
        return getattr(self.matrix(), name)

    def __getitem__(self, key: Any) -> Any:
        """Return entries of the dense matrix."""
        return self.matrix()[key]


class Factors(NamedTuple):
    """Factored matrix ``sum_k weights[k] * outer(left[k], right[k])``."""

    weights: Floats
    left: Floats
    right: Floats


class Atoms:
    """Append-only list of rank-one matrices, which several points share."""

    __slots__ = (
        "_gram",
        "_gram_size",
        "_previous_partner",
        "atom_count",
        "left",
        "newest",
        "right",
    )

    def __init__(self, shape: tuple[int, int], capacity: int = 16) -> None:
        self.left = np.empty((capacity, shape[0]))
        self.right = np.empty((capacity, shape[1]))
        self.atom_count = 0
        self.newest: RankOne | None = None
        self._gram, self._gram_size = np.empty((0, 0)), 0
        self._previous_partner: tuple[Atoms, Floats, Floats] | None = None

    def append(self, vertex: RankOne) -> int:
        """Add a vertex and return its index; the newest vertex is not added twice."""
        if vertex is self.newest:
            return self.atom_count - 1
        if self.atom_count == len(self.left):
            self.left = copy_with_more_rows(self.left, 2 * self.atom_count)
            self.right = copy_with_more_rows(self.right, 2 * self.atom_count)
        self.left[self.atom_count] = vertex.u
        self.right[self.atom_count] = vertex.v
        self.atom_count += 1
        self.newest = vertex
        return self.atom_count - 1

    def products_with_rank_one(self, u: Floats, v: Floats, count: int) -> Floats:
        """Return the inner products of the first `count` atoms with outer(u, v)."""
        return np.asarray((self.left[:count] @ u) * (self.right[:count] @ v))

    def gram(self, count: int) -> Floats:
        """Return the Gram matrix of the first `count` atoms, shape (count, count).

        The matrix is cached: a new atom costs only its inner products with the earlier ones.
        """
        if len(self._gram) < count:
            larger = np.empty((len(self.left), len(self.left)))
            larger[: self._gram_size, : self._gram_size] = self._gram[
                : self._gram_size, : self._gram_size
            ]
            self._gram = larger
        if self._gram_size < count:
            new = slice(self._gram_size, count)
            fresh = self.products_with_rank_one(self.left[new].T, self.right[new].T, count)
            self._gram[:count, new], self._gram[new, :count] = fresh, fresh.T
            self._gram_size = count
        return self._gram[:count, :count]

    def products_with_weighted_sum(self, other: "Atoms", weights: Floats, count: int) -> Floats:
        """Return the inner products of the first `count` atoms with a weighted sum of other atoms.

        S is the sum of the atoms of `other` with `weights`. The products are cached as long as S is
        unchanged, so that a new atom costs only its own product.
        """
        result = np.zeros(0)
        if (
            self._previous_partner is not None
            and self._previous_partner[0] is other
            and self._previous_partner[1] is weights
        ):
            result = self._previous_partner[2]
        if len(result) < count:
            new, k = slice(len(result), count), len(weights)
            fresh = other.products_with_rank_one(self.left[new].T, self.right[new].T, k)
            result = np.concatenate([result, weights @ fresh])
            self._previous_partner = other, weights, result
        return result[:count]


def max_atoms(shape: tuple[int, int]) -> int:
    """Return the number of atoms above which the atoms of an M x N point are compressed."""
    M, N = shape
    return max(64, min(2 * min(M, N), _ATOM_BYTES // (8 * (M + N))))


def nonzero_weight_factors(atoms: Atoms, weights: Floats) -> Factors:
    """Return the atoms of nonzero weight and their weights; without a copy if no weight is 0."""
    used = np.flatnonzero(weights)
    count = len(weights)
    if used.size == count:
        return Factors(weights, atoms.left[:count], atoms.right[:count])
    return Factors(weights[used], atoms.left[used], atoms.right[used])


def as_atoms(factors: Factors) -> tuple[Atoms, Floats]:
    """Return a new list of the atoms of a factored matrix, with their weights."""
    count = len(factors.weights)
    atoms = Atoms((factors.left.shape[1], factors.right.shape[1]), max(16, 2 * count))
    atoms.atom_count = count
    atoms.left[:count] = factors.left
    atoms.right[:count] = factors.right
    return atoms, np.array(factors.weights, dtype=np.float64)


def svd_of_factors(factors: Factors) -> Factors:
    """Return the singular value decomposition of a factored matrix, exact up to rounding.

    The cost is O((M + N) K^2) for K atoms; nothing of size M x N is formed.
    """
    left_basis, left_core = np.linalg.qr(factors.left.T)
    right_basis, right_core = np.linalg.qr(factors.right.T)
    p, s, qt = np.linalg.svd((left_core * factors.weights) @ right_core.T)
    rank = int(np.count_nonzero(s > 1e-15 * max(s[0], 1e-300))) if s.size else 0
    return Factors(s[:rank], (left_basis @ p[:, :rank]).T, (right_basis @ qt[:rank].T).T)


def nuclear_norm_upper_bound(factors: Factors) -> float:
    """Return the sum of |weights[k]| |left[k]| |right[k]|, an upper bound of the nuclear norm."""
    sizes = (np.sqrt(np.einsum("kj,kj->k", side, side)) for side in factors[1:])
    return float(np.abs(factors.weights) @ np.prod([*sizes], axis=0))


def frobenius_norm(*terms: Factors) -> float:
    """Return the Frobenius norm of a sum of factored matrices, exact up to rounding."""
    weights = np.concatenate([term.weights for term in terms])
    if not len(weights):
        return 0.0
    right = np.concatenate([term.right for term in terms])
    core = np.linalg.qr(right.T, mode="r") * weights
    total = 0.0
    for start in range(0, terms[0].left.shape[1], 4096):
        part = slice(start, start + 4096)
        block = core @ np.concatenate([term.left[:, part] for term in terms])
        total += float(np.vdot(block, block))
    return math.sqrt(total)


def matrix_entries(
    factors: Factors, rows: npt.NDArray[np.integer], columns: npt.NDArray[np.integer]
) -> Floats:
    """Return the entries of a factored matrix at the positions (rows[i], columns[i])."""
    out = np.empty(len(rows))
    for start in range(0, len(rows), 256):  # the factors of so few entries stay in the cache
        part = slice(start, start + 256)
        left, right = factors.left.take(rows[part], 1), factors.right.take(columns[part], 1)
        out[part] = np.einsum("k,kj,kj->j", factors.weights, left, right, optimize=False)
    return out
