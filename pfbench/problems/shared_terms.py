"""Storage of SAGA tables whose component gradients share vectors."""

from abc import ABC, abstractmethod

import numpy as np

from pfbench.base.arrays import Floats, Integers
from pfbench.base.sample import Indices, count_indices
from pfbench.kernels.linear import add_draws_per_slot, move_components_to_slot
from pfbench.problems.base import FiniteSum

Drawn = tuple[Integers, Integers, int]
"""Indices, number of draws of each, and total number of draws; see `count_indices`."""


class SharedArrayTable:
    """Table of one array for each of n components; arrays stored in one call share their memory.

    The memory is 8 n bytes and at most 2 k arrays. Here k is the largest number of calls whose
    arrays were in use at one time.

    Parameters
    ----------
    n
        Number of components.
    term
        Initial array of all components.
    """

    def __init__(self, n: int, initial_array: Floats) -> None:
        self._slots = np.zeros(n, dtype=np.int64)
        self._users = np.array([n])
        self._terms: Floats = initial_array[None].copy()

    def mean(self, indices: Integers, counts: Integers, size: int) -> Floats:
        """Return the mean of the stored arrays over the sampled components.

        `indices`, `counts` and `size` are those of `count_indices`.
        """
        draws = np.zeros(self._users.size)
        add_draws_per_slot(indices, counts, self._slots, draws)
        return self._total(draws / size)

    def replace_and_sum_change(self, indices: Integers, array: Floats) -> Floats:
        """Store one array for the given components; return the change of the sum of all arrays."""
        new = int(np.argmin(self._users))
        if self._users[new]:
            new = self._users.size
            self._users = np.concatenate([self._users, np.zeros_like(self._users)])
            self._terms = np.concatenate([self._terms, np.zeros_like(self._terms)])
        before = self._users.copy()
        move_components_to_slot(indices, new, self._slots, self._users)
        gained, before[new] = int(self._users[new]), 0
        change = gained * array - self._total(before - np.where(before, self._users, 0))
        self._terms[new] = array
        return change

    def _total(self, shares: Floats | Integers) -> Floats:
        used = np.flatnonzero(shares)
        return np.asarray(np.tensordot(shares[used], self._terms[used], axes=1))

    def __len__(self) -> int:
        return int(np.count_nonzero(self._users))


class SharedPartSagaTable(ABC):
    """SAGA table of one slope for each component, and of vectors that several components share.

    Components that are stored in one call share one vector.

    Parameters
    ----------
    problem
        Problem whose components are in the table.
    slopes
        Initial numbers, shape (n,).
    term
        Initial shared part of the components; None if they share nothing.
    """

    def __init__(self, problem: FiniteSum, slopes: Floats, shared_part: Floats | None) -> None:
        self._n, self._slopes = problem.n, slopes
        self._shared = None if shared_part is None else SharedArrayTable(problem.n, shared_part)

    mean: Floats

    @abstractmethod
    def _common_part(self, x: Floats) -> Floats:
        """Return the part of the component gradients at x that is the same for all components."""

    @abstractmethod
    def _add_mean_slope_changes(self, weights: Drawn, x: Floats, g: Floats) -> None:
        """Add to g the sample mean of (slope at x - stored slope) times the component's vector."""

    @abstractmethod
    def _add_and_replace_slopes(self, weights: Drawn, x: Floats, g: Floats, mean: Floats) -> None:
        """Call `_add_mean_slope_changes`, store the slopes at x, and update `mean`."""

    def difference(self, sample: Indices, x: Floats) -> Floats:
        """Return the mean over the sample of (grad f_i(x) - stored gradient of f_i)."""
        indices = count_indices(sample)
        g = self._change_of_terms(indices, x)
        self._add_mean_slope_changes(indices, x, g)
        return g

    def replace(self, sample: Indices, x: Floats) -> Floats:
        """Return `difference(sample, x)`, then store grad f_i(x) for each sampled component i."""
        indices = count_indices(sample)
        g, mean = self._change_of_terms(indices, x), self.mean.copy()
        self._add_and_replace_slopes(indices, x, g, mean)
        if self._shared is not None:
            mean += self._shared.replace_and_sum_change(indices[0], self._common_part(x)) / self._n
        self.mean = mean
        return g

    def _change_of_terms(self, weights: Drawn, x: Floats) -> Floats:
        if self._shared is None:
            return np.zeros(x.shape)
        return np.asarray(self._common_part(x) - self._shared.mean(*weights))
