"""Exponents: the slope of log counts over log x, its interval over seeds, and its test."""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy

from pfbench.base.checks import finite_array, real
from pfbench.base.errors import InputError
from pfbench.verification.statistics import means

CURVATURE = 0.1
"""A fit is curved where the slope surely changes by more than this over the range."""

LEAST_POINTS = 4
"""An exponent is fitted to at least so many values of x."""

ROUNDING = 1e-9
"""How far an inequality for every run or step may be exceeded by rounding, relative to it."""


@dataclass(frozen=True)
class Exponent:
    """The slope of log counts over log x, with its t-interval over seeds.

    Attributes
    ----------
    slopes
        One least-squares slope a seed; empty if the fit is not usable.
    slope, lower, upper
        Their mean and its two-sided interval; NaN if the fit is not usable.
    seeds, points, decades
        Seeds, values of x used, and decades of x they span.
    censored, dropped
        Cells that did not reach the target, and values of x left out because of them.
    curvature, curvature_lower, curvature_upper
        Change of the local slope from the least to the largest x, by a quadratic fit: the mean
        over seeds and its two-sided interval.
    end_slope
        Local slope at the largest x by that fit, the mean over seeds.
    curved
        Whether the interval of the curvature lies beyond ±`CURVATURE`: then one slope does not
        describe the counts.
    deterministic
        Whether nothing varies between seeds, so that the intervals are numbers.
    usable
        Whether enough values of x, over enough decades, are free of censored cells.
    """

    slopes: tuple[float, ...]
    slope: float
    lower: float
    upper: float
    seeds: int
    points: int
    decades: float
    censored: int
    dropped: int
    curvature: float
    curvature_lower: float
    curvature_upper: float
    end_slope: float
    curved: bool
    deterministic: bool
    usable: bool


def fit_exponent(
    x: npt.ArrayLike,
    counts: npt.ArrayLike,
    *,
    known: npt.ArrayLike | None = None,
    level: float = means.CONFIDENCE,
    least_decades: float = 2.0,
) -> Exponent:
    """Fit counts ∝ x^slope: one least-squares slope a seed, then the t-interval over seeds.

    Seeds are independent and values of x are not (they may share a problem), so the spread
    between seeds gives the interval, not the residuals of a fit.

    A value of x with a censored cell is left out for all seeds: leaving out the cell alone would
    keep the seeds that were lucky there. The fit is usable if `LEAST_POINTS` values of x over
    `least_decades` remain.

    Parameters
    ----------
    x
        What the counts grow with, positive and all different, shape (k,). It grows with
        difficulty: n, or 1/ε rather than ε.
    counts
        Calls to the target (or any positive measurement), shape (seeds, k); inf or NaN where the
        target was not reached. Shape (k,) states that nothing random enters them.
    known
        Natural logarithms of known factors of the counts, shape (k,), which are divided out.
    level
        Confidence of the intervals, in (0, 1).
    least_decades
        Least decades of x of a usable fit.

    Raises
    ------
    InputError
        If shapes do not fit, x is not positive and different, a count is not positive, or the
        level is not in (0, 1).
    """
    at = finite_array("x", x)
    if at.ndim != 1 or (at <= 0).any() or np.unique(at).size != at.size:
        raise InputError("x must be a list of positive numbers, all different.")
    cells = means.numbers("counts", counts)
    fixed = cells.ndim == 1
    cells = np.atleast_2d(cells)
    if cells.ndim != 2 or cells.shape[0] == 0 or cells.shape[1] != at.size:
        raise InputError(
            f"counts have shape {np.shape(counts)} where (seeds, {at.size}) is needed, a column "
            "for each x."
        )
    if (cells <= 0).any():
        raise InputError("counts must be positive; give inf where the target was not reached.")
    offset = np.zeros(at.size) if known is None else finite_array("known", known, shape=at.shape)
    level = means.checked_level(level)

    censored = ~np.isfinite(cells)
    keep = ~censored.any(axis=0)
    u = np.log(at[keep])
    decades = float(np.ptp(u) / math.log(10)) if u.size else 0.0
    usable = u.size >= LEAST_POINTS and decades >= least_decades - ROUNDING
    nothing = np.empty(0)
    slopes, change, end = nothing, nothing, math.nan
    if usable:
        slopes, change, ends = _slopes(u, np.log(cells[:, keep]) - offset[keep])
        end = float(ends.mean())
    fixed = fixed or (slopes.size > 1 and bool(np.ptp(slopes) <= 1e-12))
    slope, lower, upper = _estimate(slopes, level, fixed)
    curvature, curvature_lower, curvature_upper = _estimate(change, level, fixed)
    return Exponent(
        slopes=tuple(slopes.tolist()),
        slope=slope,
        lower=lower,
        upper=upper,
        seeds=cells.shape[0],
        points=u.size,
        decades=decades,
        censored=int(censored.sum()),
        dropped=int((~keep).sum()),
        curvature=curvature,
        curvature_lower=curvature_lower,
        curvature_upper=curvature_upper,
        end_slope=end,
        curved=curvature_lower > CURVATURE or curvature_upper < -CURVATURE,
        deterministic=fixed,
        usable=usable,
    )


def exponent_p_value(slopes: npt.ArrayLike, claimed: float, margin: float) -> float:
    """Return the p-value of the one-sided t-test of slope <= claimed + margin.

    One slope cannot reject: 1. Slopes that do not vary make it an inequality: 0 where their
    value exceeds claimed + margin, else 1.

    The test is exact for normal slopes, which noise gives that is lognormal. It is not free of
    assumptions: slopes with a long lower tail are rejected 216 times too often at level 1e-5 (20
    seeds, in simulation).

    Parameters
    ----------
    slopes
        One slope a seed, shape (seeds,), as in `Exponent.slopes`.
    claimed
        The claimed exponent, an upper bound.
    margin
        How far above it a slope may lie.

    Raises
    ------
    InputError
        If there is no slope, or a number is not finite.
    """
    values = means.samples_of(slopes, "slopes")
    excess = float(values.mean()) - real("claimed", claimed) - real("margin", margin, least=0)
    if values.size == 1:
        return 1.0
    error = means.standard_error(values)
    if error == 0:
        return 0.0 if excess > ROUNDING else 1.0
    return float(scipy.special.stdtr(values.size - 1, -excess / error))


def sign_p_value(slopes: npt.ArrayLike, claimed: float, margin: float) -> float:
    """Return the p-value of the sign test that at least half of all slopes are <= claimed + margin.

    It is exact whatever the law of the slopes: of k seeds so many or more lie above with the
    probability of a fair coin, 2^-k for all of them. Arguments are those of `exponent_p_value`.
    """
    values = means.samples_of(slopes, "slopes")
    most = real("claimed", claimed) + real("margin", margin, least=0)
    within = int(np.count_nonzero(values <= most + ROUNDING))
    return float(scipy.special.bdtr(within, values.size, 0.5))


def _slopes(u: means.Array, logs: means.Array) -> tuple[means.Array, means.Array, means.Array]:
    """Return each row's slope, change of the local slope over the range, and slope at its end.

    The linear fit projects on p = u − mean(u). The quadratic one adds q, the part of p² that is
    orthogonal to 1 and p: its local slope is d(bp + cq)/du = b + c(2p − Σp³/Σp²).
    """
    p = u - u.mean()
    skew = np.sum(p**3) / np.sum(p**2)
    q = p**2 - np.mean(p**2) - skew * p
    b = logs @ p / np.sum(p**2)
    c = logs @ q / np.sum(q**2)
    return b, 2 * c * np.ptp(u), b + c * (2 * p.max() - skew)


def _estimate(values: means.Array, level: float, fixed: bool) -> tuple[float, float, float]:
    """Return mean and interval over seeds, which is the number itself where nothing varies."""
    if values.size == 0:
        return math.nan, math.nan, math.nan
    mean = float(values.mean())
    if fixed:
        return mean, mean, mean
    interval = means.t_interval(values, (1 + level) / 2)
    return mean, interval.lower, interval.upper
