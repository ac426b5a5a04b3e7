"""Medians over seeds: sign test, confidence intervals from order statistics, numbers of seeds.

Test and intervals are exact for every distribution. A median is any m with P(X <= m) >= 1/2 and P(X
>= m) >= 1/2. The statement that a median is at most a bound means P(X <= bound) >= 1/2. So a value
equal to the bound is evidence for the bound.
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
"""Number of seeds of the early look. With a median above the bound all 7 lie within it with
probability 2^-7; the other looks have below 2.5 % each, and all three below 5 % together."""

SEEDS = 20
"""Number of seeds of the next look; if all 20 agree, the p-value is 2^-20, which never rejects."""

MOST_SEEDS = 41
"""Number of seeds of the last look, if no earlier look decides; only this look rejects. It is the
smallest number at which the sign test at `means.LEVEL` rejects with two values within a bound."""

ROUNDING = 1e-9
"""Amount by which rounding may lift a value above a bound."""


Seed = TypeVar("Seed")
Row = TypeVar("Row")


@dataclass
class SeedRows(Generic[Seed, Row]):
    """Measured rows, one for each seed; each row is measured when it is first requested.

    Attributes
    ----------
    make
        Function that makes the runs of a seed and returns the row.
    seeds
        `MOST_SEEDS` seeds, or fewer if there is no last look.
    computed
        Rows computed so far.
    """

    make: Callable[[Seed], Row]
    seeds: Sequence[Seed]
    computed: list[Row] = field(default_factory=list)

    def __call__(self, count: int) -> list[Row]:
        """Return the rows of the first `count` seeds, or of all seeds if there are fewer."""
        self.computed += [self.make(seed) for seed in self.seeds[len(self.computed) : count]]
        return self.computed[:count]


def sign_p_value(values: npt.ArrayLike, bound: float) -> float:
    """Return the p-value of the sign test for a median of at most `bound`.

    Under this hypothesis each value lies above the bound with probability at most 1/2. The p-value
    is the probability that a fair coin shows at least as many heads in k tosses as there are
    values above the bound. The p-value is 2^-k if all k values lie above the bound.

    Parameters
    ----------
    values
        Independent values, one per seed, shape (k,); inf is allowed.
    bound
        The claimed bound of the median; values above it by at most `ROUNDING` count as within.

    Raises
    ------
    InputError
        If there is no value, one is NaN, or the bound is not finite.
    """
    x = check_values_without_nan(values)
    nonzero = int(np.count_nonzero(x <= check_real("bound", bound) + ROUNDING))
    return float(scipy.special.bdtr(nonzero, x.size, 0.5))


def median_interval(values: npt.ArrayLike) -> means.ConfidenceInterval:
    """Return the confidence interval of a median by order statistics, with equal tails.

    Let B be the distribution function of Bin(n, 1/2), and k the largest number with B(k) <= 2.5 %,
    half of what `CONFIDENCE` leaves. The interval is [x_(k+1), x_(n-k)] of the sorted values. The
    true median lies above x_(n-k) only if at most k values lie above it. Fewer than 6 values give
    the whole line.

    Parameters
    ----------
    values
        See `sign_p_value`.

    Raises
    ------
    InputError
        If there is no value, or one is NaN.
    """
    x = np.sort(check_values_without_nan(values))
    tail = (1 - means.CONFIDENCE) / 2
    missed = scipy.special.bdtr(np.arange(x.size), x.size, 0.5)
    k = int(np.count_nonzero(missed <= tail)) - 1
    if k < 0:
        return means.ConfidenceInterval(-math.inf, math.inf)
    return means.ConfidenceInterval(float(x[k]), float(x[x.size - 1 - k]))


def check_values_without_nan(values: npt.ArrayLike) -> means.Array:
    """Convert values to an array of shape (k,), k >= 1, without NaN; else raise an error."""
    x = means.as_floats_with_nan("values", values)
    if x.ndim != 1 or x.size == 0 or np.isnan(x).any():
        raise InputError("values must be a nonempty list of numbers, one per seed, without NaN.")
    return x
