"""The dense losses on arrays of another library: PyTorch, CuPy, or any that follows the standard.

Data stay where the library has them, as on a GPU; points and gradients come and go as NumPy's
arrays, so that algorithms, counts and measures are what they are without it. Results differ in the
order of summation.

Every component reads a matrix X through one row of the data: z = X'a (all columns of X, or the one
of its task), f_i = phi_i(z). A loss is phi, phi' and phi'' of many z at once.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from pfbench.base.arrays import Floats, Integers
from pfbench.base.passing import PassedOn
from pfbench.base.protocols import Backend, Table
from pfbench.base.sample import Indices, weighted
from pfbench.problems.array_libraries import ArrayLibrary, ArrayOperator
from pfbench.problems.base import Around, HessianOf, Opened, digest_of, drawn, point_of
from pfbench.problems.matrix_regression import MatrixRegression
from pfbench.problems.multiclass import MulticlassLogistic
from pfbench.problems.multitask import MultitaskSigmoid
from pfbench.problems.over_matrices import OverMatrices
from pfbench.sets.body import AnySet
from pfbench.sets.nuclear import NuclearBall

_BLOCK_ENTRIES = 1 << 26
"""Most entries of an array that is made on the way: half a gigabyte."""

_FLAT = 700.0
"""exp of less neither overflows nor vanishes."""

Reads = Callable[[Any, "Part"], Any]
"""Returns numbers of some components, shape (k, width), of their z."""

Dense = MultitaskSigmoid | MulticlassLogistic | MatrixRegression
"""The problems that there are losses for."""


class Part(NamedTuple):
    """Components that read the same columns of X.

    Attributes
    ----------
    numbers
        Which components: a range of all, or those of a sample.
    weights
        The weight of each.
    columns
        Which columns of X.
    """

    numbers: slice | Integers
    weights: Any
    columns: slice


# --- losses ---------------------------------------------------------------------------------------


class Loss(ABC):
    """phi of many components at once, on the library's arrays.

    Parameters
    ----------
    library
        Where the arrays are.
    rows
        The data, shape (n, d).
    columns
        Columns of X, and how many of them a component reads.
    """

    ridge = 0.0
    """c of the term -(c/2) |X|^2 that every component has."""

    def __init__(self, library: ArrayLibrary, rows: Floats, columns: int, width: int) -> None:
        self.library, self.xp = library, library.xp
        self.rows = library.floats(rows)
        self.n, self.d = rows.shape
        self.columns, self.width = columns, width

    @abstractmethod
    def values(self, z: Any, part: Part) -> Any:
        """Return phi(z), shape (k,), of z of shape (k, width)."""

    @abstractmethod
    def slopes(self, z: Any, part: Part) -> Any:
        """Return phi'(z), shape (k, width)."""

    @abstractmethod
    def curvatures(self, z: Any, part: Part) -> Any:
        """Return what `bend` needs of phi''(z), shape (k, width)."""

    def bend(self, curvatures: Any, u: Any) -> Any:
        """Return phi'' times u, both of shape (k, width)."""
        return curvatures * u

    def of(self, array: Any, numbers: slice | Integers) -> Any:
        """Return the entries, or rows, of some components."""
        if isinstance(numbers, slice):
            return array[numbers, ...]
        return self.xp.take(array, self.library.integers(numbers), axis=0)

    def parts(self, numbers: Integers | None, weights: Floats | None) -> Iterator[Part]:
        """Yield components, all or those of a sample, in blocks."""
        k, step = self._count(numbers), max(1, _BLOCK_ENTRIES // max(self.d, self.width))
        for first in range(0, k, step):
            block = slice(first, min(first + step, k))
            yield self._part(numbers, weights, block, slice(0, self.columns))

    def _count(self, numbers: Integers | None) -> int:
        return self.n if numbers is None else numbers.size

    def _part(
        self, numbers: Integers | None, weights: Floats | None, block: slice, columns: slice
    ) -> Part:
        shares: Any = 1.0 / self.n
        if weights is not None:
            shares = self.library.floats(weights[block])[:, None]
        return Part(block if numbers is None else numbers[block], shares, columns)


class SigmoidLoss(Loss):
    """s^2, s = 1/(1 + exp(-c (z + b))): see `MultitaskSigmoid`. Rows are ordered by task."""

    def __init__(self, library: ArrayLibrary, problem: MultitaskSigmoid) -> None:
        data = problem._data
        super().__init__(library, data.values, problem.shape[1], 1)
        self._tasks, self._bounds = data.task, data.bounds
        self._signs = library.floats(data.signs[:, None])
        self._offsets = library.floats(data.offsets[data.task][:, None])

    def parts(self, numbers: Integers | None, weights: Floats | None) -> Iterator[Part]:
        """Yield components, one task after the other."""
        bounds, order = self._bounds, None
        if numbers is not None:
            order = np.argsort(self._tasks[numbers], kind="stable")
            numbers, weights = numbers[order], None if weights is None else weights[order]
            bounds = np.searchsorted(self._tasks[numbers], np.arange(self.columns + 1))
        for task, (first, last) in enumerate(pairwise(bounds.tolist())):
            if last > first:
                yield self._part(numbers, weights, slice(first, last), slice(task, task + 1))

    def _sigmoid(self, z: Any, part: Part) -> tuple[Any, Any]:
        c = self.of(self._signs, part.numbers)
        t = -c * (z + self.of(self._offsets, part.numbers))
        return c, 1.0 / (1.0 + self.xp.exp(self.xp.clip(t, -_FLAT, _FLAT)))

    def values(self, z: Any, part: Part) -> Any:
        """See `Loss`."""
        return (self._sigmoid(z, part)[1] ** 2)[:, 0]

    def slopes(self, z: Any, part: Part) -> Any:
        """See `Loss`."""
        c, s = self._sigmoid(z, part)
        return 2.0 * c * s * s * (1.0 - s)

    def curvatures(self, z: Any, part: Part) -> Any:
        """See `Loss`."""
        _, s = self._sigmoid(z, part)
        return 2.0 * s * s * (1.0 - s) * (2.0 - 3.0 * s)


class SoftmaxLoss(Loss):
    """log sum exp(z) - z_y: see `MulticlassLogistic`."""

    def __init__(self, library: ArrayLibrary, problem: MulticlassLogistic) -> None:
        rows, labels = problem._data
        super().__init__(library, rows, problem.width, problem.width)
        self._labels = library.integers(labels[:, None])
        self._classes = library.integers(np.arange(problem.width)[None, :])

    def _chosen(self, part: Part) -> Any:
        """Return e_y of each component, shape (k, classes)."""
        same = self.of(self._labels, part.numbers) == self._classes
        return self.xp.astype(same, self.xp.float64)

    def values(self, z: Any, part: Part) -> Any:
        """See `Loss`."""
        xp = self.xp
        top = xp.max(z, axis=1, keepdims=True)
        sums = xp.log(xp.sum(xp.exp(z - top), axis=1)) + top[:, 0]
        return sums - xp.sum(z * self._chosen(part), axis=1)

    def slopes(self, z: Any, part: Part) -> Any:
        """See `Loss`."""
        return self.curvatures(z, part) - self._chosen(part)

    def curvatures(self, z: Any, part: Part) -> Any:
        """See `Loss`: p = softmax(z)."""
        p = self.xp.exp(z - self.xp.max(z, axis=1, keepdims=True))
        return p / self.xp.sum(p, axis=1, keepdims=True)

    def bend(self, curvatures: Any, u: Any) -> Any:
        """See `Loss`: (diag(p) - pp') u."""
        bent = curvatures * u
        return bent - curvatures * self.xp.sum(bent, axis=1, keepdims=True)


class SquareLoss(Loss):
    """(z - y)^2/2, z = <Z_i, X>: see `MatrixRegression`. X is one column."""

    def __init__(self, library: ArrayLibrary, problem: MatrixRegression) -> None:
        super().__init__(library, problem.data.rows, 1, 1)
        self._targets = library.floats(problem.data.y[:, None])
        self.ridge = problem.sensing_variance

    def values(self, z: Any, part: Part) -> Any:
        """See `Loss`."""
        return (0.5 * self.slopes(z, part) ** 2)[:, 0]

    def slopes(self, z: Any, part: Part) -> Any:
        """See `Loss`."""
        return z - self.of(self._targets, part.numbers)

    def curvatures(self, z: Any, part: Part) -> Any:
        """See `Loss`."""
        return self.xp.ones_like(z)


def loss_of(library: ArrayLibrary, problem: Dense) -> Loss:
    """Return a problem's loss on a library's arrays."""
    if isinstance(problem, MultitaskSigmoid):
        return SigmoidLoss(library, problem)
    if isinstance(problem, MulticlassLogistic):
        return SoftmaxLoss(library, problem)
    return SquareLoss(library, problem)


# --- the problem ----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class OnArrays(Around, OverMatrices):
    """A problem of ours whose sums are taken by an array library.

    Parameters
    ----------
    inner
        The problem; constants, set and measures are its own.
    library
        See `array_library`.
    """

    inner: Dense
    library: ArrayLibrary

    def __post_init__(self) -> None:
        vars(self).update(name=self.inner.name, source=self.inner.source)
        _ = self.loss  # the data are there before the first call, and it is known that they fit

    # --- what the problem says --------------------------------------------------------------------

    set = PassedOn[AnySet]("inner")
    shape = PassedOn[tuple[int, int]]("inner")
    tolerance = PassedOn[float]("inner")

    @cached_property
    def digest(self) -> str:
        """A hash of the data and of the library: it sums in another order."""
        return digest_of((self.inner.digest, self.library.name))

    # --- the function -----------------------------------------------------------------------------

    @cached_property
    def loss(self) -> Loss:
        """phi, and the data on the device."""
        return loss_of(self.library, self.inner)

    def there(self, x: Floats) -> Any:
        """Return a point as the matrix that the components read, shape (d, columns)."""
        return self.library.floats(point_of(x, self.shape).reshape(-1, self.loss.columns))

    def value(self, x: Floats) -> float:
        """Return f(x)."""
        loss, there, total = self.loss, self.there(x), 0.0
        for part in loss.parts(None, None):
            z = loss.of(loss.rows, part.numbers) @ there[:, part.columns]
            total += float(loss.xp.sum(loss.values(z, part)))
        return total / self.inner.n - 0.5 * loss.ridge * float(np.vdot(x, x))

    def gradient(self, x: Floats) -> Floats:
        """Return the gradient at x."""
        return self._summed(None, x)

    def batch(self, sample: Indices, x: Floats) -> Floats:
        """Return the mean of the sampled component gradients at x."""
        return self._summed(sample, x)

    def difference(self, sample: Indices, x: Floats, y: Floats) -> Floats:
        """Return the mean of grad f_i(x) - grad f_i(y) over the sample; the rows are read once."""
        return self._summed(sample, x, y)

    def _summed(self, sample: Indices | None, x: Floats, y: Floats | None = None) -> Floats:
        """Return the mean of grad f_i(x), less grad f_i(y) if there is a y."""
        loss, at = self.loss, self.there(x)
        before = None if y is None else self.there(y)

        def slopes(rows: Any, part: Part) -> Any:
            s = loss.slopes(rows @ at[:, part.columns], part)
            if before is None:
                return s
            return s - loss.slopes(rows @ before[:, part.columns], part)

        g = self.mean_of(sample, slopes)
        return g - loss.ridge * (x if y is None else x - y) if loss.ridge else g

    def mean_of(self, sample: Indices | None, slopes: Any) -> Floats:
        """Return the mean of the gradients with the given slopes, of all or of a sample.

        Parameters
        ----------
        slopes
            Called with the rows of a part, and the part; returns shape (k, width).
        """
        loss, xp = self.loss, self.loss.xp
        numbers, weights = (None, None) if sample is None else drawn(sample, self.n)
        sums: dict[int, Any] = {}
        for part in loss.parts(numbers, weights):
            rows, at = loss.of(loss.rows, part.numbers), part.columns.start
            g = xp.matrix_transpose(rows) @ (part.weights * slopes(rows, part))
            sums[at] = sums[at] + g if at in sums else g
        width = loss.width
        zero = xp.zeros((loss.d, width), dtype=xp.float64, device=self.library.device)
        columns = [sums.get(at, zero) for at in range(0, loss.columns, width)]
        return self.library.back(xp.concat(columns, axis=1)).reshape(self.shape)

    def hessian(self, s: Floats) -> HessianOf:
        """Return all component Hessians at s: phi'' of every row in NumPy's memory, 8 n width."""
        loss, curvatures = self.loss, self.numbers_of(s, self.loss.curvatures)

        def applied(sample: Indices | None, u: Floats) -> Floats:
            there = self.there(u)

            def bent(rows: Any, part: Part) -> Any:
                known = loss.library.floats(curvatures[part.numbers])
                return loss.bend(known, rows @ there[:, part.columns])

            g = self.mean_of(sample, bent)
            return g - loss.ridge * u if loss.ridge else g

        return HessianOf(applied)

    def table(self, x: Floats) -> Table:
        """Return a table with every component gradient at x; of loss (8) by compiled loops."""
        return self.inner.table(x) if self.loss.ridge else ArrayTable(self, x)

    def numbers_of(self, x: Floats, read: Reads) -> Floats:
        """Return what is read of every component at x, shape (n, width), as NumPy's array.

        Parameters
        ----------
        read
            Called with z and a part; returns shape (k, width).
        """
        loss, at = self.loss, self.there(x)
        found = np.empty((self.n, loss.width))
        for part in loss.parts(None, None):
            z = loss.of(loss.rows, part.numbers) @ at[:, part.columns]
            found[part.numbers] = self.library.back(read(z, part))
        return found

    def open(self, rng: np.random.Generator) -> Backend:
        """Return itself, or a backend whose linear minimisation multiplies on the device."""
        if not isinstance(self.set, NuclearBall):
            return self
        minimiser = self.set.minimiser(rng, self.tolerance)
        return Opened(self, lambda g: minimiser.lo(ArrayOperator(self.library, g)))


class ArrayTable:
    """phi' of every row where it was last asked, in NumPy's memory: 8 n width bytes."""

    def __init__(self, problem: OnArrays, x: Floats) -> None:
        self._problem, self._loss = problem, problem.loss
        self._slopes = problem.numbers_of(x, problem.loss.slopes)
        self.mean = problem.mean_of(None, lambda rows, part: self._stored(part))

    def difference(self, sample: Indices, x: Floats) -> Floats:
        """Return the mean of grad f_i(x) - a_i over the sample."""
        at = self._problem.there(x)

        def moved(rows: Any, part: Part) -> Any:
            return self._loss.slopes(rows @ at[:, part.columns], part) - self._stored(part)

        return self._problem.mean_of(sample, moved)

    def replace(self, sample: Indices, x: Floats) -> Floats:
        """As `difference`, then store grad f_i(x) once for each distinct index."""
        change, distinct = self.difference(sample, x), np.unique(weighted(sample)[0])
        share = distinct.size / self._problem.n
        self.mean = self.mean + share * self.difference(distinct, x)
        at = self._problem.there(x)

        def fresh(rows: Any, part: Part) -> Any:
            slopes = self._loss.slopes(rows @ at[:, part.columns], part)
            self._slopes[part.numbers] = self._loss.library.back(slopes)
            return slopes

        self._problem.mean_of(distinct, fresh)
        return change

    def _stored(self, part: Part) -> Any:
        return self._loss.library.floats(self._slopes[part.numbers])
