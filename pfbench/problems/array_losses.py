"""Losses on the arrays of another library: phi, phi' and phi'' of many z at once.

Every component reads a matrix X through one row of the data: z = X'a (all columns of X, or the one
of its task), f_i = phi_i(z).
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from pfbench.base.arrays import Floats, Integers
from pfbench.problems.array_libraries import ArrayLibrary
from pfbench.problems.matrix_regression import MatrixRegression
from pfbench.problems.multiclass import MulticlassLogistic
from pfbench.problems.multitask import MultitaskSigmoid

_BLOCK_ENTRIES = 1 << 26
"""Maximum number of entries of a temporary array: half a gigabyte."""

_FLAT = 700.0
"""Largest argument of exp that neither overflows nor makes its inverse vanish."""

Dense = MultitaskSigmoid | MulticlassLogistic | MatrixRegression
"""Problems with array losses."""


class ComponentBlock(NamedTuple):
    """Components that read the same columns of X.

    Attributes
    ----------
    components
        Component numbers: a slice of all, or those of a sample.
    weights
        Weight of each component.
    columns
        Columns of X that they read.
    """

    components: slice | Integers
    weights: Any
    columns: slice


class ArrayLoss(ABC):
    """Loss phi of many components at once, on the library's arrays.

    Parameters
    ----------
    library
        Library and device of the arrays.
    rows
        The data, shape (n, d).
    columns
        Number of columns of X. `width` is the number of columns that a component reads.
    """

    ridge = 0.0
    """Coefficient c of the term -(c/2) |X|^2 that every component has."""

    def __init__(self, library: ArrayLibrary, rows: Floats, columns: int, width: int) -> None:
        self.library, self.xp = library, library.xp
        self.rows = library.as_floats(rows)
        self.n, self.d = rows.shape
        self.columns, self.width = columns, width

    @abstractmethod
    def values(self, z: Any, part: ComponentBlock) -> Any:
        """Return phi(z), shape (k,), of z of shape (k, width)."""

    @abstractmethod
    def slopes(self, z: Any, part: ComponentBlock) -> Any:
        """Return phi'(z), shape (k, width)."""

    @abstractmethod
    def curvatures(self, z: Any, part: ComponentBlock) -> Any:
        """Return the values of phi''(z) that `apply_curvatures` needs, shape (k, width)."""

    def apply_curvatures(self, curvatures: Any, u: Any) -> Any:
        """Return phi'' times u, both of shape (k, width)."""
        return curvatures * u

    def take(self, array: Any, numbers: slice | Integers) -> Any:
        """Return the entries or rows of an array that belong to some components."""
        if isinstance(numbers, slice):
            return array[numbers, ...]
        return self.xp.take(array, self.library.integers(numbers), axis=0)

    def parts(self, numbers: Integers | None, weights: Floats | None) -> Iterator[ComponentBlock]:
        """Yield all components, or those of a sample, in blocks."""
        k = self.n if numbers is None else numbers.size
        step = max(1, _BLOCK_ENTRIES // max(self.d, self.width))
        for first in range(0, k, step):
            block = slice(first, min(first + step, k))
            yield self._make_block(numbers, weights, block, slice(0, self.columns))

    def _make_block(
        self, numbers: Integers | None, weights: Floats | None, block: slice, columns: slice
    ) -> ComponentBlock:
        shares: Any = 1.0 / self.n
        if weights is not None:
            shares = self.library.as_floats(weights[block])[:, None]
        return ComponentBlock(block if numbers is None else numbers[block], shares, columns)


class SigmoidLoss(ArrayLoss):
    """Loss s^2, s = 1/(1 + exp(-c (z + b))), of `MultitaskSigmoid`; rows are ordered by task."""

    def __init__(self, library: ArrayLibrary, problem: MultitaskSigmoid) -> None:
        data = problem._data
        super().__init__(library, data.values, problem.shape[1], 1)
        self._tasks, self._bounds = data.task, data.bounds
        self._signs = library.as_floats(data.signs[:, None])
        self._offsets = library.as_floats(data.offsets[data.task][:, None])

    def parts(self, numbers: Integers | None, weights: Floats | None) -> Iterator[ComponentBlock]:
        """Yield components, one task after the other."""
        bounds, order = self._bounds, None
        if numbers is not None:
            order = np.argsort(self._tasks[numbers], kind="stable")
            numbers, weights = numbers[order], None if weights is None else weights[order]
            bounds = np.searchsorted(self._tasks[numbers], np.arange(self.columns + 1))
        for task, (first, last) in enumerate(pairwise(bounds.tolist())):
            if last > first:
                yield self._make_block(numbers, weights, slice(first, last), slice(task, task + 1))

    def _sigmoid(self, z: Any, part: ComponentBlock) -> tuple[Any, Any]:
        c = self.take(self._signs, part.components)
        t = -c * (z + self.take(self._offsets, part.components))
        return c, 1.0 / (1.0 + self.xp.exp(self.xp.clip(t, -_FLAT, _FLAT)))

    def values(self, z: Any, part: ComponentBlock) -> Any:
        """Return phi(z), shape (k,)."""
        return (self._sigmoid(z, part)[1] ** 2)[:, 0]

    def slopes(self, z: Any, part: ComponentBlock) -> Any:
        """Return phi'(z), shape (k, 1)."""
        c, s = self._sigmoid(z, part)
        return 2.0 * c * s * s * (1.0 - s)

    def curvatures(self, z: Any, part: ComponentBlock) -> Any:
        """Return phi''(z), shape (k, 1)."""
        _, s = self._sigmoid(z, part)
        return 2.0 * s * s * (1.0 - s) * (2.0 - 3.0 * s)


class SoftmaxLoss(ArrayLoss):
    """Softmax loss log sum exp(z) - z_y; see `MulticlassLogistic`."""

    def __init__(self, library: ArrayLibrary, problem: MulticlassLogistic) -> None:
        rows, labels = problem._data
        super().__init__(library, rows, problem.slope_width, problem.slope_width)
        self._labels = library.integers(labels[:, None])
        self._classes = library.integers(np.arange(problem.slope_width)[None, :])

    def _one_hot(self, part: ComponentBlock) -> Any:
        """Return e_y of each component, shape (k, classes)."""
        same = self.take(self._labels, part.components) == self._classes
        return self.xp.astype(same, self.xp.float64)

    def values(self, z: Any, part: ComponentBlock) -> Any:
        """Return phi(z), shape (k,)."""
        xp = self.xp
        top = xp.max(z, axis=1, keepdims=True)
        sums = xp.log(xp.sum(xp.exp(z - top), axis=1)) + top[:, 0]
        return sums - xp.sum(z * self._one_hot(part), axis=1)

    def slopes(self, z: Any, part: ComponentBlock) -> Any:
        """Return softmax(z) - e_y, shape (k, classes)."""
        return self.curvatures(z, part) - self._one_hot(part)

    def curvatures(self, z: Any, part: ComponentBlock) -> Any:
        """Return p = softmax(z), shape (k, classes)."""
        p = self.xp.exp(z - self.xp.max(z, axis=1, keepdims=True))
        return p / self.xp.sum(p, axis=1, keepdims=True)

    def apply_curvatures(self, curvatures: Any, u: Any) -> Any:
        """Return (diag(p) - pp') u, shape (k, classes)."""
        bent = curvatures * u
        return bent - curvatures * self.xp.sum(bent, axis=1, keepdims=True)


class SquareLoss(ArrayLoss):
    """Square loss (z - y)^2/2, z = <Z_i, X>; see `MatrixRegression`. X is one column."""

    def __init__(self, library: ArrayLibrary, problem: MatrixRegression) -> None:
        super().__init__(library, problem.data.rows, 1, 1)
        self._targets = library.as_floats(problem.data.y[:, None])
        self.ridge = problem.sensing_variance

    def values(self, z: Any, part: ComponentBlock) -> Any:
        """Return phi(z), shape (k,)."""
        return (0.5 * self.slopes(z, part) ** 2)[:, 0]

    def slopes(self, z: Any, part: ComponentBlock) -> Any:
        """Return z - y, shape (k, 1)."""
        return z - self.take(self._targets, part.components)

    def curvatures(self, z: Any, part: ComponentBlock) -> Any:
        """Return ones, shape (k, 1)."""
        return self.xp.ones_like(z)


def make_array_loss(library: ArrayLibrary, problem: Dense) -> ArrayLoss:
    """Return a problem's loss on a library's arrays."""
    if isinstance(problem, MultitaskSigmoid):
        return SigmoidLoss(library, problem)
    if isinstance(problem, MulticlassLogistic):
        return SoftmaxLoss(library, problem)
    return SquareLoss(library, problem)
