"""The dense losses on arrays of another library: PyTorch, CuPy, or any that follows the standard.

Data stay where the library has them, as on a GPU; points and gradients come and go as NumPy's
arrays, so that algorithms, counts and measures are what they are without it. Results differ in the
order of summation.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from pfbench.base.arrays import Floats
from pfbench.base.passing import PassedOn
from pfbench.base.protocols import Backend, Table
from pfbench.base.sample import Indices, weighted
from pfbench.problems.around import Around
from pfbench.problems.array_libraries import ArrayLibrary, ArrayOperator
from pfbench.problems.array_losses import Dense, Loss, Part, loss_of
from pfbench.problems.base import HessianOf, Opened, digest_of, drawn, point_of
from pfbench.problems.over_matrices import OverMatrices
from pfbench.sets.body import Body
from pfbench.sets.nuclear import NuclearBall

Reads = Callable[[Any, Part], Any]
"""Returns numbers of some components, shape (k, width), of their z."""


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

    set = PassedOn[Body]("inner")
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
