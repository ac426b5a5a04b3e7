"""Tests and limits of means and medians, and the numbers of seeds for medians.

Means of nonnegative quantities have e-processes on both sides of a bound. Medians over seeds have a
sign test, and confidence intervals from order statistics. Test and intervals of medians are exact
for every distribution. A median is any m with P(X <= m) >= 1/2 and P(X >= m) >= 1/2. The statement
that a median is at most a bound means P(X <= bound) >= 1/2. So a value equal to the bound is
evidence for the bound.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

import numpy as np
import numpy.typing as npt
import scipy

from pfbench.base.checks import check_finite_array, check_real
from pfbench.base.errors import InputError

Array = npt.NDArray[np.float64]

FAMILY_LEVEL = 1e-6
"""Probability that a verification of true claims has any verdict *violated*."""

MOST_TESTS = 2000
"""Maximum number of tests that share the family-wise level, in all parts of all claims of one
verification; it does not depend on the catalogue."""

LEVEL = FAMILY_LEVEL / MOST_TESTS
"""Level of one test for *violated*."""

CONFIDENCE = 0.95
"""Confidence of printed intervals, and of *holds*."""

GRID: Array = np.array([1, 1 / 2, 1 / 4, 1 / 8, 1 / 16])
GRID.setflags(write=False)
# λ = 1 is the fastest for large ratios, 1/16 for ratios near 1 of widely spread samples; each λ
# that does not help costs one factor of the average, not a factor at each step.


# --- the e-process --------------------------------------------------------------------------------


def log_e_values(samples: npt.ArrayLike, bound: float) -> Array:
    """Return the log e-values of the e-process after each sample, for many sequences at once.

    The claim is E[X_i | X_1, ..., X_{i-1}] <= `bound` for samples X_i >= 0. The e-value is the
    average over λ in `GRID` of Π(1 + λ(X_i/bound − 1)). If the claim is true, this is a nonnegative
    supermartingale that starts at 1, for every distribution of the X_i. So the probability that it
    ever exceeds a threshold is at most 1/threshold (Ville's inequality). The bound also holds if a
    user looks after each sample and stops at any time. An infinite sample makes the e-value
    infinite for good.

    Parameters
    ----------
    samples
        Nonnegative, shape (..., n); each row is one sequence.
    bound
        The claimed bound of the mean, positive.

    Returns
    -------
    Array
        Natural logarithms of the e-values, shape (..., n).

    Raises
    ------
    InputError
        If a sample is negative or NaN, or the bound is not positive.
    """
    ratios = divide_by_bound(samples, check_real("bound", bound, above=0))
    endless = np.logical_or.accumulate(np.isinf(ratios), axis=-1)
    values = _log_mean_wealth(np.cumsum(_log_gains(np.where(endless, 1.0, ratios)), axis=-2))
    return np.where(endless, np.inf, values)


def max_log_e_value(samples: npt.ArrayLike, bound: float) -> float:
    """Return the largest log e-value of a sequence so far, at least 0; see `log_e_values`."""
    return float(log_e_values(samples, bound).max(initial=0.0))


def divide_by_bound(samples: npt.ArrayLike, bound: float) -> Array:
    """Return the samples divided by the bound; raise an error if one is negative or NaN."""
    x = as_floats_with_nan("samples", samples)
    if x.ndim == 0:
        raise InputError("samples must be a list of numbers, in the order of measurement.")
    bad = x[~(x >= 0)]
    if bad.size:
        raise InputError(
            f"samples contain {bad[0]}, but the e-process needs nonnegative numbers: test a "
            "quantity that cannot be negative, and give inf for a run that diverged."
        )
    with np.errstate(over="ignore"):
        return x / bound


def _log_gains(ratios: Array) -> Array:
    """Return the log gain log(1 + λ(ratio − 1)) of a bet for each ratio and each λ (last axis).

    The values λ are those of `GRID`. The result is −inf for λ = 1 and the ratio 0.
    """
    with np.errstate(divide="ignore"):
        gains: Array = np.log1p(GRID * (ratios[..., np.newaxis] - 1))
    return gains


def _log_mean_wealth(log_wealth: Array) -> Array:
    """Return the logarithm of the mean wealth over the last axis, from logarithms of wealth."""
    upper = log_wealth.max(axis=-1, keepdims=True)
    mean: Array = upper[..., 0] + np.log(np.mean(np.exp(log_wealth - upper), axis=-1))
    return mean


# --- limits that may be looked at after each sample ----------------------------------------------

RANGE = 10.0
"""Assumed largest ratio of a sample to the bound, for the upper limit of a mean; without such a
range no finite number of samples bounds a mean from above."""


def sequential_limits(
    ratios: Array, level: float, max_ratio: float = RANGE
) -> "ConfidenceInterval":
    """Return confidence limits of the mean of ratios; the limits are valid at all sample sizes.

    Upper limit: if the mean is at least m, the product of (R - x_i)/(R - m) with R = `max_ratio` is
    a nonnegative supermartingale that starts at 1 (Waudby-Smith and Ramdas 2024, section 4, with
    one bet). The limit is the least m at which the product reaches 1/(1 - level) at some look k,

        min over k of R - ((1 - level) prod_{i <= k} (R - x_i))^(1/k),

    which is below the mean with probability at most 1 - level (Ville's inequality). Samples above R
    count as R, so a law with much of its mean above R is covered less often. If the mean of the
    samples exceeds the limit, R is not their range, and the limit is infinite.

    Lower limit: the least m that the e-process does not reject at that level, for every law, or the
    mean of the samples if that is less.

    Parameters
    ----------
    ratios
        Samples over the bound, nonnegative, shape (n,), in order.
    level
        Confidence of each of the two one-sided limits.
    max_ratio
        The range R, greater than 1.
    """
    upper = upper_limit(ratios, level, max_ratio)
    if not np.isfinite(ratios).all():
        return ConfidenceInterval(0.0, math.inf)
    reach = -math.log(1 - level)

    def excess_e_value(bound: float) -> float:
        return float(log_e_values(ratios, bound).max()) - reach

    high = float(ratios.max())
    low = _LEAST * high
    if low == 0.0 or excess_e_value(low) <= 0.0:
        return ConfidenceInterval(0.0, upper)
    lower = float(scipy.optimize.brentq(excess_e_value, low, high, xtol=_LEAST * high))
    return ConfidenceInterval(min(lower, float(ratios.mean())), upper)


def upper_limit(ratios: Array, level: float, max_ratio: float = RANGE) -> float:
    """Return only the upper limit that `sequential_limits` computes."""
    with np.errstate(divide="ignore"):
        logs = np.cumsum(np.log(np.maximum(max_ratio - ratios, 0.0)))
    k = np.arange(1, ratios.size + 1)
    limit = float((max_ratio - np.exp((math.log(1 - level) + logs) / k)).min())
    return limit if ratios.mean() <= limit else math.inf


_LEAST = 1e-10
"""Smallest lower limit that is searched, and its accuracy, relative to the largest sample."""


@dataclass(frozen=True)
class ConfidenceInterval:
    """Confidence interval [lower, upper]."""

    lower: float
    upper: float


# --- validation -----------------------------------------------------------------------------------


def as_floats_with_nan(name: str, value: npt.ArrayLike) -> Array:
    """Convert a value to an array of floats; NaN and inf are allowed."""
    try:
        return np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{name} must be an array of numbers.") from None


def check_samples(value: npt.ArrayLike, name: str = "samples") -> Array:
    """Convert finite samples to an array of shape (n,), n >= 1; else raise an error."""
    array = check_finite_array(name, value)
    if array.ndim != 1 or array.size == 0:
        raise InputError(f"{name} must be a list of at least one number, not shape {array.shape}.")
    return array


# --- medians ----------------------------------------------------------------------------------

EARLY_SEEDS = 7
"""Number of seeds of the early look. With a median above the bound all 7 lie within it with
probability 2^-7; the other looks have below 2.5 % each, and all three below 5 % together."""

SEEDS = 20
"""Number of seeds of the next look; if all 20 agree, the p-value is 2^-20, which never rejects."""

MOST_SEEDS = 41
"""Number of seeds of the last look, if no earlier look decides; only this look rejects. It is the
smallest number at which the sign test at `LEVEL` rejects with two values within a bound."""

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


def median_interval(values: npt.ArrayLike) -> ConfidenceInterval:
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
    tail = (1 - CONFIDENCE) / 2
    missed = scipy.special.bdtr(np.arange(x.size), x.size, 0.5)
    k = int(np.count_nonzero(missed <= tail)) - 1
    if k < 0:
        return ConfidenceInterval(-math.inf, math.inf)
    return ConfidenceInterval(float(x[k]), float(x[x.size - 1 - k]))


def check_values_without_nan(values: npt.ArrayLike) -> Array:
    """Convert values to an array of shape (k,), k >= 1, without NaN; else raise an error."""
    x = as_floats_with_nan("values", values)
    if x.ndim != 1 or x.size == 0 or np.isnan(x).any():
        raise InputError("values must be a nonempty list of numbers, one per seed, without NaN.")
    return x
