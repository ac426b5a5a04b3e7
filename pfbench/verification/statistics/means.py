"""Means of nonnegative quantities: e-processes on both sides of a bound, and t-intervals."""

import math
from dataclasses import dataclass

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
