"""Medians over seeds: the sign test, intervals of order statistics, and when more seeds are made.

Both are exact whatever the law. A median of a law is any m with P(X <= m) >= 1/2 and P(X >= m) >=
1/2; that it is at most a bound says P(X <= bound) >= 1/2, so that a value at the bound speaks for
it.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

import numpy as np
import numpy.typing as npt
import scipy

from pfbench.base.checks import check_real
from pfbench.base.errors import InputError
from pfbench.verification.statistics import means

EARLY_SEEDS = 7
"""Seeds of an early look, which a clear case needs. That a median above the bound has all of them
within has chance 2^-7, which leaves the two looks below 2.5 % each, and all three below 5 %."""

SEEDS = 20
"""Seeds of a first look. Of 20 that agree the sign test says 2^-20, which never rejects."""

MOST_SEEDS = 41
"""Seeds of the last look, which is made if no earlier one decides. Only there a median is
rejected: the fewest seeds of which the sign test at `means.LEVEL` lets two lie within the bound."""

ROUNDING = 1e-9
"""How far a value may lie beyond a bound by rounding alone."""


Seed = TypeVar("Seed")
Row = TypeVar("Row")


@dataclass
class SeedRows(Generic[Seed, Row]):
    """Measured rows of each seed, computed on the first request.

    Attributes
    ----------
    make
        Makes the runs of a seed.
    seeds
        `MOST_SEEDS` of them, or fewer where there is no last look.
    computed
        What was made so far.
    """

    make: Callable[[Seed], Row]
    seeds: Sequence[Seed]
    computed: list[Row] = field(default_factory=list)

    def __call__(self, count: int) -> list[Row]:
        """Return the rows of the first seeds, `count` of them at most."""
        self.computed += [self.make(seed) for seed in self.seeds[len(self.computed) : count]]
        return self.computed[:count]


def sign_p_value(values: npt.ArrayLike, bound: float) -> float:
    """Return the p-value of the sign test of a median of at most `bound`.

    Then each value lies above with probability 1/2 at most, so that of k seeds so many or more do
    with at most the probability of a fair coin, 2^-k for all of them.

    Parameters
    ----------
    values
        One a seed, independent, shape (k,); inf is allowed.
    bound
        The claimed bound of the median; a value beyond it by `ROUNDING` lies within.

    Raises
    ------
    InputError
        If there is no value, one is NaN, or the bound is not finite.
    """
    x = check_values(values)
    nonzero = int(np.count_nonzero(x <= check_real("bound", bound) + ROUNDING))
    return float(scipy.special.bdtr(nonzero, x.size, 0.5))


def median_interval(
    values: npt.ArrayLike, level: float = means.CONFIDENCE
) -> means.ConfidenceInterval:
    """Return the interval of order statistics of a median: each end is missed by half of 1 - level.

    With B(k) the distribution function of Bin(n, 1/2) and k the largest with B(k) <= (1 - level)/2
    it is [x_(k+1), x_(n-k)] of the sorted values: the median lies above x_(n-k) only if k values at
    most lie beyond it. Fewer than 6 values bound nothing at 95 %: the whole line.

    Parameters
    ----------
    values
        As of `sign_p_value`.
    level
        The confidence of both ends together, in (0, 1).

    Raises
    ------
    InputError
        If there is no value, one is NaN, or the level is not in (0, 1).
    """
    x = np.sort(check_values(values))
    tail = (1 - means.check_level(level)) / 2
    missed = scipy.special.bdtr(np.arange(x.size), x.size, 0.5)
    k = int(np.count_nonzero(missed <= tail)) - 1
    if k < 0:
        return means.ConfidenceInterval(-math.inf, math.inf)
    return means.ConfidenceInterval(float(x[k]), float(x[x.size - 1 - k]))


def check_values(values: npt.ArrayLike) -> means.Array:
    """Return at least one number, none of them NaN, shape (k,)."""
    x = means.as_float_array("values", values)
    if x.ndim != 1 or x.size == 0 or np.isnan(x).any():
        raise InputError("values must be a list of at least one number, one a seed, none NaN.")
    return x
