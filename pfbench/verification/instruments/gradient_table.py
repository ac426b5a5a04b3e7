"""Table of component gradients, for problems that compute many component gradients at once."""

from collections.abc import Callable

import numpy as np

from pfbench.base.arrays import Floats, Integers
from pfbench.base.sample import Indices, weight_indices


class StoredGradients:
    """Table of the gradient that was stored last for each component.

    Parameters
    ----------
    n
        Number of components.
    gradients
        Function of indices and a point that returns the gradients, one a row; numbers if points
        have one entry.
    x
        The point at which the table is filled.
    """

    def __init__(self, n: int, gradients: Callable[[Integers, Floats], Floats], x: Floats) -> None:
        self._gradients = gradients
        self._table = gradients(np.arange(n), x)
        self._sum = self._table.sum(axis=0)

    @property
    def mean(self) -> Floats:
        """Mean of the stored gradients, shape (d,)."""
        return np.atleast_1d(self._sum / len(self._table))

    def difference(self, sample: Indices, x: Floats) -> Floats:
        """Return the sample mean of component gradients at x minus the stored ones, shape (d,)."""
        i, weights = weight_indices(sample)
        return np.atleast_1d(weights @ (self._gradients(i, x) - self._table[i]))

    def replace(self, sample: Indices, x: Floats) -> Floats:
        """Store the sampled components' gradients at x; return their mean change, shape (d,)."""
        difference = self.difference(sample, x)
        i = np.unique(weight_indices(sample)[0])
        new = self._gradients(i, x)
        self._sum = self._sum + (new - self._table[i]).sum(axis=0)
        self._table[i] = new
        return difference
