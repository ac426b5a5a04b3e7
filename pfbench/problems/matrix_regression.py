"""Matrix regression over a set of matrices (li2019 section 2.1, losses (7) and (8)).

The data are y_i = <X_i, Theta*> + e_i and Z_i = X_i + W_i, where W_i has entries of variance w.
The component for these data is

    f_i(Theta) = (y_i - <Z_i, Theta>)^2/2 - (w/2) |Theta|_F^2

With w = 0 the sensing matrices are known, and f_i is the convex loss (7). With w > 0 it is loss
(8). Its subtracted term removes the bias due to W_i, and makes f non-convex where n < M N.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, NamedTuple

import numpy as np

from pfbench.base.arrays import Floats
from pfbench.base.constants import Constants
from pfbench.base.protocols import Measure
from pfbench.base.sample import Indices, weight_indices
from pfbench.base.state import State
from pfbench.kernels import sensing_kernels as loops
from pfbench.problems.base import ConstantHessians, content_digest
from pfbench.problems.matrix_models import MatrixProblem
from pfbench.problems.restricted_convexity import RestrictedConvexity, compute_restricted_convexity
from pfbench.problems.sensing import SensingData, as_dense_matrix
from pfbench.problems.shared_terms import Drawn, SharedPartSagaTable
from pfbench.sets.body import ConvexBody

_SMALL_ENTRIES = 1 << 20
"""Maximum number of entries for which `best_known` is computed: about a second."""


class NearMinimiser(NamedTuple):
    """Approximate minimiser of f with its value and its Frank-Wolfe gap."""

    matrix: Floats
    value: float
    gap: float


@dataclass(frozen=True, eq=False)
class MatrixRegression(ConstantHessians, MatrixProblem):
    """Matrix regression on given data; points and gradients are arrays of shape (M, N).

    Parameters
    ----------
    data
        Sensing matrices and targets.
    set
        The feasible set, of matrices of the problem's shape.
    tolerance
        Relative residual at which a run's linear minimisation over the nuclear-norm ball stops
        (heuristic; the measured gap is certified separately).

    Raises
    ------
    InputError
        If the tolerance is out of range, or the set is of points of another shape.
    """

    name: ClassVar[str] = "matrix-regression"
    source: ClassVar[str] = "li2019 section 2.1, losses (7) and (8); section 4"

    data: SensingData
    set: ConvexBody
    tolerance: float = 1e-4

    def __post_init__(self) -> None:
        self._check_set()

    # --- data ---------------------------------------------------------------------------------

    @property
    def n(self) -> int:
        """Number of sensing matrices."""
        return self.data.n

    @property
    def shape(self) -> tuple[int, int]:
        """Shape of a point: (M, N)."""
        return self.data.shape

    @property
    def sensing_variance(self) -> float:
        """Variance w of the noise in sensing matrices: 0 in li2019's loss (7), > 0 in (8)."""
        return self.data.sensing_variance

    @cached_property
    def truth(self) -> Floats | None:
        """Underlying matrix Theta*, shape (M, N); None if it is not known."""
        return None if self.data.truth is None else as_dense_matrix(self.data.truth)

    @property
    def properties(self) -> frozenset[str]:
        """Names of the known properties of f: "convex", "restricted strong convexity".

        Only li2019's loss (7) is convex. Restricted strong convexity requires a positive sigma_hat.
        """
        existing = {
            "convex": self.sensing_variance == 0.0,
            "restricted strong convexity": self.convexity_constants.has_positive_sigma_hat,
        }
        return frozenset(name for name, holds in existing.items() if holds)

    @cached_property
    def digest(self) -> str:
        """Hash of the sensing matrices, the targets and the parameters."""
        truth = () if self.data.truth is None else self.data.truth
        neighbour = self.sensing_variance, self.tolerance, self.data.variances, len(truth)
        return content_digest(
            (self.shape, self.set, *neighbour), self.data.y, *truth, self.data.rows
        )

    # --- the function -------------------------------------------------------------------------

    def value(self, x: Floats) -> float:
        """Return f(x)."""
        residuals = self.data.products(self.data.all, x) - self.data.y
        square = float(residuals @ residuals) / self.n
        return 0.5 * (square - self.sensing_variance * float(np.vdot(x, x)))

    def gradient(self, x: Floats) -> Floats:
        """Return the gradient at x, shape (M, N)."""
        return self._gradient_of_squared_loss(x) - self.sensing_variance * x

    def _gradient_of_squared_loss(self, x: Floats) -> Floats:
        """Return the mean of (<Z_i, x> - y_i) Z_i: the gradient without the noise correction."""
        data = self.data
        return data.sum_weighted_residuals(data.all, np.full(self.n, 1.0 / self.n), data.y, x)

    def batch(self, sample: Indices, x: Floats) -> Floats:
        """Return the mean of the sampled component gradients, shape (M, N)."""
        indices, weights = weight_indices(sample)
        g = self.data.sum_weighted_residuals(indices, weights, self.data.y[indices], x)
        return g - self.sensing_variance * x

    def apply_mean_hessian(self, sample: Indices | None, u: Floats) -> Floats:
        """Return the mean Hessian of the sampled components (None: of all), times u.

        The Hessian of f_i is z_i z_i' - w I, with z_i = vec(Z_i) and the sensing variance w.
        """
        indices, weights = weight_indices(self.data.all if sample is None else sample)
        g = self.data.sum_weighted_residuals(indices, weights, np.zeros(indices.size), u)
        return g - self.sensing_variance * u

    def table(self, x: Floats) -> "RegressionSagaTable":
        """Return a SAGA table that stores the gradient of every component at x."""
        return RegressionSagaTable(self, x)

    # --- restricted strong convexity ----------------------------------------------------------

    @cached_property
    def convexity_constants(self) -> RestrictedConvexity:
        """Constants sigma, tau and sigma_hat of restricted strong convexity on these data."""
        return compute_restricted_convexity(self.data)

    # --- the minimiser ------------------------------------------------------------------------

    def theta_hat(self, tolerance: float = 1e-10, limit: int = 20_000) -> NearMinimiser:
        """Return an approximate minimiser of f over the set; intended for small data.

        Accelerated projected gradient steps stop at a Frank-Wolfe gap of at most `tolerance` (1 +
        |f|), or after `limit` steps. For convex f the gap is an upper bound of f - min f. For
        non-convex f the point is only approximately stationary.
        """
        step = 1.0 / max(self._smoothness, 1e-300)
        x = y = self.start()
        gap, momentum = math.inf, 1.0
        for k in range(limit):
            if k % 10 == 0:
                g = self.gradient(x)
                gap = float(np.vdot(g, x)) - self.minimum(g)[0]
                if gap <= tolerance * (1.0 + abs(self.value(x))):
                    break
            before, x = x, self.prox(y, self.gradient(y), step)
            # Restart where the momentum points uphill (O'Donoghue and Candes 2015).
            uphill = float(np.vdot(y - x, x - before)) > 0.0
            after = 1.0 if uphill else 0.5 + math.sqrt(0.25 + momentum * momentum)
            y = x if uphill else x + (momentum - 1.0) / after * (x - before)
            momentum = after
        return NearMinimiser(x, self.value(x), gap)

    @cached_property
    def best_known(self) -> tuple[float, str] | None:
        """Value of f at its computed minimiser, and its origin as text; None if it is not computed.

        It is computed on first use, if f is convex and the data are small; see `theta_hat`.
        """
        convex = self.data.least_eigenvalue_bound >= self.sensing_variance
        if not convex or self.data.rows.size > _SMALL_ENTRIES:
            return None
        minimiser = self.theta_hat(limit=3000)
        return (
            minimiser.value,
            f"accelerated projected gradients, certified: gap {minimiser.gap:.1e}",
        )

    # --- constants ----------------------------------------------------------------------------

    @cached_property
    def _smoothness(self) -> float:
        """Smoothness L_f: the largest absolute eigenvalue of the Hessian of f.

        The Hessian is the mean of z_i z_i' - w I, with z_i = vec(Z_i) and the variance w of the
        noise in an entry of a sensing matrix.
        """
        w = self.sensing_variance
        return max(self.data.largest_eigenvalue - w, w - self.data.least_eigenvalue_bound)

    @cached_property
    def _mean_squared_smoothness(self) -> float:
        """Mean-squared smoothness L_ms, from the largest eigenvalue of the mean squared Hessian.

        L_ms^2 is the largest eigenvalue of E (z z' - w I)^2, with z = vec(Z_i) for random i, and
        the variance w of the noise in an entry of a sensing matrix.
        """
        w = self.sensing_variance
        return math.sqrt(
            self.data.max_weighted_eigenvalue_bound(self.data.matrix_norms_sq - 2.0 * w) + w * w
        )

    @cached_property
    def _gradient_deviation_bound(self) -> float:
        """Upper bound, valid on the whole set, of the square root of E |grad f_i - grad f|^2."""
        squares = self.data.matrix_norms_sq
        mean = self._gradient_of_squared_loss(np.zeros(self.shape))
        at_zero = float((self.data.y**2 * squares).mean()) - float(np.vdot(mean, mean))
        top = self.data.max_weighted_eigenvalue_bound(squares, centred=True)
        return math.sqrt(max(0.0, at_zero)) + self.set.max_norm * math.sqrt(max(0.0, top))

    def component_smoothness(self) -> Floats:
        """Return each component's smoothness max(|Z_i|_F^2 - w, w), for the sensing variance w."""
        w = self.sensing_variance
        return np.maximum(self.data.matrix_norms_sq - w, w)

    def constants(self, start: Floats) -> Constants:
        """Return the constants of this problem (L_f, D, ...), each with its derivation as text."""
        w, restricted = self.sensing_variance, self.convexity_constants
        corrected = w > 0.0
        return self._with_set_constants(
            n=(self.n, "number of sensing matrices"),
            L_f=(self._smoothness, "largest |eigenvalue| of the Hessian E z z' - w I, z = vec(Z)"),
            L_ms=(
                self._mean_squared_smoothness,
                "root of the largest eigenvalue of E (z z' - w I)^2 = E (|z|^2 - 2 w) z z' + w^2 I",
            ),
            L_max=(
                max(float(self.data.matrix_norms_sq.max()) - w, w),
                "max |Z_i|_F^2 - w, or w if that is larger",
            ),
            L_mean=(
                float(self.component_smoothness().mean()),
                "the mean of |Z_i|_F^2 - w, or w where that is larger",
            ),
            L2_ms=(0.0, "0: every f_i is quadratic"),
            sigma2=(
                self._gradient_deviation_bound**2,
                "(root of the variance at 0 + M root of lambda_max(E |z|^2 z z' - (E z z')^2))^2"
                ": the gradients are affine, |x|_F <= M",
            ),
            delta=(
                self.value(start) + 0.5 * w * self.set.max_norm**2,
                "f(start) + w M^2/2, since f >= -w |x|_F^2/2"
                if corrected
                else "f(start) - 0, since f >= 0",
            ),
            ell=(
                w,
                "w: no f_i, hence not f, curves down by more" if corrected else "0: f is convex",
            ),
            sigma_hat=(
                restricted.sigma_hat if restricted.has_positive_sigma_hat else math.inf,
                restricted.derivation,
            ),
        )

    # --- measures -----------------------------------------------------------------------------

    def measures(self) -> Mapping[str, Measure]:
        """Return the measure rmse_truth if the underlying matrix is known, else no measure."""
        if self.truth is None:
            return {}
        return {"rmse_truth": lambda problem, state: self.rmse_truth(state)}

    def rmse_truth(self, state: State) -> float:
        """Return the root mean square error of the iterate on all entries of the true matrix."""
        return float(np.linalg.norm(state.x - self.truth)) / math.sqrt(math.prod(self.shape))


class RegressionSagaTable(SharedPartSagaTable):
    """SAGA table of each component's product <Z_i, x> and, for li2019's loss (8), its point x.

    All components replaced in one call share their x. So the memory is 16 n bytes. For loss (8), it
    is 8 M N bytes more for each call of which some component is still in the table.
    """

    def __init__(self, problem: MatrixRegression, x: Floats) -> None:
        self._problem = problem
        products = problem.data.products(problem.data.all, x)
        super().__init__(
            problem, products, self._common_part(x) if problem.sensing_variance > 0.0 else None
        )
        self.mean = problem.gradient(x)

    def _common_part(self, x: Floats) -> Floats:
        return -self._problem.sensing_variance * x

    def _add_mean_slope_changes(self, weights: Drawn, x: Floats, g: Floats) -> None:
        indices, counts, size = weights
        data = self._problem.data
        changes = data.products(indices, x) - self._slopes[indices]
        changes *= counts / size if counts.size else 1.0 / size
        loops.add_rows(data.rows, indices, changes, g.reshape(-1))

    def _add_and_replace_slopes(self, weights: Drawn, x: Floats, g: Floats, mean: Floats) -> None:
        indices, counts, size = weights
        data = self._problem.data
        slopes = data.products(indices, x)
        changes = slopes - self._slopes[indices]
        changes *= counts / size if counts.size else 1.0 / size
        sums = g.reshape(-1), mean.reshape(-1)
        loops.replace_slopes(data.rows, indices, changes, slopes, self._slopes, *sums)
