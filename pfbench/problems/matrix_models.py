"""Finite sums over matrices of moderate size, with dense arrays as points.

Each component depends on a matrix X, shape (d, m), through one data row a_i: f_i(X) = phi_i(z_i).
In multiclass problems, z_i = X'a_i has an entry for each of the m classes. In multitask problems,
z_i = <a_i, x_t> depends on the column x_t of the row's task. So a component gradient is determined
by a_i and the slope of phi_i, which has m entries or one. Compiled loops read the transpose of X,
with one contiguous row for each class or task.
"""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from pfbench.base.arrays import Floats, Integers
from pfbench.base.checks import check_finite_array, check_real
from pfbench.base.constants import Constants
from pfbench.base.errors import InputError
from pfbench.base.protocols import Backend
from pfbench.base.sample import Indices
from pfbench.problems.base import (
    BackendWithStatefulLmo,
    ComponentHessiansAtPoint,
    FiniteSum,
    check_dense_point,
    content_digest,
    index_weights,
)
from pfbench.sets.body import ConvexBody
from pfbench.sets.nuclear import NuclearBall

Numbers = slice | Integers
"""Component numbers: a range of all of them, or those of a sample."""

Slopes = Callable[[Any, Numbers], Floats]
"""Slopes of some rows, shape (k, width), from the rows and their numbers."""

_BLOCK_ENTRIES = 1 << 17
"""Number of entries of the rows processed together, about 1 MB: they stay in the cache."""


class MatrixProblem(FiniteSum):
    """Finite sum of functions of an M x N matrix, with arrays as points and gradients.

    Over the nuclear-norm ball, each linear minimisation of a run is warm-started with the last
    vertex.
    """

    set: ConvexBody
    tolerance: float
    """Relative residual at which a run's linear minimisation over the nuclear-norm ball stops."""

    @property
    @abstractmethod
    def shape(self) -> tuple[int, int]:
        """Shape of a point: (M, N)."""

    def _check_set(self) -> None:
        """Raise for a tolerance out of range, or a set whose points have another shape."""
        check_real("tolerance", self.tolerance, above=0.0, upper=1.0)
        if self.set.shape != self.shape:
            raise InputError(
                f"the set has points of shape {self.set.shape}, and the problem has points of "
                f"shape {self.shape}: make them equal."
            )

    def open(self, rng: np.random.Generator) -> Backend:
        """Return the oracles of one run; over a nuclear-norm ball, `lo` has a warm start."""
        if not isinstance(self.set, NuclearBall):
            return self
        return BackendWithStatefulLmo(self, self.set.make_warm_lmo(rng, self.tolerance).lo)

    def _with_set_constants(self, **statement: tuple[float, str]) -> Constants:
        """Return constants together with those that the set determines, such as the diameter D."""
        exact = "exact" if self.set.diameter_is_exact else "an upper bound"
        return Constants.from_derivations(
            D=(self.set.diameter, f"diameter of the set {self.set.name}, {exact}"),
            M=(self.set.max_norm, f"largest Frobenius norm in the set {self.set.name}"),
            **statement,
        )


@dataclass(frozen=True, eq=False)
class MatrixModel(MatrixProblem):
    """Base class of finite sums in which f_i depends on the product of data row a_i and matrix X.

    Parameters
    ----------
    features
        Rows a_i, shape (n, d).
    labels
        One number for each row, shape (n,).
    set
        The feasible set, of matrices of the problem's shape.
    tolerance
        Relative residual at which a run's linear minimisation over the nuclear-norm ball stops
        (heuristic; the measured gap is certified separately).

    Raises
    ------
    InputError
        If the data are empty, not finite, or of differing lengths, or a number is out of range.
    """

    features: Floats
    labels: npt.NDArray[Any]
    set: ConvexBody
    tolerance: float = 1e-4

    def __post_init__(self) -> None:
        check_finite_array("the features", self.features)
        if np.ndim(self.features) != 2 or 0 in np.shape(self.features):
            raise InputError(
                f"the features have shape {np.shape(self.features)}: give a matrix with at least "
                "one row and one feature."
            )
        check_finite_array("the labels", self.labels, shape=(self.n,))

    # --- data -------------------------------------------------------------------------------------

    @property
    def n(self) -> int:
        """Number of data rows, which is the number of components."""
        return len(self.features)

    @property
    def d(self) -> int:
        """Number of features."""
        return int(np.shape(self.features)[1])

    @cached_property
    def digest(self) -> str:
        """Hash of the data and of the parameters."""
        return content_digest((self.shape, self.set, self.tolerance), *self._data)

    @property
    @abstractmethod
    def _data(self) -> tuple[npt.NDArray[Any], ...]:
        """Arrays that define the problem; the first one has the data rows, shape (n, d)."""

    @cached_property
    def _row_norms_squared(self) -> Floats:
        rows = self._data[0]
        return np.asarray(np.einsum("ij,ij->i", rows, rows))

    # --- the function -----------------------------------------------------------------------------

    def gradient(self, x: Floats) -> Floats:
        """Return the gradient at x, in the shape of x."""
        return self.mean_gradient(None, self.slope_function(x))

    def batch(self, sample: Indices, x: Floats) -> Floats:
        """Return the mean of the sampled component gradients at x, in the shape of x."""
        return self.mean_gradient(sample, self.slope_function(x))

    def difference(self, sample: Indices, x: Floats, y: Floats) -> Floats:
        """Return the mean of grad f_i(x) - grad f_i(y) over the sample, in the shape of x."""
        at_x, at_y = self.slope_function(x), self.slope_function(y)
        return self.mean_gradient(sample, lambda *source: at_x(*source) - at_y(*source))

    def hessian(self, s: Floats) -> ComponentHessiansAtPoint:
        """Return the component Hessians at s, stored as second derivatives of the losses.

        They take 8 n width bytes.
        """
        view, curvatures = self.transpose_point(s), np.empty((self.n, self.slopes_per_component))
        for part in self.cache_sized_slices(self.n):
            curvatures[part] = self.component_curvature_data(self.select_components(part), view)

        def apply_hessian(sample: Indices | None, u: Floats) -> Floats:
            view = self.transpose_point(u)
            return self.mean_gradient(
                sample,
                lambda rows, point: self.apply_class_curvatures(rows, curvatures[point], view),
            )

        return ComponentHessiansAtPoint(apply_hessian)

    def table(self, x: Floats) -> "MatrixSagaTable":
        """Return a SAGA table that stores the gradient of every component at x."""
        return MatrixSagaTable(self, x)

    # --- components -------------------------------------------------------------------------------

    @property
    @abstractmethod
    def slopes_per_component(self) -> int:
        """Number of entries (`width`) of the derivative phi_i' of one component's loss."""

    @abstractmethod
    def select_components(self, numbers: Numbers) -> Any:
        """Return the rows with the given numbers, in the form that `component_slopes` reads."""

    @abstractmethod
    def component_slopes(self, rows: Any, x_transposed: Floats) -> Floats:
        """Return the derivatives phi_i' of the losses of k rows at a point, shape (k, width).

        The point is passed as its transpose.
        """

    @abstractmethod
    def component_curvature_data(self, rows: Any, x_transposed: Floats) -> Floats:
        """Return the data of k rows at a point that `apply_class_curvatures` needs."""

    @abstractmethod
    def apply_class_curvatures(self, rows: Any, curvatures: Floats, u_transposed: Floats) -> Floats:
        """Return each row's second loss derivative, times the product of the row and a direction.

        The result has shape (k, width) for k rows. The direction is passed as its transpose.
        """

    @abstractmethod
    def add_gradients(self, rows: Any, slopes: Floats, g: Floats) -> None:
        """Add the sum of the rows' loss gradients to g, with the shape of a transposed point.

        The loss derivatives of the rows are passed as `slopes`.
        """

    def cache_sized_slices(self, count: int) -> list[slice]:
        """Return slices that divide `count` rows into blocks that fit the CPU cache."""
        size = max(1, _BLOCK_ENTRIES // max(self.d, self.slopes_per_component))
        return [slice(first, min(first + size, count)) for first in range(0, count, size)]

    def transpose_point(self, x: Floats) -> Floats:
        """Return the contiguous transpose of a point; raise for a point of another shape.

        Compiled loops do not check shapes.
        """
        return contiguous_transpose(check_dense_point(x, self.shape))

    def slope_function(self, x: Floats) -> Slopes:
        """Return a function that computes the loss derivatives of given rows at the point x."""
        view = self.transpose_point(x)
        return lambda rows, _: self.component_slopes(rows, view)

    def mean_gradient(self, sample: Indices | None, slope_function: Slopes) -> Floats:
        """Return the mean gradient over a sample, computed from the loss derivatives of its rows.

        Parameters
        ----------
        sample
            Sample of component numbers; None for all components.
        slope_function
            Called with rows and their component numbers; returns shape (k, width).
        """
        if sample is None:
            return self.sum_weighted_gradients(None, np.full(self.n, 1.0 / self.n), slope_function)
        return self.sum_weighted_gradients(*index_weights(sample, self.n), slope_function)

    def sum_weighted_gradients(
        self, indices: Integers | None, weights: Floats, slope_function: Slopes
    ) -> Floats:
        """Return the weighted sum of component gradients; `slope_function` computes the slopes."""
        g = np.zeros(self.shape[::-1])
        for part in self.cache_sized_slices(weights.size):
            numbers = part if indices is None else indices[part]
            rows = self.select_components(numbers)
            self.add_gradients(rows, weights[part, None] * slope_function(rows, numbers), g)
        return contiguous_transpose(g)

    def sum_gradients_of_slopes(self, indices: Integers, weights: Floats, slopes: Floats) -> Floats:
        """Return the weighted sum of component gradients, computed from their loss derivatives."""
        g = np.zeros(self.shape[::-1])
        for part in self.cache_sized_slices(weights.size):
            self.add_gradients(
                self.select_components(indices[part]), weights[part, None] * slopes[part], g
            )
        return contiguous_transpose(g)


def contiguous_transpose(x: Floats) -> Floats:
    """Return the transpose of x as a contiguous array."""
    return np.ascontiguousarray(x.T)


def as_immutable_array(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return a contiguous read-only array: `array` itself if it is read-only, else a copy."""
    if array.flags.writeable or not array.flags.c_contiguous:
        array = array.copy()
        array.flags.writeable = False
    return array


class MatrixSagaTable:
    """SAGA table with the loss derivatives of each data row.

    It takes 8 n width bytes, where the width is the number of classes, or 1 for separate tasks. For
    108 000 rows of 1000 classes the table takes 0.9 GB. The full gradients would take d m numbers
    for each row.
    """

    def __init__(self, problem: MatrixModel, x: Floats) -> None:
        self._problem = problem
        view = problem.transpose_point(x)
        self._slopes = np.empty((problem.n, problem.slopes_per_component))
        for part in problem.cache_sized_slices(problem.n):
            self._slopes[part] = problem.component_slopes(problem.select_components(part), view)
        self.mean = problem.mean_gradient(None, lambda rows, numbers: self._slopes[numbers])

    def difference(self, sample: Indices, x: Floats) -> Floats:
        """Return the mean over the sample of (grad f_i(x) - stored gradient of f_i)."""
        at_x = self._problem.slope_function(x)
        return self._problem.mean_gradient(
            sample, lambda *source: at_x(*source) - self._slopes[source[1]]
        )

    def replace(self, sample: Indices, x: Floats) -> Floats:
        """Return `difference(sample, x)`, then store grad f_i(x) for each sampled component i."""
        problem, view = self._problem, self._problem.transpose_point(x)
        indices, weights = index_weights(sample, problem.n)
        fresh = np.empty((indices.size, problem.slopes_per_component))
        for part in problem.cache_sized_slices(indices.size):
            fresh[part] = problem.component_slopes(problem.select_components(indices[part]), view)
        moved = fresh - self._slopes[indices]
        change = problem.sum_gradients_of_slopes(indices, weights, moved)
        distinct, first = np.unique(indices, return_index=True)
        shares = np.full(distinct.size, 1.0 / problem.n)
        self.mean = self.mean + problem.sum_gradients_of_slopes(distinct, shares, moved[first])
        self._slopes[indices] = fresh
        return change
