"""Storage of SAGA's tables for component gradients that include a full vector."""

from abc import ABC, abstractmethod

import numpy as np

from pfbench.base.arrays import Floats, Integers
from pfbench.base.sample import Indices, count_indices
from pfbench.kernels.linear import add_draws_per_slot, move_components_to_slot
from pfbench.problems.base import FiniteSum

Drawn = tuple[Integers, Integers, int]
"""Indices, number of draws of each, and total number of draws; see `count_indices`."""


class SharedTerms:
    """Array for each of n components; components stored in one call share one array.

    The memory is 8 n bytes and at most 2 k arrays, where k is the largest number of calls whose
    arrays were in use at one time.

    Parameters
    ----------
    n
        Number of components.
    term
        Initial array of all components.
    """

    def __init__(self, n: int, term: Floats) -> None:
        self._slots = np.zeros(n, dtype=np.int64)
        self._users = np.array([n])
        self._terms: Floats = term[None].copy()

    def mean(self, indices: Integers, counts: Integers, size: int) -> Floats:
        """Return the mean of the arrays of these components; see `count_indices`."""
        draws = np.zeros(self._users.size)
        add_draws_per_slot(indices, counts, self._slots, draws)
        return self._total(draws / size)

    def replace(self, indices: Integers, term: Floats) -> Floats:
        """Store an array for these components; return the resulting change of the sum of all."""
        new = int(np.argmin(self._users))
        if self._users[new]:
            new = self._users.size
            self._users = np.concatenate([self._users, np.zeros_like(self._users)])
            self._terms = np.concatenate([self._terms, np.zeros_like(self._terms)])
        before = self._users.copy()
        move_components_to_slot(indices, new, self._slots, self._users)
        gained, before[new] = int(self._users[new]), 0
        change = gained * term - self._total(before - np.where(before, self._users, 0))
        self._terms[new] = term
        return change

    def _total(self, shares: Floats | Integers) -> Floats:
        used = np.flatnonzero(shares)
        return np.asarray(np.tensordot(shares[used], self._terms[used], axes=1))

    def __len__(self) -> int:
        return int(np.count_nonzero(self._users))


class SlopeTable(ABC):
    """Slope of each of n components, and a vector that components stored in one call share.

    Parameters
    ----------
    problem
        Problem whose components are in the table.
    slopes
        Initial numbers, shape (n,).
    term
        Initial shared part of the components; None if they share nothing.
    """

    def __init__(self, problem: FiniteSum, slopes: Floats, term: Floats | None) -> None:
        self._n, self._slopes = problem.n, slopes
        self._shared = None if term is None else SharedTerms(problem.n, term)

    mean: Floats

    @abstractmethod
    def _term_in_common(self, x: Floats) -> Floats:
        """Return the part of every component gradient at x that they share."""

    @abstractmethod
    def _add_changes(self, weights: Drawn, x: Floats, g: Floats) -> None:
        """Add to g the mean change of the gradients of a sample due to their slopes at x."""

    @abstractmethod
    def _replace_numbers(self, weights: Drawn, x: Floats, g: Floats, mean: Floats) -> None:
        """Call `_add_changes`, then store the slopes, and add the change of the mean to `mean`."""

    def difference(self, sample: Indices, x: Floats) -> Floats:
        """Return the mean of grad f_i(x) - a_i over the sample, of the shape of x."""
        indices = count_indices(sample)
        g = self._change_of_terms(indices, x)
        self._add_changes(indices, x, g)
        return g

    def replace(self, sample: Indices, x: Floats) -> Floats:
        """Return the `difference`, then store grad f_i(x) once for each distinct index."""
        indices = count_indices(sample)
        g, mean = self._change_of_terms(indices, x), self.mean.copy()
        self._replace_numbers(indices, x, g, mean)
        if self._shared is not None:
            mean += self._shared.replace(indices[0], self._term_in_common(x)) / self._n
        self.mean = mean
        return g

    def _change_of_terms(self, weights: Drawn, x: Floats) -> Floats:
        if self._shared is None:
            return np.zeros(x.shape)
        return np.asarray(self._term_in_common(x) - self._shared.mean(*weights))
