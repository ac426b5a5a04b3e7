"""What SAGA's tables share where a component gradient has a part that is a whole point."""

from abc import ABC, abstractmethod
from collections.abc import Iterator

import numpy as np

from pfbench.base.arrays import Floats, Integers
from pfbench.base.sample import Indices, weighted
from pfbench.problems.base import FiniteSum


class SharedTerms:
    """An array for each of n components; all that are stored in one call share theirs.

    The memory is 8 n bytes and one array for each call of which some component is still stored.

    Parameters
    ----------
    n
        Number of components.
    term
        The array of all of them at first; it is kept as it is.
    """

    def __init__(self, n: int, term: Floats) -> None:
        self._call_of = np.zeros(n, dtype=np.int64)
        self._terms = {0: term}
        self._users = {0: n}
        self._calls = 0

    def store(self, distinct: Integers, term: Floats) -> None:
        """Store an array for these components; drop those that no component has any more."""
        calls, users = np.unique(self._call_of[distinct], return_counts=True)
        for call, count in zip(calls.tolist(), users.tolist(), strict=True):
            self._users[call] -= count
            if self._users[call] == 0:
                del self._users[call], self._terms[call]
        self._calls += 1
        self._call_of[distinct] = self._calls
        self._users[self._calls] = distinct.size
        self._terms[self._calls] = term

    def shares(self, indices: Integers, weights: Floats) -> Iterator[tuple[float, Floats]]:
        """Yield each array that these components have, with the sum of their weights."""
        calls, position = np.unique(self._call_of[indices], return_inverse=True)
        sums = np.bincount(position, weights=weights)
        for call, share in zip(calls.tolist(), sums.tolist(), strict=True):
            yield share, self._terms[call]

    def __len__(self) -> int:
        return len(self._terms)


class SlopeTable(ABC):
    """A number for each of n components, and a whole point that all stored in one call share.

    Parameters
    ----------
    problem
        Its components are in the table.
    slopes
        The numbers at first, shape (n,).
    term
        What the components share at first; None where they share nothing.
    """

    def __init__(self, problem: FiniteSum, slopes: Floats, term: Floats | None) -> None:
        self._n, self._slopes = problem.n, slopes
        self._shared = None if term is None else SharedTerms(problem.n, term)

    mean: Floats

    @abstractmethod
    def _slopes_at(self, indices: Integers, x: Floats) -> Floats:
        """Return the numbers of these components at x."""

    @abstractmethod
    def _term(self, x: Floats) -> Floats:
        """Return what the components share at x."""

    @abstractmethod
    def _change(self, indices: Integers, weights: Floats, slopes: Floats, x: Floats) -> Floats:
        """Return the weighted sum of grad f_i(x) - a_i, with these numbers at x."""

    def difference(self, sample: Indices, x: Floats) -> Floats:
        """Return the mean of grad f_i(x) - a_i over the sample, of the shape of x."""
        indices, weights = weighted(sample)
        return self._change(indices, weights, self._slopes_at(indices, x), x)

    def replace(self, sample: Indices, x: Floats) -> Floats:
        """As `difference`, then store grad f_i(x) once for each distinct index."""
        change = self.difference(sample, x)
        distinct = np.unique(weighted(sample)[0])
        slopes = self._slopes_at(distinct, x)
        weights = np.full(distinct.size, 1.0 / self._n)
        self.mean = self.mean + self._change(distinct, weights, slopes, x)
        self._slopes[distinct] = slopes
        if self._shared is not None:
            self._shared.store(distinct, self._term(x))
        return change
