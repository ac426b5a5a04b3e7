"""Multitask learning with a bounded loss over a set of matrices (qu2018 (2), section 6)."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from pfbench.base.arrays import Floats, Integers
from pfbench.base.checks import check_finite_array
from pfbench.base.constants import Constants
from pfbench.base.errors import InputError
from pfbench.base.sample import Indices, weight_indices
from pfbench.kernels import multitask_kernels
from pfbench.kernels.loop_inputs import TaskData
from pfbench.kernels.numba_compilation import thread_count
from pfbench.problems.matrix_models import (
    MatrixModel,
    Numbers,
    as_immutable_array,
    contiguous_transpose,
)
from pfbench.problems.moments import certificate_note, moment_upper_bound

_SERIAL_ENTRIES = 1 << 20
"""Number of entries of the data up to which one thread handles all rows."""

SIGMOID_SLOPE = 8.0 / 27.0
"""sup |psi'| of psi = s^2, s = 1/(1 + exp(-z)): 2 s^2 (1 - s) at s = 2/3."""

SIGMOID_CURVATURE = 0.15405858
"""sup |psi''|: 2 s^2 (1 - s)(2 - 3 s) at s = (15 - sqrt 33)/24; rounded up."""

SIGMOID_LOWER = 0.12020441
"""-inf psi'', at s = (15 + sqrt 33)/24; rounded up."""

SIGMOID_THIRD = 0.20202301
"""sup |psi'''|: 2 s^2 (1 - s)(4 - 15 s + 12 s^2), at s = 0.63626; rounded up."""


@dataclass(frozen=True, eq=False)
class MultitaskSigmoid(MatrixModel):
    """Several tasks, f_i(X) = (y_i - 1/(1 + exp(<a_i, x_t> + b_t)))^2 for a row of task t.

    One component is one row of one task, as qu2018 counts samples (m K n of them); f is their mean.
    It equals s^2, s = 1/(1 + exp(-c z)), with c = 1 for y = 1 and c = -1 for y = 0. Labels are 0
    and 1; the other parameters are those of `MatrixModel`.

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
        if not np.isin(self.labels, (0, 1)).all():
            raise InputError("the labels of a multitask problem must all be 0 or 1.")
        tasks = check_finite_array("the tasks", self.tasks, shape=(self.n,))
        if (tasks != np.floor(tasks)).any() or tasks.min() < 0:
            raise InputError("the tasks must be whole numbers from 0 up.")
        if np.unique(tasks).size != tasks.max() + 1:
            raise InputError(
                f"the largest task is {tasks.max():g}, and some task below has no row: number the "
                "tasks without gaps."
            )
        if self.offsets is not None:
            check_finite_array("the offsets", self.offsets, shape=(int(tasks.max()) + 1,))
        self._check_set()
        _ = self._data  # a later change of the user's arrays does not reach the problem

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
        return TaskData(as_immutable_array(rows), 2.0 * labels - 1.0, tasks, bounds, offsets)

    @property
    def shape(self) -> tuple[int, int]:
        """(d, number of tasks)."""
        return self.d, self._data.offsets.size

    @property
    def slope_width(self) -> int:
        """Number of entries of a slope: one."""
        return 1

    @cached_property
    def _is_serial(self) -> bool:
        return thread_count() == 1 or self._data.values.size <= _SERIAL_ENTRIES

    def value(self, x: Floats) -> float:
        """Return f(x); the data are read once."""
        parts = np.empty(self.shape[1])
        run = (
            multitask_kernels.write_losses_serial
            if self._is_serial
            else multitask_kernels.write_losses_parallel
        )
        run(self._data, self.transpose_point(x), parts)
        return float(parts.sum()) / self.n

    def gradient(self, x: Floats) -> Floats:
        """Return the gradient at x, shape (d, m); the data are read once."""
        g = np.zeros(self.shape[::-1])
        run = (
            multitask_kernels.add_gradient_serial
            if self._is_serial
            else multitask_kernels.add_gradient_parallel
        )
        run(self._data, self.transpose_point(x), 1.0 / self.n, g)
        return contiguous_transpose(g)

    def batch(self, sample: Indices, x: Floats) -> Floats:
        """Return the mean of the sampled component gradients at x, shape (d, m)."""
        g = np.zeros(self.shape[::-1])
        multitask_kernels.add_gradients(
            self._data, *weight_indices(sample), self.transpose_point(x), g
        )
        return contiguous_transpose(g)

    def difference(self, sample: Indices, x: Floats, y: Floats) -> Floats:
        """Return the mean of grad f_i(x) - grad f_i(y) over the sample, shape (d, m)."""
        g = np.zeros(self.shape[::-1])
        multitask_kernels.add_differences(
            self._data, *weight_indices(sample), self.transpose_point(x), self.transpose_point(y), g
        )
        return contiguous_transpose(g)

    def take(self, numbers: Numbers) -> Integers:
        """Return component numbers, which the compiled loops use to read the rows."""
        if isinstance(numbers, slice):
            return np.arange(numbers.start, numbers.stop)
        return numbers

    def component_slopes(self, rows: Integers, x_transposed: Floats) -> Floats:
        """Return psi', shape (k, 1)."""
        return self._apply_loop(multitask_kernels.write_slopes, rows, x_transposed)

    def component_curvatures(self, rows: Integers, x_transposed: Floats) -> Floats:
        """Return psi'', shape (k, 1)."""
        return self._apply_loop(multitask_kernels.write_curvatures, rows, x_transposed)

    def apply_curvatures(self, rows: Integers, curvatures: Floats, u_transposed: Floats) -> Floats:
        """Return psi'' <a_i, u_t>, shape (k, 1)."""
        return curvatures * self._apply_loop(multitask_kernels.write_products, rows, u_transposed)

    def add_gradients(self, rows: Integers, slopes: Floats, g: Floats) -> None:
        """Add the gradients with these slopes, transposed, to g, shape (m, d)."""
        multitask_kernels.add_rows(self._data, rows, slopes[:, 0], g)

    def _apply_loop(self, loop: Callable[..., None], rows: Integers, view: Floats) -> Floats:
        out = np.empty(rows.size)
        loop(self._data, rows, view, out)
        return out[:, None]

    @cached_property
    def _max_moment_eigenvalues(self) -> list[float]:
        """Largest eigenvalues over the tasks of (1/n) sum |a|^(2 k) a a', k = 0, 1, 2."""
        top, bounds = [0.0, 0.0, 0.0], self._data.bounds.tolist()
        for first, last in pairwise(bounds):
            rows, squares = self._data.values[first:last], self._row_norms_squared[first:last]
            for k in range(3):
                # Under the trace of what is known, the norm need not be computed.
                weights = squares**k / self.n
                if float(weights @ squares) > top[k]:
                    top[k] = max(top[k], moment_upper_bound(rows, weights))
        return top

    def component_smoothness(self) -> Floats:
        """Return L_i = sup|psi''| |a_i|^2, shape (n,)."""
        return SIGMOID_CURVATURE * self._row_norms_squared

    def constants(self, start: Floats) -> Constants:
        """Return all constants of this problem."""
        top, squares = self._max_moment_eigenvalues, self._row_norms_squared
        longest = int(np.diff(self._data.bounds).max())
        certified = certificate_note(self._data.values[:longest])
        if certified:
            certified += " for each task"
        return self._with_set_constants(
            n=(self.n, "number of rows"),
            L_f=(
                SIGMOID_CURVATURE * top[0],
                "sup|psi''| = 0.15406, at s = (15 - sqrt 33)/24, times the largest "
                "lambda_max(A_t'A_t)/n of a task: the Hessian has one block for each task"
                f"{certified}",
            ),
            L_ms=(
                SIGMOID_CURVATURE * math.sqrt(top[1]),
                "sup|psi''| sqrt(max over tasks of "
                f"lambda_max((1/n) sum_(i in t) |a|^2 a a')){certified}",
            ),
            L_max=(SIGMOID_CURVATURE * float(squares.max()), "sup|psi''| max |a_i|^2"),
            L_mean=(SIGMOID_CURVATURE * float(squares.mean()), "sup|psi''| E|a|^2"),
            L2_ms=(
                SIGMOID_THIRD * math.sqrt(top[2]),
                "sup|psi'''| sqrt(max over tasks of lambda_max((1/n) sum_(i in t) |a|^4 a "
                f"a')), sup|psi'''| = 0.20202 at s = 0.63626{certified}",
            ),
            sigma2=(
                SIGMOID_SLOPE**2 * float(squares.mean()),
                "sup|psi'|^2 E|a|^2, sup|psi'| = 8/27 at s = 2/3",
            ),
            delta=(self.value(start), "f(start) - 0, since every loss is a square"),
            ell=(
                SIGMOID_LOWER * top[0],
                "-inf psi'' = 0.12020, at s = (15 + sqrt 33)/24, times the largest "
                f"lambda_max(A_t'A_t)/n of a task{certified}",
            ),
        )
