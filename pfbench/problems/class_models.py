"""Multinomial logistic regression, and multitask learning, over a set of matrices (qu2018)."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from pfbench.base.arrays import Floats, Integers
from pfbench.base.constants import Constants
from pfbench.base.sample import Indices, weight_indices
from pfbench.kernels import multitask_kernels
from pfbench.kernels.multitask_kernels import TaskData
from pfbench.kernels.numba_compilation import thread_count
from pfbench.problems.linear_losses import Loss, derive_constants
from pfbench.problems.matrix_models import (
    MatrixModel,
    Numbers,
    as_immutable_array,
    contiguous_transpose,
)
from pfbench.problems.moments import (
    eigenvalue_bound_probability_note,
    eigenvalue_upper_bound,
    max_quadratic_form,
    second_moment,
)
from pfbench.sets.norms import NormBall

SOFTMAX = Loss(
    math.sqrt(2.0),
    0.5,
    0.27216553,
    0.0,
    "log sum exp: diag(p) - pp' <= 1/2, attained where two classes have probability 1/2; |phi'''| "
    "<= sqrt 2/(3 sqrt 3) is the largest third central moment of a unit vector",
)
"""Softmax loss; its third derivative is largest for u = (1, -1)/sqrt 2, p = (1 -+ 1/sqrt 3)/2."""


@dataclass(frozen=True, eq=False)
class MulticlassLogistic(MatrixModel):
    """Multinomial logistic regression of class labels; a point is the matrix of class weights.

    f_i(X) = log sum_c exp<a_i, x_c> - <a_i, x_(y_i)> for data row a_i, its label y_i, and the
    columns x_c of X. Labels are 0 to classes - 1; `classes` defaults to the largest label plus 1.
    The other parameters are those of `MatrixModel`.
    """

    name = "multiclass-logistic"
    source = "qu2018 section 1 (Zhang et al. 2012, Dudik et al. 2012)"

    classes: int | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_set()
        _ = self._data  # a later change of the arrays does not reach the problem

    @cached_property
    def _data(self) -> tuple[Floats, Integers]:
        rows = np.asarray(self.features, dtype=np.float64)
        return as_immutable_array(rows), np.asarray(self.labels).astype(np.int64)

    @property
    def shape(self) -> tuple[int, int]:
        """Shape of a point: (d, classes)."""
        return self.d, self.slopes_per_component

    @cached_property
    def slopes_per_component(self) -> int:
        """Number of classes, which is the number of loss derivatives of one component."""
        return int(self._data[1].max()) + 1 if self.classes is None else int(self.classes)

    @property
    def properties(self) -> frozenset[str]:
        """Names of the known properties of f: "convex"."""
        return frozenset({"convex"})

    def select_components(self, numbers: Numbers) -> tuple[Floats, Integers]:
        """Return the rows, shape (k, d), and the labels, shape (k,), of the k given components."""
        rows, labels = self._data
        return rows[numbers], labels[numbers]

    def value(self, x: Floats) -> float:
        """Return f(x)."""
        view, total = self.transpose_point(x), 0.0
        for part in self.cache_sized_slices(self.n):
            rows, labels = self.select_components(part)
            z = rows @ view.T
            top = z.max(axis=1)
            sums = np.exp(z - top[:, None]).sum(axis=1)
            total += float((np.log(sums) + top - z[np.arange(labels.size), labels]).sum())
        return total / self.n

    def component_slopes(self, rows: tuple[Floats, Integers], x_transposed: Floats) -> Floats:
        """Return k rows' loss derivatives: class probabilities minus unit vectors of labels."""
        labels = rows[1]
        p = self.component_curvature_data(rows, x_transposed)
        p[np.arange(labels.size), labels] -= 1.0
        return p

    def component_curvature_data(
        self, rows: tuple[Floats, Integers], x_transposed: Floats
    ) -> Floats:
        """Return the class probabilities of k rows at a point, shape (k, classes).

        The second derivative of phi_i is diag(p) - pp'.
        """
        z = rows[0] @ x_transposed.T
        z -= z.max(axis=1)[:, None]
        p = np.exp(z, out=z)
        p /= p.sum(axis=1)[:, None]
        return p

    def apply_class_curvatures(
        self, rows: tuple[Floats, Integers], curvatures: Floats, u_transposed: Floats
    ) -> Floats:
        """Return each row's loss Hessian times the product of the row and a direction U.

        It is (diag(p) - pp') U'a for a row a with the class probabilities p.
        """
        z = curvatures * (rows[0] @ u_transposed.T)
        return np.asarray(z - curvatures * z.sum(axis=1)[:, None])

    def add_gradients(self, rows: tuple[Floats, Integers], slopes: Floats, g: Floats) -> None:
        """Add the sum of the rows' loss gradients to g, with the shape of a transposed point."""
        g += slopes.T @ rows[0]

    @cached_property
    def _moment_eigenvalue_bounds(self) -> list[float]:
        """Upper bounds of lambda_max(E |a|^(2 k) a a') over the data rows a, for k = 0, 1, 2."""
        squares = self._row_norms_squared
        return [eigenvalue_upper_bound(self._data[0], squares**k / self.n) for k in range(3)]

    def smoothness_in_norm(self, norm: NormBall) -> tuple[float, str] | None:
        """Return an upper bound of the smoothness of f in `norm`, with its derivation.

        It is half the maximum of <X, E a a' X> over the norm's unit ball, or half an upper bound of
        that maximum, since the Hessian diag(p) - pp' of the softmax loss is at most 1/2.
        """
        result = max_quadratic_form(norm, second_moment(self._data[0]), self.slopes_per_component)
        return result and (0.5 * result[0], f"half of {result[1]}, with G = E a a'")

    def component_smoothness(self) -> Floats:
        """Return the smoothness L_i = |a_i|^2/2 of each component, shape (n,)."""
        return 0.5 * self._row_norms_squared

    def constants(self, start: Floats) -> Constants:
        """Return the constants of this problem (L_f, D, ...), each with its derivation as text."""
        moments, squares = self._moment_eigenvalue_bounds, self._row_norms_squared
        certified = eigenvalue_bound_probability_note(self._data[0])
        derived = derive_constants(SOFTMAX, moments, squares, certified)
        derived["sigma2"] = (
            2.0 * float(squares.mean()),
            "2 E|a|^2: |softmax - e_y|^2 <= 2 (1 - p_y)^2 <= 2",
        )
        return self._with_set_constants(
            n=(self.n, "number of rows"),
            L_mean=(0.5 * float(squares.mean()), "E|a|^2/2"),
            delta=(self.value(start), "f(start) - 0, since phi > 0"),
            **derived,
        )


_SERIAL_ENTRIES = 1 << 20
"""Number of entries of the data up to which one thread handles all rows."""

SIGMOID = Loss(
    8.0 / 27.0,
    0.15405858,
    0.20202301,
    0.12020441,
    "s^2, s = 1/(1 + exp(-z)): |phi'| <= 8/27 at s = 2/3, -0.12020 <= phi'' <= 0.15406 at s = (15 "
    "+- sqrt 33)/24, |phi'''| <= 0.20202 at s = 0.63626",
)
"""Squared sigmoid; the bounds are rounded up."""


@dataclass(frozen=True, eq=False)
class MultitaskSigmoid(MatrixModel):
    """Binary classification for several tasks with a squared sigmoid loss.

    Component i is one row a_i of one task t, as qu2018 counts samples (m K n of them); f is their
    mean, with f_i(X) = (y_i - 1/(1 + exp(<a_i, x_t> + b_t)))^2. The component equals s^2 with
    s = 1/(1 + exp(-c z)), where c = 1 for y = 1 and c = -1 for y = 0. Labels are 0 and 1. The
    other parameters are those of `MatrixModel`.

    Parameters
    ----------
    tasks
        The task of each row, whole numbers from 0 up, shape (n,); every task needs a row.
        Components are numbered by task, and inside a task in the given order.
    offsets
        b_t, shape (m,); 0 if not given. They are not optimised: the set bounds X alone.
    """

    name = "multitask-sigmoid"
    source = "qu2018 (2), section 6.1.2"

    tasks: npt.NDArray[Any] = field(kw_only=True)
    offsets: Floats | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_set()
        _ = self._data  # a later change of the arrays does not reach the problem

    @cached_property
    def _data(self) -> TaskData:
        rows, labels = np.asarray(self.features, dtype=np.float64), np.asarray(self.labels)
        tasks = np.asarray(self.tasks).astype(np.int64)
        if (np.diff(tasks) < 0).any():
            order = np.argsort(tasks, kind="stable")
            rows, labels, tasks = rows[order], labels[order], tasks[order]
        m = int(tasks[-1]) + 1
        offsets = np.zeros(m) if self.offsets is None else np.array(self.offsets, dtype=np.float64)
        bounds = np.searchsorted(tasks, np.arange(m + 1))
        return multitask_kernels.TaskData(
            as_immutable_array(rows), 2.0 * labels - 1.0, tasks, bounds, offsets
        )

    @property
    def shape(self) -> tuple[int, int]:
        """Shape of a point: (d, number of tasks)."""
        return self.d, self._data.offsets.size

    @property
    def slopes_per_component(self) -> int:
        """Number of loss derivatives of one component, which is 1."""
        return 1

    @cached_property
    def _is_serial(self) -> bool:
        return thread_count() == 1 or self._data.values.size <= _SERIAL_ENTRIES

    def value(self, x: Floats) -> float:
        """Return f(x), reading each data row once."""
        parts = np.empty(self.shape[1])
        run = (
            multitask_kernels.write_task_losses_serial
            if self._is_serial
            else multitask_kernels.write_task_losses_parallel
        )
        run(self._data, self.transpose_point(x), parts)
        return float(parts.sum()) / self.n

    def gradient(self, x: Floats) -> Floats:
        """Return the gradient at x, shape (d, tasks), reading each data row once."""
        g = np.zeros(self.shape[::-1])
        run = (
            multitask_kernels.add_gradient_serial
            if self._is_serial
            else multitask_kernels.add_gradient_parallel
        )
        run(self._data, self.transpose_point(x), 1.0 / self.n, g)
        return contiguous_transpose(g)

    def batch(self, sample: Indices, x: Floats) -> Floats:
        """Return the mean of the sampled component gradients at x, shape (d, tasks)."""
        g = np.zeros(self.shape[::-1])
        multitask_kernels.add_gradients(
            self._data, *weight_indices(sample), self.transpose_point(x), g
        )
        return contiguous_transpose(g)

    def difference(self, sample: Indices, x: Floats, y: Floats) -> Floats:
        """Return the mean of grad f_i(x) - grad f_i(y) over the sample, shape (d, tasks)."""
        g = np.zeros(self.shape[::-1])
        multitask_kernels.add_differences(
            self._data, *weight_indices(sample), self.transpose_point(x), self.transpose_point(y), g
        )
        return contiguous_transpose(g)

    def select_components(self, numbers: Numbers) -> Integers:
        """Return the component numbers as an array; compiled loops find the data rows by them."""
        return np.arange(numbers.start, numbers.stop) if isinstance(numbers, slice) else numbers

    def component_slopes(self, rows: Integers, x_transposed: Floats) -> Floats:
        """Return the derivatives of k losses with respect to their scores, shape (k, 1)."""
        return self._apply_loop(multitask_kernels.write_slopes, rows, x_transposed)

    def component_curvature_data(self, rows: Integers, x_transposed: Floats) -> Floats:
        """Return the second derivatives of the losses of k rows, shape (k, 1)."""
        return self._apply_loop(multitask_kernels.write_curvatures, rows, x_transposed)

    def apply_class_curvatures(
        self, rows: Integers, curvatures: Floats, u_transposed: Floats
    ) -> Floats:
        """Return each row's loss curvature times the product of the row with its task's direction.

        The result has shape (k, 1). The direction of task t is column t of U.
        """
        return curvatures * self._apply_loop(multitask_kernels.write_products, rows, u_transposed)

    def add_gradients(self, rows: Integers, slopes: Floats, g: Floats) -> None:
        """Add the sum of the rows' loss gradients to g, with the shape of a transposed point."""
        multitask_kernels.add_rows(self._data, rows, slopes[:, 0], g)

    def _apply_loop(self, loop: Callable[..., None], rows: Integers, view: Floats) -> Floats:
        out = np.empty(rows.size)
        loop(self._data, rows, view, out)
        return out[:, None]

    @cached_property
    def _moment_eigenvalue_bounds(self) -> list[float]:
        """Upper bounds, for k = 0, 1, 2, of lambda_max(sum_i |a_i|^(2 k) a_i a_i'/n) of any task.

        The sum is over the rows a_i of one task.
        """
        top, bounds = [0.0, 0.0, 0.0], self._data.bounds.tolist()
        for first, last in pairwise(bounds):
            rows, squares = self._data.values[first:last], self._row_norms_squared[first:last]
            for k in range(3):
                # Under the trace of what is known, the norm need not be computed.
                weights = squares**k / self.n
                if float(weights @ squares) > top[k]:
                    top[k] = max(top[k], eigenvalue_upper_bound(rows, weights))
        return top

    def component_smoothness(self) -> Floats:
        """Return |a_i|^2 times the largest absolute curvature of the loss, for each row a_i."""
        return SIGMOID.curvature * self._row_norms_squared

    def constants(self, start: Floats) -> Constants:
        """Return the constants of this problem (L_f, D, ...), each with its derivation as text."""
        moments, squares = self._moment_eigenvalue_bounds, self._row_norms_squared
        longest = int(np.diff(self._data.bounds).max())
        certified = eigenvalue_bound_probability_note(self._data.values[:longest])
        note = "; E is the sum over the rows of one task, over n: the largest of any task"
        note += f"{certified} for each task" if certified else ""
        return self._with_set_constants(
            n=(self.n, "number of rows"),
            L_mean=(SIGMOID.curvature * float(squares.mean()), "sup|phi''| E|a|^2"),
            delta=(self.value(start), "f(start) - 0, since every loss is a square"),
            **derive_constants(SIGMOID, moments, squares, note),
        )
