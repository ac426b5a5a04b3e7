"""Robust low-rank matrix recovery over the nuclear-norm ball (shen2019 (4)-(5), qu2018 (9)).

The objective is f(X) = (1/n) sum over observed (i, j) of psi(X_ij - Y_ij), with psi(z) = 1 -
exp(-z^2/(2 sigma)). Each of the n observed entries is a component, so a component gradient and a
component Hessian are one number. With `scaling="sum"` the factor 1/n is dropped, as in shen2019
(4).
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from pfbench.base.arrays import Floats, Integers, LowerUpper
from pfbench.base.checks import check_choice, check_finite_array, check_real
from pfbench.base.constants import Constants
from pfbench.base.errors import InputError
from pfbench.base.protocols import Measure
from pfbench.base.sample import Indices, weight_indices
from pfbench.base.state import State
from pfbench.kernels import welsch
from pfbench.kernels.observed_entries import EntryView, read_entries
from pfbench.points import FactoredMatrix, Pattern, RankOne, SparseOperator, describe, keep
from pfbench.points.atoms import frobenius_norm
from pfbench.points.operators import LinearOperator
from pfbench.points.pattern import check_positions
from pfbench.problems.base import (
    BackendWithStatefulLmo,
    FiniteSum,
    check_dense_point,
    content_digest,
    iterate_chunks,
)
from pfbench.problems.gap_accuracy import GapAccuracyBackend
from pfbench.problems.observations import Observations, OrderedObservations
from pfbench.sets.nuclear import NuclearBall

SUP_SLOPE_SQUARED = math.exp(-1.0)
"""sup of psi'(z)^2 times sigma, attained at z^2 = sigma."""

SUP_THIRD = 1.3801191
"""sup of |psi'''(z)| times sigma^(3/2), attained at z^2 = (3 - sqrt 6) sigma; rounded up."""

INF_CURVATURE = 2.0 * math.exp(-1.5)
"""-inf of psi''(z) times sigma, attained at z^2 = 3 sigma."""


@dataclass(frozen=True, eq=False)
class RobustMatrixRecovery(FiniteSum):
    """Robust low-rank matrix recovery from given observed entries.

    Parameters
    ----------
    observations
        Positions and entries; all must be finite.
    radius
        Radius of the nuclear-norm ball.
    sigma
        Scale of the loss, in squared units of the entries.
    scaling
        "mean" for (1/n) sum psi, "sum" for sum psi.
    tolerance
        Relative residual at which a run's linear minimisation stops (heuristic; the measured gap
        is certified separately).
    gap_share
        Relative error of the gap along a vertex at which a minimisation also stops; see
        `pfbench.problems.gap_accuracy`. With 0, only `tolerance` matters. Default: 0 for up to
        50 000 observed entries, 1/4 for more.

    Raises
    ------
    InputError
        If the data are empty, not finite, repeated, outside the matrix, or a number is out of
        range.
    """

    name: ClassVar[str] = "robust-matrix-recovery"
    source: ClassVar[str] = "shen2019 (4)-(5), section 6; qu2018 (9)"

    observations: Observations | OrderedObservations
    radius: float = 100.0
    sigma: float = 1.0
    scaling: str = "mean"
    tolerance: float = 1e-4
    gap_share: float | None = None

    def __post_init__(self) -> None:
        check_real("radius", self.radius, above=0.0)
        check_real("sigma", self.sigma, minimum=1e-100, upper=1e100)
        check_real("tolerance", self.tolerance, above=0.0, upper=1.0)
        if self.gap_share is not None:
            check_real("gap_share", self.gap_share, minimum=0.0, upper=0.25)
        check_choice("scaling", self.scaling, ("mean", "sum"))
        data = self.observations
        if isinstance(data, OrderedObservations):
            positions: tuple[int, ...] = (data.pattern.n,)
        else:
            positions = np.shape(data.rows)
        check_finite_array("the observed entries", data.values, shape=positions)
        check_finite_array(
            "the held-out entries", data.heldout_values, shape=np.shape(data.heldout_rows)
        )
        _ = self._observations_by_entry  # refuses positions that repeat or lie outside
        check_positions("held-out", data.heldout_rows, data.heldout_columns, data.shape)

    # --- data ---------------------------------------------------------------------------------

    @cached_property
    def _observations_by_entry(self) -> tuple[Pattern, Floats]:
        data = self.observations
        if isinstance(data, OrderedObservations):
            return data.pattern, np.ascontiguousarray(data.entries, dtype=np.float64)
        pattern, order = Pattern.from_coordinates(data.rows, data.columns, data.shape)
        values = np.ascontiguousarray(data.values, dtype=np.float64)[order]
        return pattern, values.copy() if isinstance(order, slice) else values

    @property
    def pattern(self) -> Pattern:
        """Positions of the observed entries in row order; gradients have the same order."""
        return self._observations_by_entry[0]

    @property
    def targets(self) -> Floats:
        """Observed entries Y in row order, shape (n,)."""
        return self._observations_by_entry[1]

    @cached_property
    def entries(self) -> welsch.WelschEntries:
        """Observed entries in row order and the scale sigma, as compiled loops read them."""
        return welsch.WelschEntries(*self.pattern.rows, self.targets, self.sigma)

    @property
    def n(self) -> int:
        """Number of observed entries."""
        return self.pattern.n

    @property
    def shape(self) -> tuple[int, int]:
        """Shape of a point: (M, N)."""
        return self.observations.shape

    @cached_property
    def set(self) -> NuclearBall:
        """Feasible set: the nuclear-norm ball."""
        return NuclearBall(self.shape, self.radius)

    @cached_property
    def digest(self) -> str:
        """Hash of the observed and held-out entries and of the parameters."""
        numbers: tuple[Any, ...] = (self.shape, self.radius, self.sigma, self.scaling)
        # Without a share the hash is that of problems from before there was one.
        share = self._gap_share
        numbers += (self.tolerance, *([share] if share else []))
        data = self.observations
        return content_digest(
            numbers,
            *self._row_and_column_chunks(),
            *(iterate_chunks(each, np.int64) for each in (data.heldout_rows, data.heldout_columns)),
            *(iterate_chunks(each, np.float64) for each in (data.values, data.heldout_values)),
        )

    def _row_and_column_chunks(self) -> Iterator[Iterator[Integers]]:
        """Yield an iterator over chunks of the entries' row numbers, then one over column numbers.

        All chunks are int64 arrays.
        """
        data = self.observations
        if isinstance(data, OrderedObservations):
            yield (data.pattern.row_numbers(part) for part in data.pattern.slices())
            yield iterate_chunks(data.pattern.rows.indices, np.int64)
        else:
            yield iterate_chunks(data.rows, np.int64)
            yield iterate_chunks(data.columns, np.int64)

    @property
    def _gap_share(self) -> float:
        default = 0.25 if self.n > 50_000 else 0.0
        return default if self.gap_share is None else self.gap_share

    @property
    def scale(self) -> float:
        """Weight of each entry's loss in f: 1/n, or 1 for scaling="sum"."""
        return 1.0 / self.n if self.scaling == "mean" else 1.0

    @property
    def component_scale(self) -> float:
        """Weight of an entry's loss in its component f_i, which is n times `scale`."""
        return self.scale * self.n

    def start(self) -> FactoredMatrix:
        """Return the zero matrix."""
        return FactoredMatrix.zero(self.pattern)

    def open(self, rng: np.random.Generator) -> BackendWithStatefulLmo:
        """Return a new backend for one run, whose linear minimisation is warm-started."""
        minimiser = self.set.make_warm_lmo(rng, self.tolerance)
        if share := self._gap_share:
            return GapAccuracyBackend(self, self.as_operator, minimiser, share)
        return BackendWithStatefulLmo(self, lambda g: minimiser.lo(self.as_operator(g)))

    # --- the function -------------------------------------------------------------------------

    def value(self, x: FactoredMatrix) -> float:
        """Return f(x); a recorded Frank-Wolfe step of x is included, but not applied to x."""
        loops = welsch.sum_loss_rows, welsch.sum_loss_parallel
        return self.scale * float(self.pattern.run_loop(*loops, self.entries, self.entry_view(x)))

    def gradient(self, x: FactoredMatrix) -> Floats:
        """Return the gradient on the observed entries, shape (n,).

        A pending step that x stores is applied in the same loop, unless x is a view.
        """
        at_x, g = self.entry_view(x), self.pattern.vector_pool.take()
        if x.is_borrowed:
            only_read = welsch.write_slope_rows, welsch.write_slopes_parallel
            self.pattern.run_loop(*only_read, self.entries, at_x, self.scale, g)
        else:
            loops = welsch.fw_step_and_gradient_rows, welsch.fw_step_and_gradient_parallel
            x.apply_step_in_loop(
                lambda reading: self.pattern.run_loop(*loops, self.entries, reading, self.scale, g)
            )
        return g

    def as_operator(self, g: Any) -> LinearOperator:
        """Return a gradient, shape (n,), or a result of `tilt`, as an M x N linear operator."""
        if isinstance(g, np.ndarray):
            return SparseOperator(self.pattern, check_dense_point(g, (self.n,)))
        operator: LinearOperator = g
        return operator

    @property
    def lacks(self) -> Mapping[str, str]:
        """Reason for each requirement that the problem does not meet, keyed by the requirement."""
        return {**super().lacks, "local_lo": "its points are factored matrices"}

    def entry_view(self, x: FactoredMatrix) -> EntryView:
        """Return a point's entries for compiled loops; raise if it observes other positions."""
        if not (isinstance(x, FactoredMatrix) and self.pattern.equals(x.pattern)):
            raise InputError(
                f"{describe(x)} does not store the entries that {self.name} observes: use a point "
                "of this problem."
            )
        return x.entry_view()

    def minimum(self, g: Any) -> LowerUpper:
        """Return certified (lower, upper) bounds of the minimum of <g, v> over the ball."""
        return self.set.minimum(self.as_operator(g))

    def prox(self, x: FactoredMatrix, g: Any, lam: float) -> FactoredMatrix:
        """Return the projection of x - lam g onto the nuclear-norm ball.

        Raises
        ------
        RefusedError
            If the matrix has more than 4 000 000 entries.
        """
        self.set.check_projectable_size()
        projected = self.set.project_factors(x.matrix() - lam * self.as_operator(g).dense())
        return FactoredMatrix.from_factors(self.pattern, projected)

    def lo(self, g: Any) -> RankOne:
        """Return a vertex that minimises <g, v>, computed from the leading singular pair of g.

        Here g is a gradient on the observed entries, possibly plus c (x - u) for two points.
        """
        return self.set.lo(self.as_operator(g))

    def batch(self, sample: Indices, x: FactoredMatrix) -> Floats:
        """Return the mean of the sampled component gradients, shape (n,)."""
        indices, weights = weight_indices(sample)
        return self._scatter(indices, weights, self._slopes(indices, x))

    def difference(self, sample: Indices, x: FactoredMatrix, y: FactoredMatrix) -> Floats:
        """Return the mean of grad f_i(x) - grad f_i(y) over the sample, shape (n,)."""
        indices, weights = weight_indices(sample)
        return self._scatter(indices, weights, self._slopes(indices, x) - self._slopes(indices, y))

    def _slopes(self, indices: Integers, x: FactoredMatrix) -> Floats:
        """Return the loss derivatives of the entries with the given indices."""
        return welsch.slopes_at_positions(indices, self.entries, self.entry_view(x))

    def _scatter(self, indices: Integers, weights: Floats, *factors: Floats) -> Floats:
        """Return the mean gradient with weights times factors at the sampled positions, else 0."""
        weights *= self.component_scale
        for factor in factors:
            weights *= factor
        g = self.pattern.vector_pool.take()
        g.fill(0.0)
        np.add.at(g, indices, weights)
        return g

    def hessian(self, s: FactoredMatrix) -> "RecoveryHessian":
        """Return all component Hessians at s; each of them is stored as one number."""
        return RecoveryHessian(self, s)

    def table(self, x: FactoredMatrix) -> "RecoverySagaTable":
        """Return a SAGA table of all component gradients at x; each is stored as one number."""
        return RecoverySagaTable(self, x)

    # --- constants ----------------------------------------------------------------------------

    def component_smoothness(self) -> Floats:
        """Return the smoothness of each component, shape (n,), which is L_max for all of them."""
        return np.full(self.n, self.component_scale / self.sigma)

    def constants(self, start: FactoredMatrix) -> Constants:
        """Return the constants of this problem (L_f, D, ...), each with its derivation as text."""
        n, s, sigma = self.n, self.component_scale, self.sigma
        s1 = s / sigma
        s3 = s * SUP_THIRD * sigma**-1.5
        unit = "" if self.scaling == "mean" else "n "
        return Constants.from_derivations(
            n=(n, "number of observed entries"),
            D=(self.set.diameter, "2 radius: the distance of X and -X, rank one, on the boundary"),
            L_f=(s1 / n, f"sup|psi''| = {unit}1/sigma at 0; each entry carries 1/n of it"),
            L_ms=(
                s1 / math.sqrt(n),
                "E_i|grad f_i(x)-grad f_i(y)|^2 = (1/n) sum (psi'(x_i)-psi'(y_i))^2 <= "
                f"({unit}1/sigma)^2 |x-y|^2 / n",
            ),
            L_max=(s1, f"sup|psi''| = {unit}1/sigma"),
            L_mean=(s1, "L_max, which all components have"),
            L2_ms=(
                s3 / math.sqrt(n),
                f"(1/n) sum of (sup|psi'''| (x_i-y_i) u_i)^2, sup|psi'''| = {unit}1.38012 "
                "sigma^-1.5, divided by sqrt n",
            ),
            sigma2=(
                s * s * (1.0 - 1.0 / n) * SUP_SLOPE_SQUARED / sigma,
                "(1/n) sum psi'^2 - (1/n^2) sum psi'^2 <= (1-1/n) sup psi'^2, with "
                f"sup psi'^2 = {unit}{unit}exp(-1)/sigma",
            ),
            delta=(self.value(start), "f(start) - 0, since psi >= 0"),
            M=(self.radius, "radius: a matrix's Frobenius norm is at most its nuclear norm"),
            ell=(
                s1 * INF_CURVATURE / n,
                f"-inf psi'' = {unit}2 exp(-1.5)/sigma; each entry carries 1/n of it",
            ),
        )

    # --- measures -----------------------------------------------------------------------------

    def measures(self) -> Mapping[str, Measure]:
        """Return rmse_heldout, rmse_heldout_mean and rmse_truth, as far as their data are known."""
        own: dict[str, Measure] = {}
        data = self.observations
        if data.heldout_values.size:
            own["rmse_heldout"] = lambda problem, state: self.rmse_heldout(state)
            own["rmse_heldout_mean"] = lambda problem, state: self.rmse_heldout_mean
        if data.truth is not None:
            own["rmse_truth"] = lambda problem, state: self.rmse_truth(state)
        return own

    def rmse_heldout(self, state: State) -> float:
        """Return the root mean square error of the iterate on the held-out entries."""
        data = self.observations
        predicted = state.x.entries(data.heldout_rows, data.heldout_columns)
        return _rms(predicted - data.heldout_values)

    @cached_property
    def rmse_heldout_mean(self) -> float:
        """Root mean square error if every held-out entry is predicted by the observed mean."""
        data = self.observations
        return _rms(float(data.values.mean()) - data.heldout_values)

    def rmse_truth(self, state: State) -> float:
        """Return the root mean square error of the iterate on all entries of the true matrix."""
        truth = self.observations.truth
        assert truth is not None
        own = state.x.factors()
        error = frobenius_norm(own, truth._replace(weights=-truth.weights))
        return error / math.sqrt(self.shape[0] * self.shape[1])


def _rms(errors: Floats) -> float:
    return math.sqrt(float(errors @ errors) / errors.size)


class RecoveryHessian:
    """Component Hessians at a point s, stored as second derivatives of the loss (8 n bytes)."""

    def __init__(self, problem: RobustMatrixRecovery, s: FactoredMatrix) -> None:
        self._problem = problem
        self._curvature = s.values()
        self._curvature -= problem.targets
        welsch.write_curvatures(self._curvature, problem.sigma, self._curvature)

    def product(self, x: FactoredMatrix, y: FactoredMatrix) -> Floats:
        """Return the mean Hessian times x - y, shape (n,)."""
        g = x.values()
        g -= y.values()
        g *= self._curvature
        g *= self._problem.scale
        return g

    def batch(self, sample: Indices, x: FactoredMatrix, y: FactoredMatrix) -> Floats:
        """Return the mean of the sampled component Hessians times x - y, shape (n,)."""
        problem, (indices, weights) = self._problem, weight_indices(sample)
        at_x, at_y = (
            read_entries(indices, problem.pattern.rows, problem.entry_view(z)) for z in (x, y)
        )
        return problem._scatter(indices, weights, self._curvature[indices], at_x - at_y)


class RecoverySagaTable:
    """SAGA table with the loss derivative of each of the n observed entries, in 8 n bytes."""

    def __init__(self, problem: RobustMatrixRecovery, x: FactoredMatrix) -> None:
        self._problem = problem
        self.mean = problem.gradient(keep(x))

    def difference(self, sample: Indices, x: FactoredMatrix) -> Floats:
        """Return the mean over the sample of (grad f_i(x) - stored gradient of f_i), shape (n,)."""
        indices, weights = weight_indices(sample)
        n = self._problem.n
        change = self._component_slopes(indices, x) - n * self.mean[indices]
        return np.asarray(np.bincount(indices, weights * change, n), dtype=np.float64)

    def replace(self, sample: Indices, x: FactoredMatrix) -> Floats:
        """Return `difference(sample, x)`, then store grad f_i(x) for each sampled component i."""
        change = self.difference(sample, x)
        indices, _ = weight_indices(sample)
        fresh = self.mean.copy()
        fresh[indices] = self._component_slopes(indices, x) / self._problem.n
        self.mean = fresh
        return change

    def _component_slopes(self, indices: Integers, x: FactoredMatrix) -> Floats:
        return self._problem.component_scale * self._problem._slopes(indices, x)
