"""Logistic regression with the non-convex regulariser alpha sum_j x_j^2/(1+x_j^2) (wang2019).

f(x) = (1/n) sum_i log(1 + exp(-b_i <a_i, x>)) + alpha sum_j x_j^2/(1 + x_j^2); the regulariser is
part of every component.
"""

import hashlib
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import scipy.sparse
import scipy.sparse.linalg

from pfbench.base.checks import finite_array, real
from pfbench.base.constants import Constants
from pfbench.base.errors import InputError
from pfbench.base.protocols import Measure
from pfbench.base.sample import Indices, weighted
from pfbench.kernels import linear
from pfbench.sets import VectorSet

Floats = npt.NDArray[np.float64]

SUP_LOGISTIC_THIRD = 1.0 / (6.0 * math.sqrt(3.0))
"""sup |phi'''| of log(1 + exp(-z))."""

SUP_REGULARISER_THIRD = 4.6685593
"""sup |r'''| of r(t) = t^2/(1+t^2), attained at t^2 = 1 - 2/sqrt 5; rounded up."""


@dataclass(frozen=True, eq=False)
class NonconvexLogistic:
    """The problem on given data over a set of vectors.

    Parameters
    ----------
    features
        Rows a_i, a matrix of shape (n, d) in any scipy sparse format or a dense array.
    labels
        b_i, each +1 or -1, shape (n,).
    set
        The feasible set of vectors of length d.
    alpha
        Weight of the regulariser, at least 0.
    parameters
        The defining parameters by name, as `pfbench info` and stored runs show them.

    Raises
    ------
    InputError
        If the data are empty, not finite, of differing lengths, or a label is not +1 or -1.
    """

    name: ClassVar[str] = "nonconvex-logistic"
    source: ClassVar[str] = "wang2019 section 5; THEORY section 10"

    features: Any
    labels: Floats
    set: VectorSet
    alpha: float = 0.1
    parameters: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))

    def __post_init__(self) -> None:
        real("alpha", self.alpha, least=0.0)
        n, d = self._csr.shape
        if n == 0 or d == 0:
            raise InputError("a linear model needs at least one row and one feature.")
        finite_array("the features", self._csr.data)
        labels = finite_array("the labels", self.labels, shape=(n,))
        if not np.isin(labels, (-1.0, 1.0)).all():
            raise InputError("the labels of a logistic problem must all be +1 or -1.")
        if self.set.d != d:
            raise InputError(f"the set has dimension {self.set.d}, the data have {d} features.")

    @cached_property
    def _csr(self) -> Any:
        try:
            matrix = scipy.sparse.csr_array(self.features, dtype=np.float64, copy=True)
        except (TypeError, ValueError):
            raise InputError("the features must be a matrix of numbers.") from None
        if matrix.ndim != 2:
            raise InputError("the features must be a matrix of numbers, one row for each label.")
        matrix.sum_duplicates()
        return matrix

    @cached_property
    def data(self) -> linear.Data:
        """The rows and labels as the compiled loops read them."""
        matrix = self._csr
        return linear.Data(
            matrix.indptr.astype(np.uint32),
            matrix.indices.astype(np.uint32),
            np.ascontiguousarray(matrix.data),
            np.array(self.labels, dtype=np.float64),
        )

    @property
    def n(self) -> int:
        """Number of rows."""
        return int(self._csr.shape[0])

    @property
    def d(self) -> int:
        """Number of features."""
        return int(self._csr.shape[1])

    @cached_property
    def digest(self) -> str:
        """A hash of rows and labels, the set, and alpha."""
        digest = hashlib.sha256(repr((self._csr.shape, self.set, self.alpha)).encode())
        for array in self.data:
            digest.update(array.astype(array.dtype.newbyteorder("<")).tobytes())
        return digest.hexdigest()

    def start(self) -> Floats:
        """Return the set's start point: 0 where 0 is in it, else its first vertex."""
        return self.set.start()

    def open(self, rng: np.random.Generator) -> "NonconvexLogistic":
        """Return itself: every oracle is exact and has no state."""
        return self

    def measures(self) -> Mapping[str, Measure]:
        """Return no measures beyond the common ones."""
        return {}

    # --- oracles ------------------------------------------------------------------------------

    def value(self, x: Floats) -> float:
        """Return f(x)."""
        squares = x * x
        penalty = self.alpha * float((squares / (1.0 + squares)).sum())
        return linear.total_loss(linear.LOGISTIC, self.data, x) / self.n + penalty

    def gradient(self, x: Floats) -> Floats:
        """Return the gradient at x, shape (d,)."""
        g = self._regulariser_slope(x)
        linear.add_full_gradient(linear.LOGISTIC, self.data, x, 1.0 / self.n, g)
        return g

    def batch(self, sample: Indices, x: Floats) -> Floats:
        """Return the mean of the sampled component gradients at x, shape (d,)."""
        indices, weights = weighted(sample)
        g = self._regulariser_slope(x)
        linear.add_gradients(linear.LOGISTIC, self.data, indices, weights, x, g)
        return g

    def difference(self, sample: Indices, x: Floats, y: Floats) -> Floats:
        """Return the mean of grad f_i(x) - grad f_i(y) over the sample, shape (d,)."""
        indices, weights = weighted(sample)
        g = self._regulariser_slope(x) - self._regulariser_slope(y)
        linear.add_differences(linear.LOGISTIC, self.data, indices, weights, x, y, g)
        return g

    def lo(self, g: Floats) -> Floats:
        """Return a vertex of the set that minimises <g, v>."""
        return self.set.lo(g)

    def minimum(self, g: Floats) -> tuple[float, float]:
        """Return the exact minimum of <g, v> over the set, twice."""
        return self.set.minimum(g)

    def prox(self, x: Floats, g: Floats, lam: float) -> Floats:
        """Return the projection of x - lam g onto the set."""
        return self.set.project(x - lam * g)

    def hessian(self, s: Floats) -> "LogisticHessian":
        """Return all component Hessians at s."""
        return LogisticHessian(self, s)

    def table(self, x: Floats) -> "LogisticTable":
        """Return a table with every component gradient at x."""
        return LogisticTable(self, x)

    def _regulariser_slope(self, x: Floats) -> Floats:
        q = 1.0 + x * x
        return np.asarray((2.0 * self.alpha) * x / (q * q))

    # --- constants ----------------------------------------------------------------------------

    def constants(self, start: Floats) -> Constants:
        """Return all constants of THEORY section 1 for this problem."""
        a, top, squares = self.alpha, self._norms, self._row_squares
        return Constants(
            n=self.n,
            D=self.set.diameter,
            L_f=top[0] / 4.0 + 2.0 * a,
            L_ms=math.sqrt(top[1]) / 4.0 + 2.0 * a,
            L_max=float(squares.max()) / 4.0 + 2.0 * a,
            L2_ms=SUP_LOGISTIC_THIRD * math.sqrt(top[2]) + SUP_REGULARISER_THIRD * a,
            sigma2=float(squares.mean()),
            delta=self.value(start),
            ell=a / 2.0,
            derivations=MappingProxyType(
                {
                    "n": "number of rows",
                    "D": f"diameter of the {self.set.name} set, exact",
                    "L_f": "lambda_max(A'A/n)/4 + 2 alpha: phi'' <= 1/4, r'' <= 2, both at 0",
                    "L_ms": (
                        "sqrt(lambda_max(E|a|^2 a a'))/4 + 2 alpha, by the triangle inequality in "
                        "mean square"
                    ),
                    "L_max": "max |a_i|^2/4 + 2 alpha",
                    "L2_ms": (
                        "sup|phi'''| sqrt(lambda_max(E|a|^4 a a')) + alpha sup|r'''|, with "
                        "sup|phi'''| = 1/(6 sqrt 3), sup|r'''| = 4.66856"
                    ),
                    "sigma2": "E|a|^2, since |phi'| <= 1 and the regulariser has no variance",
                    "delta": "f(start) - 0, since f >= 0",
                    "ell": "alpha/2: the logistic loss is convex, r'' >= -1/2",
                }
            ),
        )

    @cached_property
    def _row_squares(self) -> Floats:
        return np.asarray(self._csr.multiply(self._csr).sum(axis=1)).ravel()

    @cached_property
    def _norms(self) -> list[float]:
        """lambda_max of E |a|^(2 k) a a' for k = 0, 1, 2."""
        return [self._weighted_norm(self._row_squares**k) for k in range(3)]

    def _weighted_norm(self, weights: Floats) -> float:
        """Return the largest eigenvalue of (1/n) sum_i weights_i a_i a_i', rounded up."""
        root = scipy.sparse.diags_array(np.sqrt(weights / self.n)) @ self._csr
        if min(root.shape) <= 1500:
            gram = (root.T @ root) if root.shape[1] <= root.shape[0] else (root @ root.T)
            return float(np.linalg.eigvalsh(gram.toarray())[-1]) * (1.0 + 1e-12)
        start = np.ones(min(root.shape))
        sigma = scipy.sparse.linalg.svds(root, k=1, v0=start, return_singular_vectors=False)
        return float(sigma[0]) ** 2 * (1.0 + 1e-6)


class LogisticHessian:
    """phi'' of every row and r'' of every coordinate at one point; 8 (n + d) bytes."""

    def __init__(self, problem: NonconvexLogistic, s: Floats) -> None:
        self._problem = problem
        self._curvature = np.empty(problem.n)
        linear.curvatures(linear.LOGISTIC, problem.data, s, self._curvature)
        q = 1.0 + s * s
        self._regulariser = problem.alpha * (2.0 * (4.0 - 3.0 * q)) / (q * q * q)
        self._all = np.arange(problem.n)

    def product(self, x: Floats, y: Floats) -> Floats:
        """Return the mean Hessian times x - y, shape (d,)."""
        return self.batch(self._all, x, y)

    def batch(self, sample: Indices, x: Floats, y: Floats) -> Floats:
        """Return the mean of the sampled component Hessians times x - y, shape (d,)."""
        indices, weights = weighted(sample)
        g = self._regulariser * (x - y)
        linear.add_curvature_products(
            self._problem.data, indices, weights, self._curvature, x, y, g
        )
        return np.asarray(g)


class LogisticTable:
    """phi' of every row, and which regulariser gradient goes with it.

    All rows replaced in one call share one regulariser gradient, so the memory is 16 n bytes plus
    8 d for each call whose rows are still in the table.
    """

    def __init__(self, problem: NonconvexLogistic, x: Floats) -> None:
        self._problem = problem
        self._slopes = np.empty(problem.n)
        linear.slopes_at(linear.LOGISTIC, problem.data, np.arange(problem.n), x, self._slopes)
        self._calls = 0
        self._call_of = np.zeros(problem.n, dtype=np.int64)
        self._regulariser = {0: problem._regulariser_slope(x)}
        self.mean = problem.gradient(x)

    def difference(self, sample: Indices, x: Floats) -> Floats:
        """Return the mean of grad f_i(x) - a_i over the sample, shape (d,)."""
        indices, weights = weighted(sample)
        return self._change(indices, weights, self._slopes_at(indices, x), x)

    def replace(self, sample: Indices, x: Floats) -> Floats:
        """As `difference`, then store grad f_i(x) once for each distinct index."""
        change = self.difference(sample, x)
        distinct = np.unique(weighted(sample)[0])
        slopes = self._slopes_at(distinct, x)
        weights = np.full(distinct.size, 1.0 / self._problem.n)
        self.mean = self.mean + self._change(distinct, weights, slopes, x)
        self._slopes[distinct] = slopes
        self._calls += 1
        self._call_of[distinct] = self._calls
        self._regulariser[self._calls] = self._problem._regulariser_slope(x)
        live = set(np.unique(self._call_of).tolist())
        self._regulariser = {k: v for k, v in self._regulariser.items() if k in live}
        return change

    def _slopes_at(self, indices: npt.NDArray[np.int64], x: Floats) -> Floats:
        out = np.empty(indices.size)
        linear.slopes_at(linear.LOGISTIC, self._problem.data, indices, x, out)
        return out

    def _change(
        self, indices: npt.NDArray[np.int64], weights: Floats, slopes: Floats, x: Floats
    ) -> Floats:
        g: Floats = weights.sum() * self._problem._regulariser_slope(x)
        calls, position = np.unique(self._call_of[indices], return_inverse=True)
        shares = np.bincount(position, weights=weights)
        for call, share in zip(calls.tolist(), shares.tolist(), strict=True):
            g -= share * self._regulariser[call]
        change = weights * (slopes - self._slopes[indices])
        linear.add_rows(self._problem.data, indices, change, g)
        return g
