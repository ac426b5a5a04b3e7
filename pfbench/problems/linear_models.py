"""Finite sums of losses of linear functions: f_i(x) = phi(<a_i, x>; b_i) + r(x).

Every component includes the regulariser r(x) = alpha sum_j x_j^2/(1 + x_j^2). Only the non-convex
logistic problem of wang2019 has alpha > 0. The problem is over a set of vectors, or over the whole
space, with or without a penalty h.
"""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from pfbench.base.arrays import Floats
from pfbench.base.checks import check_finite_array, check_real
from pfbench.base.constants import Constants
from pfbench.base.errors import InputError
from pfbench.base.sample import Indices, count_indices
from pfbench.kernels import linear
from pfbench.problems.base import ComponentHessiansAtPoint, FiniteSum, content_digest
from pfbench.problems.least_known import LEAST_KNOWN
from pfbench.problems.linear_losses import (
    LOG_COSH,
    LOGISTIC,
    ROBUST,
    SQUARE,
    LinearLoss,
    derive_constants,
)
from pfbench.problems.moments import (
    eigenvalue_bound_probability_note,
    eigenvalue_lower_bound,
    eigenvalue_upper_bound,
)
from pfbench.problems.row_data import as_csr
from pfbench.problems.shared_terms import Drawn, SharedPartSagaTable
from pfbench.sets.body import ConvexBody
from pfbench.sets.penalties import NormPenalty

_LEAST_SQUARES = 2e9
"""Largest n d min(n, d) for which least squares are solved exactly: about a second."""


@dataclass(frozen=True, eq=False)
class LinearModel(FiniteSum):
    """Finite sum over data rows a_i, with labels b_i, of losses phi(<a_i, x>; b_i).

    Parameters
    ----------
    features
        Rows a_i, a matrix of shape (n, d) in any scipy sparse format or a dense array.
    labels
        b_i, shape (n,).
    set
        The feasible set of vectors of length d; `WholeSpace` for none.
    alpha
        Weight of the non-convex regulariser, at least 0.
    penalty
        A penalty h on the whole space; excludes a set.
    first
        Start point of runs; by default that of the set.

    Raises
    ------
    InputError
        If the data are empty, not finite or of differing lengths, or a set and a penalty are given.
    """

    loss: ClassVar[LinearLoss]

    features: Any
    labels: Floats
    set: ConvexBody
    alpha: float = 0.0
    penalty: NormPenalty | None = None
    first: Floats | None = None

    def __post_init__(self) -> None:
        check_real("alpha", self.alpha, minimum=0.0)
        n, d = self._csr.shape
        if n == 0 or d == 0:
            raise InputError("a linear model needs at least one row and one feature.")
        self._check_labels(check_finite_array("the labels", self.labels, shape=(n,)))
        if self.penalty is not None and self.is_bounded:
            raise InputError("a problem has a feasible set or a penalty, not both: leave one out.")
        if self.first is not None:
            check_finite_array("the start", self.first, shape=(d,))
        if self.set.shape != (d,):
            raise InputError(
                f"the set has dimension {self.set.shape[0]}, the data have {d} features: make them "
                "equal."
            )

    def _check_labels(self, labels: Floats) -> None:
        """Raise InputError for labels that the loss does not accept; the default accepts all."""
        return

    @property
    def properties(self) -> frozenset[str]:
        """Names of the known properties of f, from `pfbench.base.protocols.ASSUMPTIONS`."""
        existing = {"convex"} if self.loss.lower == 0.0 and self.alpha == 0.0 else set[str]()
        if self.strong_convexity > 0.0:
            existing.add("restricted strong convexity")
        return frozenset(existing)

    @cached_property
    def strong_convexity(self) -> float:
        """Lower bound, at least 0, of the smallest eigenvalue of the Hessian of f at any point."""
        return 0.0

    @cached_property
    def best_known(self) -> tuple[float, str] | None:
        """Best known value of f plus the penalty, and its origin as text; None if unknown.

        The value is known for the problems in `least_known`. It is also known if a least-squares
        solution in the set minimises f: for the square loss, and for losses of residuals that are
        all 0.
        """
        if self.digest_without_start in LEAST_KNOWN:
            return LEAST_KNOWN[self.digest_without_start]
        if self.penalty is not None or self.alpha > 0.0 or self.loss.kind == linear.LOGISTIC:
            return None
        n, d = self._csr.shape
        if n * d * min(n, d) > _LEAST_SQUARES:
            return None
        x = np.linalg.lstsq(self._csr.toarray(), self.labels, rcond=None)[0]
        if not self.set.contains(x):
            return None
        if self.loss is SQUARE:
            return self.value(x), "minimum, by the normal equations (least squares of least norm)"
        residuals = np.abs(self._csr @ x - self.labels)
        if residuals.max() > 1e-12 * np.abs(self.labels).max():
            return None
        return self.value(x), "at a point without residuals, to rounding; f >= 0"

    @cached_property
    def _csr(self) -> Any:
        return as_csr(self.features)

    @cached_property
    def data(self) -> linear.RowData:
        """Data rows and labels in the form that compiled loops read."""
        return linear.RowData.from_matrix(self._csr, np.array(self.labels, dtype=np.float64))

    @property
    def _digest_arrays(self) -> tuple[npt.NDArray[Any], ...]:
        """Arrays that determine the digest: the rows in CSR form and the labels."""
        matrix = self._csr
        locations = matrix.indptr.astype(np.uint32), matrix.indices.astype(np.uint32)
        return *locations, np.ascontiguousarray(matrix.data), self.data.labels

    @property
    def n(self) -> int:
        """Number of data rows, which is the number of components."""
        return int(self._csr.shape[0])

    @property
    def d(self) -> int:
        """Number of features."""
        return int(self._csr.shape[1])

    @cached_property
    def digest(self) -> str:
        """Hash of the data, set, penalty and alpha, and of the start point if one was given."""
        own = () if self.first is None else (self.first,)
        numbers = self._csr.shape, self.set, self.penalty, self.alpha
        return content_digest(numbers, *self._digest_arrays, *own)

    @cached_property
    def digest_without_start(self) -> str:
        """Hash of f, the set and the penalty, which does not depend on the start point."""
        numbers = self.loss.kind, self._csr.shape, self.set, self.penalty, self.alpha
        return content_digest(numbers, *self._digest_arrays)[:16]

    def start(self) -> Floats:
        """Return a fresh copy of the start point."""
        return np.array(super().start() if self.first is None else self.first)

    # --- oracles ------------------------------------------------------------------------------

    def value(self, x: Floats) -> float:
        """Return f(x)."""
        squares = x * x
        penalty = self.alpha * float((squares / (1.0 + squares)).sum())
        return linear.total_loss(self.loss.kind, self.data, x) / self.n + penalty

    def gradient(self, x: Floats) -> Floats:
        """Return the gradient at x, shape (d,)."""
        g = self._regulariser_slope(x)
        linear.add_gradient_sum(self.loss.kind, self.data, x, 1.0 / self.n, g)
        return g

    def batch(self, sample: Indices, x: Floats) -> Floats:
        """Return the mean of the sampled component gradients at x, shape (d,)."""
        g = np.empty(self.data.columns)
        linear.write_mean_gradient(
            self.loss.kind, self.data, self.alpha, *count_indices(sample), x, g
        )
        return g

    def difference(self, sample: Indices, x: Floats, y: Floats) -> Floats:
        """Return the mean of grad f_i(x) - grad f_i(y) over the sample, shape (d,)."""
        g = np.empty(self.data.columns)
        linear.write_mean_difference(
            self.loss.kind, self.data, self.alpha, *count_indices(sample), x, y, g
        )
        return g

    def hessian(self, s: Floats) -> ComponentHessiansAtPoint:
        """Return the component Hessians at s, stored as second derivatives of loss and regulariser.

        They are phi'' of each row and r'' of each entry, and take 8 (n + d) bytes.
        """
        curvature, everyone, q = np.empty(self.n), np.arange(self.n), 1.0 + s * s
        linear.write_curvatures(self.loss.kind, self.data, s, curvature)
        regulariser = self.alpha * (2.0 * (4.0 - 3.0 * q)) / (q * q * q)

        def apply_hessian(sample: Indices | None, u: Floats) -> Floats:
            g = np.asarray(regulariser * u)
            indices = count_indices(everyone if sample is None else sample)
            linear.add_hessian_vector_products(self.data, *indices, curvature, u, g)
            return g

        return ComponentHessiansAtPoint(apply_hessian)

    def table(self, x: Floats) -> "LinearSagaTable":
        """Return a SAGA table that stores the gradient of every component at x."""
        return LinearSagaTable(self, x)

    def component_smoothness(self) -> Floats:
        """Return the smoothness L_i of each component, shape (n,).

        It is sup|phi''| |a_i|^2 + 2 alpha.
        """
        return self.loss.curvature * self._row_norms_squared + 2.0 * self.alpha

    def _regulariser_slope(self, x: Floats) -> Floats:
        q = 1.0 + x * x
        return np.asarray((2.0 * self.alpha) * x / (q * q))

    # --- constants ----------------------------------------------------------------------------

    def constants(self, start: Floats) -> Constants:
        """Return the constants of this problem (L_f, D, ...), each with its derivation as text."""
        h = 0.0 if self.penalty is None else self.penalty.value(start)
        certified = eigenvalue_bound_probability_note(self._csr)
        moments, squares = self._moment_eigenvalue_bounds, self._row_norms_squared
        derived = derive_constants(self.loss, moments, squares, certified, self.alpha)
        D, exact = self.set.diameter, "exact" if self.set.diameter_is_exact else "an upper bound"
        derived["sigma2"] = (
            self._gradient_second_moment_bound(start, D),
            "E sup|phi'|^2 |a|^2; the regulariser has no variance (where phi' is not bounded: "
            "its largest values over the set, |<a, start> - b| + |a| D)",
        )
        return Constants.from_derivations(
            n=(self.n, "number of rows"),
            D=(D, f"diameter of the set {self.set.name}, {exact}"),
            L_mean=(float(self.component_smoothness().mean()), "sup|phi''| E|a|^2 + 2 alpha"),
            delta=(
                self.value(start) + h,
                "f(start) + h(start) - 0, since all losses and penalties are >= 0",
            ),
            M=(float(np.linalg.norm(start)) + D, "|start| + D"),
            sigma_hat=(
                self.strong_convexity or math.inf,
                "strong convexity, lambda_min(A'A/n) less its rounding error; li2019's sigma with "
                "tau = 0",
            ),
            **derived,
        )

    def _gradient_second_moment_bound(self, start: Floats, D: float) -> float:
        """Return an upper bound of E |phi'|^2 |a|^2, the mean squared norm of loss gradients.

        Here phi' is the slope of the loss of row a, at any point of the set. For the square loss it
        is the residual. In each row, |<a, start> - b| + |a| D bounds the residual over the set of
        diameter D.
        """
        squares = self._row_norms_squared
        if math.isfinite(self.loss.slope):
            return self.loss.slope**2 * float(squares.mean())
        if math.isinf(D):
            return math.inf if squares.any() else 0.0
        residuals = np.abs(self._csr @ start - self.labels)
        return float(((residuals + np.sqrt(squares) * D) ** 2 * squares).mean())

    @cached_property
    def _row_norms_squared(self) -> Floats:
        return np.asarray(self._csr.multiply(self._csr).sum(axis=1)).ravel()

    @cached_property
    def _moment_eigenvalue_bounds(self) -> list[float]:
        """Upper bounds of lambda_max(E |a|^(2 k) a a') over the data rows a, for k = 0, 1, 2."""
        return [
            eigenvalue_upper_bound(self._csr, self._row_norms_squared**k / self.n) for k in range(3)
        ]


class LinearSagaTable(SharedPartSagaTable):
    """SAGA table: each row's slope phi' and regulariser gradient, as of the row's last update.

    All rows replaced in one call share one regulariser gradient. The memory is 16 n bytes, plus 8
    d for each call whose rows are still in the table. Without a regulariser, the second part is 0.
    """

    def __init__(self, problem: LinearModel, x: Floats) -> None:
        self._problem = problem
        slopes = np.empty(problem.n)
        linear.write_slopes(problem.loss.kind, problem.data, np.arange(problem.n), x, slopes)
        super().__init__(problem, slopes, self._common_part(x) if problem.alpha > 0.0 else None)
        self.mean = problem.gradient(x)

    def _common_part(self, x: Floats) -> Floats:
        return self._problem._regulariser_slope(x)

    def _add_mean_slope_changes(self, weights: Drawn, x: Floats, g: Floats) -> None:
        kind, data = self._problem.loss.kind, self._problem.data
        linear.add_changes_from_stored_slopes(kind, data, *weights, self._slopes, x, g)

    def _add_and_replace_slopes(self, weights: Drawn, x: Floats, g: Floats, mean: Floats) -> None:
        kind, data = self._problem.loss.kind, self._problem.data
        linear.replace_slopes(kind, data, *weights, self._slopes, x, g, mean)


@dataclass(frozen=True, eq=False)
class NonconvexLogistic(LinearModel):
    """Logistic regression with a non-convex regulariser; the labels are +1 and -1."""

    name = "nonconvex-logistic"
    source = "wang2019 section 5"
    loss = LOGISTIC

    alpha: float = 0.1

    def _check_labels(self, labels: Floats) -> None:
        if not np.isin(labels, (-1.0, 1.0)).all():
            raise InputError("the labels of a logistic problem must all be +1 or -1.")


class RobustRegression(LinearModel):
    """Non-convex regression with the loss log(1 + (<a, x> - b)^2/2), whose slope is bounded."""

    name = "robust-regression"
    source = "wang2019 section 5"
    loss = ROBUST


class LogCosh(LinearModel):
    """Convex regression with the loss log cosh(<a, x> - b), used to calibrate checks."""

    name = "log-cosh"
    source = "calibration: the error laws of gradient estimators are tight on it"
    loss = LOG_COSH


class LeastSquares(LinearModel):
    """Least squares, the mean of (<a, x> - b)^2/2: a convex quadratic with known constants."""

    name = "quadratic"
    source = "calibration: a convex quadratic with exact constants"
    loss = SQUARE

    @cached_property
    def strong_convexity(self) -> float:
        """Lower bound of lambda_min(A'A/n) for the data matrix A; 0 if no better bound is known."""
        if self.alpha > 0.0:
            return 0.0
        return eigenvalue_lower_bound(self._csr, np.full(self.n, 1.0 / self.n))
