"""Multinomial logistic regression over a set of matrices (qu2018 section 1)."""

import math
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from pfbench.base.arrays import Floats, Integers
from pfbench.base.checks import check_integer
from pfbench.base.constants import Constants
from pfbench.base.errors import InputError
from pfbench.problems.matrix_models import MatrixModel, Numbers, as_immutable_array
from pfbench.problems.moments import certificate_note, moment_upper_bound
from pfbench.problems.norm_constants import max_quadratic_form, second_moment
from pfbench.sets.norms import NormBall

SOFTMAX_THIRD = 0.27216553
"""sup of the third derivative of log sum exp along unit vectors, sqrt(2)/(3 sqrt 3); rounded up.

It is the third central moment of the entries of a unit vector u under the softmax; the largest is
that of two values, u = (1, -1)/sqrt 2 with p = (1 -+ 1/sqrt 3)/2.
"""


@dataclass(frozen=True, eq=False)
class MulticlassLogistic(MatrixModel):
    """Multinomial logistic regression: f_i(X) = log sum_c exp<a_i, x_c> - <a_i, x_(y_i)>.

    Labels are 0 to classes - 1; `classes` defaults to the largest label plus 1. The other
    parameters are those of `MatrixModel`.
    """

    name = "multiclass-logistic"
    source = "qu2018 section 1 (Zhang et al. 2012, Dudik et al. 2012)"

    classes: int | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        labels = np.asarray(self.labels)
        if (labels != np.floor(labels)).any() or labels.min() < 0:
            raise InputError("the labels of a multiclass problem must be whole numbers from 0 up.")
        if self.classes is not None:
            check_integer("classes", self.classes, minimum=1)
            if labels.max() >= self.classes:
                raise InputError(
                    f"classes={self.classes} must be above the largest label, {labels.max():g}."
                )
        self._check_set()
        _ = self._data  # a later change of the user's arrays does not reach the problem

    @cached_property
    def _data(self) -> tuple[Floats, Integers]:
        rows = np.asarray(self.features, dtype=np.float64)
        return as_immutable_array(rows), np.asarray(self.labels).astype(np.int64)

    @property
    def shape(self) -> tuple[int, int]:
        """(d, classes)."""
        return self.d, self.slope_width

    @cached_property
    def slope_width(self) -> int:
        """Number of classes."""
        return int(self._data[1].max()) + 1 if self.classes is None else int(self.classes)

    @property
    def properties(self) -> frozenset[str]:
        """Known properties: f is convex."""
        return frozenset({"convex"})

    def take(self, numbers: Numbers) -> tuple[Floats, Integers]:
        """Return rows (k, d) and labels (k,) by number."""
        rows, labels = self._data
        return rows[numbers], labels[numbers]

    def value(self, x: Floats) -> float:
        """Return f(x)."""
        view, total = self.transpose_point(x), 0.0
        for part in self.parts(self.n):
            rows, labels = self.take(part)
            z = rows @ view.T
            top = z.max(axis=1)
            sums = np.exp(z - top[:, None]).sum(axis=1)
            total += float((np.log(sums) + top - z[np.arange(labels.size), labels]).sum())
        return total / self.n

    def component_slopes(self, rows: tuple[Floats, Integers], x_transposed: Floats) -> Floats:
        """Return softmax(X'a_i) - e_(y_i), shape (k, classes)."""
        labels = rows[1]
        p = self.component_curvatures(rows, x_transposed)
        p[np.arange(labels.size), labels] -= 1.0
        return p

    def component_curvatures(self, rows: tuple[Floats, Integers], x_transposed: Floats) -> Floats:
        """Return p = softmax(X'a_i), shape (k, classes); phi'' is diag(p) - pp'."""
        z = rows[0] @ x_transposed.T
        z -= z.max(axis=1)[:, None]
        p = np.exp(z, out=z)
        p /= p.sum(axis=1)[:, None]
        return p

    def apply_curvatures(
        self, rows: tuple[Floats, Integers], curvatures: Floats, u_transposed: Floats
    ) -> Floats:
        """Return (diag(p) - pp') U'a_i, shape (k, classes)."""
        z = curvatures * (rows[0] @ u_transposed.T)
        return np.asarray(z - curvatures * z.sum(axis=1)[:, None])

    def add_gradients(self, rows: tuple[Floats, Integers], slopes: Floats, g: Floats) -> None:
        """Add the gradients with these slopes, transposed, to g, shape (classes, d)."""
        g += slopes.T @ rows[0]

    @cached_property
    def _max_moment_eigenvalues(self) -> list[float]:
        """lambda_max of E |a|^(2 k) a a' for k = 0, 1, 2."""
        squares = self._row_norms_squared
        return [moment_upper_bound(self._data[0], squares**k / self.n) for k in range(3)]

    def smoothness_in_norm(self, norm: NormBall) -> tuple[float, str] | None:
        """Return half the largest <X, E a a' X> over the ball: diag(p) - pp' <= 1/2."""
        result = max_quadratic_form(norm, second_moment(self._data[0]), self.slope_width)
        return result and (0.5 * result[0], f"half of {result[1]}, with G = E a a'")

    def component_smoothness(self) -> Floats:
        """Return L_i = |a_i|^2/2, shape (n,)."""
        return 0.5 * self._row_norms_squared

    def constants(self, start: Floats) -> Constants:
        """Return all constants of this problem."""
        top, squares = self._max_moment_eigenvalues, self._row_norms_squared
        certified = certificate_note(self._data[0])
        return self._with_set_constants(
            n=(self.n, "number of rows"),
            L_f=(
                0.5 * top[0],
                "lambda_max(A'A/n)/2: diag(p) - pp' <= 1/2, attained where two classes have"
                " probability 1/2: at 0 if there are two (of C classes the norm there is "
                f"1/C){certified}",
            ),
            L_ms=(
                0.5 * math.sqrt(top[1]),
                "sqrt(lambda_max(E|a|^2 a a'))/2: |softmax(z) - softmax(z')| <= |z - z'|/2"
                f"{certified}",
            ),
            L_max=(0.5 * float(squares.max()), "max |a_i|^2/2"),
            L_mean=(0.5 * float(squares.mean()), "E|a|^2/2"),
            L2_ms=(
                SOFTMAX_THIRD * math.sqrt(top[2]),
                "sup|phi'''| sqrt(lambda_max(E|a|^4 a a')), sup|phi'''| = sqrt 2/(3 sqrt 3)"
                f" = 0.27217: the largest third central moment of a unit vector{certified}",
            ),
            sigma2=(
                2.0 * float(squares.mean()),
                "2 E|a|^2: |softmax - e_y|^2 <= 2 (1 - p_y)^2 <= 2",
            ),
            delta=(self.value(start), "f(start) - 0, since phi > 0"),
            ell=(0.0, "0: f is convex"),
        )
