"""Sensing matrices: synthetic ones (li2019 section 4), their products and their eigenvalues."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy

from pfbench.base.arrays import Floats, Integers
from pfbench.base.checks import check_choice, check_finite_array
from pfbench.base.errors import InputError
from pfbench.base.parameters import CheckedParameters, integer, nonnegative, parameter, positive
from pfbench.kernels import sensing_kernels as loops
from pfbench.kernels.numba_compilation import thread_count
from pfbench.kernels.sensing_kernels import SampledRows
from pfbench.points.atoms import Factors
from pfbench.problems.base import check_dense_point
from pfbench.sets.nuclear import NuclearBall

NUCLEAR_NORM = 50.0
"""Nuclear norm of the synthetic underlying matrix (li2019 section 4)."""

STORAGE: Mapping[str, type[np.floating[Any]]] = MappingProxyType(
    {"float64": np.float64, "float32": np.float32}
)
"""Precision of stored sensing matrices, by name."""

_MOST_ENTRIES = 1 << 33
"""Maximum number of entries of all sensing matrices: 64 GiB in double precision."""

_BLOCK_ENTRIES = 1 << 22
"""Number of entries of a block of rows that is converted, checked or hashed at once."""

_PARALLEL_ENTRIES = 1 << 20
"""Number of entries from which loops over rows run in threads."""

_DENSE_SIDE = 1500
"""Largest smaller side of the n x M N data whose largest eigenvalues are computed densely."""

_LEAST_SIDE = 2500
"""Largest M N for which the smallest eigenvalue is computed: a few seconds."""


@dataclass(frozen=True, eq=False)
class SensingData:
    """Sensing matrices Z_i and observed targets y_i of a matrix regression.

    Attributes
    ----------
    shape
        (M, N).
    matrices
        Rows vec(Z_i) in row order, shape (n, M N), float64 or float32.
    targets
        y_i, shape (n,).
    truth
        The underlying matrix Theta* as factors, if known.
    variances
        Smallest and largest eigenvalue of the covariance of vec(X_i), if known.
    sensing_variance
        w: 0 if Z_i = X_i, else the variance of the entries of W_i, which must be known.

    Raises
    ------
    InputError
        If the data are empty, not finite or of differing lengths, or w is negative.
    """

    shape: tuple[int, int]
    matrices: npt.NDArray[Any]
    targets: Floats
    truth: Factors | None = None
    variances: tuple[float, float] | None = None
    sensing_variance: float = 0.0

    def __post_init__(self) -> None:
        rows = self.matrices
        for block in row_blocks(*rows.shape):
            check_finite_array(f"the sensing matrices from row {block.start} on", rows[block])
        check_finite_array("the targets", self.targets, shape=(rows.shape[0],))
        if self.truth is not None:
            check_finite_array(
                "the underlying matrix", as_dense_matrix(self.truth), shape=self.shape
            )

    @property
    def n(self) -> int:
        """Number of sensing matrices."""
        return int(self.matrices.shape[0])

    @property
    def li2019_ball(self) -> NuclearBall:
        """Feasible set of li2019 section 4: the nuclear-norm ball of radius 50."""
        return NuclearBall(self.shape, NUCLEAR_NORM)

    @cached_property
    def rows(self) -> npt.NDArray[Any]:
        """Flattened sensing matrices as contiguous rows, shape (n, M N)."""
        return np.ascontiguousarray(self.matrices)

    @cached_property
    def y(self) -> Floats:
        """Targets in double precision, shape (n,)."""
        return np.ascontiguousarray(self.targets, dtype=np.float64)

    @cached_property
    def all(self) -> Integers:
        """Indices of all components, 0, ..., n - 1."""
        return np.arange(self.n)

    def _thread_chunk_bounds(self, row_count: int) -> Integers:
        """Return the bounds of nearly equal chunks of rows: one per thread, or one for few rows."""
        many = row_count * self.rows.shape[1] >= _PARALLEL_ENTRIES
        return np.linspace(0, row_count, (thread_count() if many else 1) + 1).astype(np.int64)

    def products(self, indices: Integers, x: Floats) -> Floats:
        """Return the products <Z_i, x> of the k given components, shape (k,)."""
        loops.check_indices(indices, self.n)
        out = np.empty(indices.size)
        bounds = self._thread_chunk_bounds(indices.size)
        flat = check_dense_point(x, self.shape).ravel()
        if bounds.size == 2:
            loops.write_products(0, indices.size, self.rows, indices, flat, out)
        else:
            loops.write_products_parallel(bounds, self.rows, indices, flat, out)
        return out

    def sum_weighted_residuals(
        self, indices: Integers, weights: Floats, targets: Floats, x: Floats
    ) -> Floats:
        """Return the sum of weights_i (<Z_i, x> - targets_i) Z_i over `indices`, shape (M, N)."""
        loops.check_indices(indices, self.n)
        bounds = self._thread_chunk_bounds(indices.size)
        parts = np.zeros((bounds.size - 1, self.rows.shape[1]))
        sampled = SampledRows(self.rows, indices, weights, targets)
        flat = check_dense_point(x, self.shape).ravel()
        if len(parts) == 1:
            loops.add_weighted_residual_rows(0, indices.size, sampled, flat, parts[0])
            return np.asarray(parts[0].reshape(self.shape))
        loops.add_residual_sums_parallel(bounds, sampled, flat, parts)
        return np.asarray(parts.sum(axis=0).reshape(self.shape))

    @cached_property
    def matrix_norms_sq(self) -> Floats:
        """Squared Frobenius norms |Z_i|_F^2 of the sensing matrices, shape (n,)."""
        squares = np.empty(self.n)
        for block in row_blocks(*self.rows.shape):
            rows = self.rows[block].astype(np.float64, copy=False)
            squares[block] = np.einsum("ij,ij->i", rows, rows)
        return squares

    @cached_property
    def _rows_in_span_basis(self) -> Floats | None:
        """Coordinates of the rows in an orthonormal basis of their span; None for large data."""
        n, p = self.rows.shape
        if min(n, p) > _DENSE_SIDE:
            return None
        rows = self.rows.astype(np.float64, copy=False)
        if p <= n:
            return rows
        squares, basis = np.linalg.eigh(rows @ rows.T)
        return np.asarray(basis * np.sqrt(np.maximum(squares, 0.0)))

    def max_weighted_eigenvalue_bound(self, weights: Floats, *, centred: bool = False) -> float:
        """Return an upper bound of lambda_max of the mean of weights_i z_i z_i' over the rows z_i.

        With `centred`, the matrix is that mean minus the square of the unweighted mean.
        """
        n, p = self.rows.shape
        core = self._rows_in_span_basis
        if core is not None:
            matrix = (core.T * weights) @ core / n
            if centred:
                gram = core.T @ core / n
                matrix -= gram @ gram
            top = float(np.linalg.eigvalsh(matrix)[-1])
            # Outside the span of the rows all eigenvalues are 0.
            return float(max(top, 0.0) if n < p else top) + 1e-12 * abs(top)
        from scipy.sparse.linalg import LinearOperator, eigsh

        zero, share = np.zeros(n), np.full(n, 1.0 / n)

        def product(v: Floats) -> Floats:
            x = v.reshape(self.shape)
            u = self.sum_weighted_residuals(self.all, weights / n, zero, x)
            if centred:
                u -= self.sum_weighted_residuals(
                    self.all, share, zero, self.sum_weighted_residuals(self.all, share, zero, x)
                )
            return u.ravel()

        operator = LinearOperator((p, p), matvec=product, dtype=np.float64)
        result = eigsh(
            operator, k=1, which="LA", v0=np.ones(p), tol=1e-4, return_eigenvectors=False
        )
        top = float(result[0])
        return top + 1e-4 * abs(top)

    @cached_property
    def largest_eigenvalue(self) -> float:
        """Upper bound of the largest eigenvalue of E vec(Z) vec(Z)', exact up to rounding."""
        return self.max_weighted_eigenvalue_bound(np.ones(self.n))

    @cached_property
    def least_eigenvalue_bound(self) -> float:
        """Lower bound of the smallest eigenvalue of the mean of vec(Z) vec(Z)'.

        The bound is 0 if n < M N, and for M N above 2500.
        """
        n, p = self.rows.shape
        if n < p or p > _LEAST_SIDE:
            return 0.0
        rows = self.rows.astype(np.float64, copy=False)
        gram = rows.T @ rows
        lower = float(scipy.linalg.eigvalsh(gram, subset_by_index=(0, 0))[0]) / n
        return max(0.0, float(lower - 1e-12 * self.largest_eigenvalue))


@dataclass(frozen=True, kw_only=True)
class SyntheticSensing(CheckedParameters):
    """Parameters of random matrix-regression data, which are drawn as in li2019 section 4.

    Theta* has equal singular values with sum 50, and uniform singular vectors. The entries of X_i
    are independent and normal with variance 1, except for the first one, whose variance is
    `spike`. The noise e_i has the standard deviation `noise`. The paper has 250 or 300 rows and
    columns, rank 5 or 10, and spike 1000 or 10 000, and does not state the noise. With the same
    seed, another `sensing_variance` changes only the W_i.
    """

    seed: int = integer(0, "seed of the problem's data", minimum=0)
    rows: int = integer(20, "rows of the matrix (M)")
    columns: int = integer(20, "columns of the matrix (N)")
    rank: int = integer(5, "rank of the underlying matrix")
    n: int | None = integer(None, "number of sensing matrices", words="10 rank max(rows, columns)")
    noise: float = nonnegative(1.0, "standard deviation of the noise added to a target")
    spike: float = positive(
        100.0, "variance of the first entry of a sensing matrix; the others have 1"
    )
    storage: str = parameter(
        "float64", "type of the sensing matrices: float64, or float32 (rounded, half the memory)"
    )
    sensing_variance: float = nonnegative(
        0.0, "w, variance of noise in the sensing matrices: 0 is loss (7), else (8)"
    )

    def draw(self, name: str = "synthetic") -> SensingData:
        """Draw the sensing matrices and the targets.

        Raises
        ------
        InputError
            If a number is out of range or the data would not fit into 64 GiB.
        """
        rank, spike, sensing_variance = self.rank, self.spike, self.sensing_variance
        rng = np.random.default_rng(self.seed)
        M, N = self.rows, self.columns
        if rank > min(M, N):
            raise InputError(f"rank={rank} must be at most {min(M, N)} for a {M} x {N} matrix.")
        n = 10 * rank * max(M, N) if self.n is None else self.n
        kind = STORAGE[check_choice("storage", self.storage, STORAGE)]
        if n * M * N > _MOST_ENTRIES:
            raise InputError(
                f"{n} sensing matrices of {M} x {N} have more than 2^33 entries: lower n, rows "
                "or columns."
            )
        left, right = (np.linalg.qr(rng.standard_normal((size, rank)))[0] for size in (M, N))
        weights = np.full(rank, NUCLEAR_NORM / rank)
        truth = Factors(weights, np.ascontiguousarray(left.T), np.ascontiguousarray(right.T))
        matrices, targets = np.empty((n, M * N), dtype=kind), np.empty(n)
        theta = as_dense_matrix(truth).ravel()
        for block in row_blocks(n, M * N):
            standard_normal = rng.standard_normal((block.stop - block.start, M * N))
            standard_normal[:, 0] *= math.sqrt(spike)
            matrices[block] = standard_normal
            targets[block] = matrices[block].astype(np.float64, copy=False) @ theta
        targets += self.noise * rng.standard_normal(n)
        if sensing_variance > 0.0:
            for block in row_blocks(n, M * N):
                standard_normal = rng.standard_normal((block.stop - block.start, M * N))
                matrices[block] += math.sqrt(sensing_variance) * standard_normal
        variances = (min(spike, 1.0), max(spike, 1.0)) if M * N > 1 else (spike, spike)
        return SensingData((M, N), matrices, targets, truth, variances, float(sensing_variance))


def draw_synthetic_sensing(**overrides: Any) -> SensingData:
    """Draw the data of `SyntheticSensing` with the given parameters."""
    return SyntheticSensing(**overrides).draw()


def row_blocks(n: int, p: int) -> Iterator[slice]:
    """Yield slices that divide n rows of length p into blocks of moderate size.

    The slices depend on n and p only.
    """
    height = max(1, _BLOCK_ENTRIES // p)
    for first in range(0, n, height):
        yield slice(first, min(first + height, n))


def as_dense_matrix(factors: Factors) -> Floats:
    """Convert a matrix in factored form to an array of shape (M, N)."""
    return np.asarray((factors.left.T * factors.weights) @ factors.right)
