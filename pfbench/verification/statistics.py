"""From measurements to verdicts: tests, intervals, exponents, and the words they allow.

The rules are those of one verification of `CLAIMS` claims. *violated* is said at the family-wise
level `FAMILY_LEVEL`, split over the claims by Bonferroni. *holds* and *tight* are said at 95 %.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
import scipy

from pfbench.base.checks import finite_array, integer, real
from pfbench.base.errors import InputError

Array = npt.NDArray[np.float64]
Verdict = Literal["holds", "tight", "violated", "inconclusive"]

FAMILY_LEVEL = 1e-6
"""Chance that a verification of true claims says *violated* anywhere."""

CLAIMS = 67
"""How many claims share the family-wise level."""

LEVEL = FAMILY_LEVEL / CLAIMS
"""Level at which one claim is called violated."""

CONFIDENCE = 0.95
"""Confidence of printed intervals, and of *holds* and *tight*."""

TIGHT = 0.1
"""A bound is tight where what was measured is at least this share of it."""

EXPONENT_MARGIN = 0.1
"""How far an exponent of calls to a target may lie from the claimed one."""

LAW_MARGIN = 0.05
"""The same for an exponent of a law, which has no optimisation in it."""

CURVATURE = 0.1
"""A fit is curved where the slope surely changes by more than this over the range."""

LEAST_POINTS = 4
"""An exponent is fitted to at least so many values of x."""

ROUNDING = 1e-9
"""How far an inequality for every run or step may be exceeded by rounding, relative to it."""

GRID: Array = np.array([1, 1 / 2, 1 / 4, 1 / 8, 1 / 16])
GRID.setflags(write=False)
# λ = 1 is the fastest for large ratios, 1/16 for ratios near 1 of widely spread samples; each λ
# that does not help costs one factor of the average, not a factor at each step.


# --- means of nonnegative quantities --------------------------------------------------------------


class EProcess:
    """A test of E[X_i | X_1, ..., X_{i-1}] <= `bound` for X_i >= 0, after each X_i.

    The e-value is the average over λ in `GRID` of Π(1 + λ(X_i/bound − 1)). If the claim is true
    it is a nonnegative supermartingale that starts at 1, whatever the law of the X_i. So it ever
    exceeds `threshold` with probability at most 1/`threshold` (Ville's inequality), and one may
    look at it after each sample and stop at will.

    Parameters
    ----------
    bound
        The claimed bound of the mean, positive.
    threshold
        The e-value that rejects, greater than 1.

    Attributes
    ----------
    log_value
        Natural logarithm of the e-value now.
    log_largest
        Its largest value so far.
    """

    def __init__(self, bound: float, threshold: float = 1 / LEVEL) -> None:
        self.bound = real("bound", bound, above=0)
        self.threshold = real("threshold", threshold, above=1)
        self.log_value = 0.0
        self.log_largest = 0.0
        self._log_wealth = np.zeros(GRID.size)

    def add(self, x: float) -> float:
        """Take one more sample and return the logarithm of the e-value.

        An infinite sample makes the e-value infinite for good.

        Raises
        ------
        InputError
            If `x` is negative or NaN.
        """
        gains = _log_gains(_ratios([x], self.bound))[0]
        if self.log_value < math.inf and gains[-1] < math.inf:
            self._log_wealth += gains
            self.log_value = float(_log_mean(self._log_wealth))
        else:
            self.log_value = math.inf
        self.log_largest = max(self.log_largest, self.log_value)
        return self.log_value

    @property
    def rejected(self) -> bool:
        """Whether the e-value has ever exceeded the threshold."""
        return self.log_largest > math.log(self.threshold)

    @property
    def p_value(self) -> float:
        """1 over the largest e-value so far: a p-value that is valid at each look."""
        return math.exp(-self.log_largest)


def log_e_values(samples: npt.ArrayLike, bound: float) -> Array:
    """Return what `EProcess` returns after each sample, for many sequences at once.

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
    ratios = _ratios(samples, real("bound", bound, above=0))
    endless = np.logical_or.accumulate(np.isinf(ratios), axis=-1)
    values = _log_mean(np.cumsum(_log_gains(np.where(endless, 1.0, ratios)), axis=-2))
    return np.where(endless, np.inf, values)


def _ratios(samples: npt.ArrayLike, bound: float) -> Array:
    """Return samples / bound, refused if one is negative or NaN."""
    x = _numbers("samples", samples)
    if x.ndim == 0:
        raise InputError("samples must be a list of numbers, in order.")
    bad = x[~(x >= 0)]
    if bad.size:
        raise InputError(
            f"samples contain {bad[0]}: the e-process needs nonnegative numbers, so test a "
            "quantity that cannot be negative, and give inf for a run that diverged."
        )
    with np.errstate(over="ignore"):
        return x / bound


def _log_gains(ratios: Array) -> Array:
    """Return log(1 + λ(ratio − 1)), shape (..., λ); −inf where λ = 1 loses everything."""
    with np.errstate(divide="ignore"):
        gains: Array = np.log1p(GRID * (ratios[..., np.newaxis] - 1))
    return gains


def _log_mean(log_wealth: Array) -> Array:
    """Return the logarithm of the average over the last axis; λ < 1 keeps the greatest finite."""
    most = log_wealth.max(axis=-1, keepdims=True)
    mean: Array = most[..., 0] + np.log(np.mean(np.exp(log_wealth - most), axis=-1))
    return mean


# --- intervals of a mean --------------------------------------------------------------------------


@dataclass(frozen=True)
class Interval:
    """A confidence interval [lower, upper]."""

    lower: float
    upper: float


def mean_interval(samples: npt.ArrayLike, level: float = CONFIDENCE) -> Interval:
    """Return the two-sided t-interval of a mean.

    One sample says nothing about its spread: its interval is the whole line. Samples that agree
    to 12 digits are taken for a number that does not vary: their interval is that number.

    Parameters
    ----------
    samples
        Independent samples, shape (n,). The interval is exact for normal ones. For n = 20
        exponential ones the one-sided upper limit at 95 % covers in about 89 % of all cases.
    level
        The confidence, in (0, 1).

    Raises
    ------
    InputError
        If there is no sample, one is not finite, or the level is not in (0, 1).
    """
    return _interval(_samples(samples), (1 + _level(level)) / 2)


def upper_limit(samples: npt.ArrayLike, level: float = CONFIDENCE) -> float:
    """Return the one-sided upper t-limit of a mean; arguments are those of `mean_interval`."""
    return _interval(_samples(samples), _level(level)).upper


def lower_limit(samples: npt.ArrayLike, level: float = CONFIDENCE) -> float:
    """Return the one-sided lower t-limit of a mean; arguments are those of `mean_interval`."""
    return _interval(_samples(samples), _level(level)).lower


def paired_ratio_interval(
    a: npt.ArrayLike, b: npt.ArrayLike, level: float = CONFIDENCE
) -> Interval:
    """Return the t-interval of the geometric mean of a_i / b_i over paired runs.

    Runs i of both methods share their problem and their random numbers, so that what makes both
    slow cancels. The methods are separated where the interval leaves out 1.

    Parameters
    ----------
    a, b
        Calls to the target, positive, shape (n,).
    level
        The confidence, in (0, 1).

    Raises
    ------
    InputError
        If the shapes differ, or a run did not reach the target (then its ratio is unknown, and
        leaving it out would favour the method that failed).
    """
    calls = {"a": _numbers("a", a), "b": _numbers("b", b)}
    for name, value in calls.items():
        failed = np.count_nonzero(~np.isfinite(value))
        if failed:
            raise InputError(
                f"{name} has {failed} runs that did not reach the target: choose a target that all "
                "runs reach, or compare the expected runtimes."
            )
        if value.ndim != 1 or value.shape != calls["a"].shape or not (value > 0).all():
            raise InputError(f"{name} must be positive calls to the target, one a pair of runs.")
    logs = mean_interval(np.log(calls["a"]) - np.log(calls["b"]), level)
    return Interval(_exp(logs.lower), _exp(logs.upper))


def expected_runtime(calls: npt.ArrayLike, reached: npt.ArrayLike) -> float:
    """Return the expected calls to a target if failed runs are started again (COCO's ERT).

    It is the sum of the calls of all runs over the number of runs that reached the target, and
    inf if none did.

    Parameters
    ----------
    calls
        Calls of each run, shape (n,): up to the target if it was reached, else all it spent.
    reached
        Whether each run reached the target, shape (n,).

    Raises
    ------
    InputError
        If the shapes differ, or calls are negative or not finite.

    References
    ----------
    Hansen et al., COCO: a platform for comparing continuous optimizers in a black-box setting,
    2021.
    """
    spent = _samples(calls, "calls")
    hit = np.asarray(reached)
    if hit.dtype != np.bool_ or hit.shape != spent.shape:
        raise InputError("reached must be one truth value for each run in calls.")
    if (spent < 0).any():
        raise InputError("calls must not be negative.")
    return float(spent.sum() / hit.sum()) if hit.any() else math.inf


def _interval(samples: Array, quantile: float) -> Interval:
    """Return mean ± standard error times the quantile of t."""
    if samples.size == 1:
        return Interval(-math.inf, math.inf)
    mean = float(samples.mean())
    half = float(scipy.special.stdtrit(samples.size - 1, quantile)) * _standard_error(samples)
    return Interval(mean - half, mean + half)


def _standard_error(samples: Array) -> float:
    """Return the standard error of a mean, 0 if the samples differ by rounding alone."""
    if np.ptp(samples) <= 1e-12 * np.abs(samples).max():
        return 0.0
    with np.errstate(over="ignore"):
        return float(samples.std(ddof=1) / math.sqrt(samples.size))


# --- exponents ------------------------------------------------------------------------------------


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
    level: float = CONFIDENCE,
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
    cells = _numbers("counts", counts)
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
    level = _level(level)

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
    assumptions: with 20 seeds and exponential noise at the largest of 8 x alone, whose logarithm
    has a long lower tail, it rejects 20 times too often at level 1e-5 (in simulation).

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
    values = _samples(slopes, "slopes")
    excess = float(values.mean()) - real("claimed", claimed) - real("margin", margin, least=0)
    if values.size == 1:
        return 1.0
    error = _standard_error(values)
    if error == 0:
        return 0.0 if excess > ROUNDING else 1.0
    return float(scipy.special.stdtr(values.size - 1, -excess / error))


def exponent_rejected(
    slopes: npt.ArrayLike, claimed: float, margin: float, level: float = LEVEL
) -> bool:
    """Return whether slope <= claimed + margin is rejected at `level`; see `exponent_p_value`."""
    return exponent_p_value(slopes, claimed, margin) <= _level(level)


def _slopes(u: Array, logs: Array) -> tuple[Array, Array, Array]:
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


def _estimate(values: Array, level: float, fixed: bool) -> tuple[float, float, float]:
    """Return mean and interval over seeds, which is the number itself where nothing varies."""
    if values.size == 0:
        return math.nan, math.nan, math.nan
    mean = float(values.mean())
    if fixed:
        return mean, mean, mean
    interval = _interval(values, (1 + level) / 2)
    return mean, interval.lower, interval.upper


# --- verdicts -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Decision:
    """A verdict, why, and the numbers behind it.

    Attributes
    ----------
    verdict
        ``"holds"``, ``"tight"`` (it holds, and could not be much better), ``"violated"`` or
        ``"inconclusive"``.
    reason
        One sentence.
    measured
        Numbers by name; ``lower`` and ``upper`` are a two-sided interval at 95 %.
    p_value
        Of the test that says *violated*; None where no chance enters.
    """

    verdict: Verdict
    reason: str
    measured: Mapping[str, float]
    p_value: float | None


def decide_mean(samples: npt.ArrayLike, bound: float, level: float = CONFIDENCE) -> Decision:
    """Decide whether nonnegative quantities have a mean of at most `bound`.

    *violated*: the e-process exceeds 1/`LEVEL`. *holds*: the upper limit of the mean is at most
    the bound. *tight*: it holds, and the lower limit is at least `TIGHT` times the bound.

    Parameters
    ----------
    samples
        One a run, in the order of the runs, nonnegative, shape (n,); inf for one that diverged.
    bound
        The claimed bound, positive.
    level
        Confidence of each of the two one-sided limits, in (0, 1). They are t-limits, which need
        more runs the more skewed the samples are; *violated* rests on no such assumption.

    Raises
    ------
    InputError
        If there is no sample, one is negative or NaN, or the bound is not positive.
    """
    values = np.atleast_1d(_numbers("samples", samples))
    if values.ndim != 1 or values.size == 0:
        raise InputError("samples must be a list of numbers, one a run.")
    ratios = _ratios(values, real("bound", bound, above=0))
    largest = max(0.0, float(log_e_values(values, bound).max()))
    level, finite = _level(level), bool(np.isfinite(ratios).all())
    unknown = Interval(-math.inf, math.inf)
    limits = _interval(ratios, level) if finite else unknown
    shown = mean_interval(ratios) if finite else unknown
    measured = {
        "runs": float(values.size),
        "ratio": float(ratios.mean()),
        "lower": shown.lower,
        "upper": shown.upper,
        "lower_limit": limits.lower,
        "upper_limit": limits.upper,
        "log_e_value": largest,
    }
    verdict: Verdict
    if largest > math.log(1 / LEVEL):
        verdict, reason = "violated", "The mean exceeds the bound: the e-process rejects it."
    elif limits.upper > 1:
        verdict, reason = "inconclusive", "The bound lies inside the limits of the mean."
    elif limits.lower >= TIGHT:
        verdict, reason = "tight", f"The mean lies between {TIGHT:g} times the bound and the bound."
    else:
        verdict, reason = "holds", "The upper limit of the mean is at most the bound."
    return Decision(verdict, reason, measured, math.exp(-largest))


def decide_share(happened: npt.ArrayLike, most: float, level: float = CONFIDENCE) -> Decision:
    """Decide whether something happens in a share of at most `most` of all runs.

    As `decide_mean`, with the exact limits of Clopper and Pearson, which say something even if it
    never happened.

    Parameters
    ----------
    happened
        Whether it did, 0 or 1 a run, shape (n,).
    most
        The claimed largest share, in (0, 1].
    level
        Confidence of each of the two one-sided limits.

    Raises
    ------
    InputError
        If there is no run, a number is not 0 or 1, or `most` is out of range.
    """
    values = _samples(happened, "happened")
    if not np.isin(values, (0.0, 1.0)).all():
        raise InputError("happened must be 0 or 1 for each run.")
    share, level = real("most", most, above=0.0, most=1.0), _level(level)
    n, k = values.size, int(values.sum())
    upper = float(scipy.special.betaincinv(k + 1, n - k, level)) if k < n else 1.0
    lower = float(scipy.special.betaincinv(k, n - k + 1, 1 - level)) if k else 0.0
    largest = max(0.0, float(log_e_values(values, share).max()))
    measured = {
        "runs": float(n),
        "ratio": k / n / share,
        "lower_limit": lower / share,
        "upper_limit": upper / share,
        "log_e_value": largest,
    }
    verdict: Verdict
    if largest > math.log(1 / LEVEL):
        verdict, reason = "violated", "It happens more often: the e-process rejects the share."
    elif upper > share:
        verdict, reason = "inconclusive", "The share lies inside its limits."
    elif lower >= TIGHT * share:
        verdict, reason = "tight", f"It happens in {TIGHT:g} to 1 times the share."
    else:
        verdict, reason = "holds", "The upper limit of the share is at most the claimed one."
    return Decision(verdict, reason, measured, math.exp(-largest))


def decide_inequality(ratios: npt.ArrayLike, rounding: float = ROUNDING) -> Decision:
    """Decide an inequality that is claimed for every run or step.

    *violated*: a ratio exceeds 1 by more than rounding. Else *holds*, and *tight* where the
    largest ratio is at least `TIGHT`.

    Parameters
    ----------
    ratios
        Measured over bound, of any shape but empty; inf where what was measured diverged.
    rounding
        How far rounding alone may lift a ratio above 1.

    Raises
    ------
    InputError
        If there is no ratio, or one is NaN.
    """
    values = _numbers("ratios", ratios)
    if values.size == 0 or np.isnan(values).any():
        raise InputError("ratios must be at least one number, none of them NaN.")
    slack = real("rounding", rounding, least=0)
    worst = float(values.max())
    measured = {"checks": float(values.size), "ratio": worst}
    if worst > 1 + slack:
        broken = int(np.count_nonzero(values > 1 + slack))
        measured["broken"] = float(broken)
        reason = f"The inequality breaks in {broken} of {values.size} checks."
        return Decision("violated", reason, measured, None)
    if worst >= TIGHT:
        return Decision("tight", "It is kept, and nearly reached.", measured, None)
    return Decision("holds", "It is kept in every check.", measured, None)


def decide_exponent(
    exponent: Exponent, claimed: float, margin: float = EXPONENT_MARGIN
) -> Decision:
    """Decide whether an exponent is at most the claimed one.

    *violated*: slope <= claimed + margin is rejected at `LEVEL`. *holds*: the upper limit of the
    slope at 95 % is at most claimed + margin. *tight*: it holds, and the whole interval lies
    within the margin of the claimed one. Where nothing varies, limits and interval are the slope.

    A claim is about large x. Where the counts are curved and the local slope at the largest x
    is on the other side of claimed + margin, the slope decides nothing; *tight* needs a straight
    line.

    Parameters
    ----------
    exponent
        The fit, with x that grows with difficulty.
    claimed
        The claimed exponent, an upper bound.
    margin
        `EXPONENT_MARGIN`, or `LAW_MARGIN` for laws.
    """
    most = real("claimed", claimed) + real("margin", margin, least=0)
    measured = {
        name: float(getattr(exponent, name))
        for name in (
            *("slope", "lower", "upper", "seeds", "points", "decades", "censored", "dropped"),
            *("curvature", "curvature_lower", "curvature_upper", "end_slope"),
        )
    }
    if not exponent.usable:
        reason = (
            f"Only {exponent.points} values over {exponent.decades:.2g} decades are uncensored, "
            "too few to fit."
        )
        return Decision("inconclusive", reason, measured, None)
    if exponent.deterministic:
        p_value, upper, rejected = None, exponent.slope, exponent.slope > most + ROUNDING
    else:
        p_value = exponent_p_value(exponent.slopes, claimed, margin)
        upper, rejected = upper_limit(exponent.slopes), p_value <= LEVEL
    measured["upper_limit"] = upper
    within = upper <= most + ROUNDING
    verdict: Verdict
    if not (rejected or within):
        verdict, reason = "inconclusive", f"The limits of the slope enclose {most:g}."
    elif exponent.curved and (exponent.end_slope > most) != rejected:
        verdict, reason = "inconclusive", "The counts are curved: their end tells otherwise."
    elif rejected:
        verdict, reason = "violated", f"The slope exceeds {most:g}."
    elif not exponent.curved and _within(exponent, claimed, margin):
        verdict, reason = "tight", f"The slope is within {margin:g} of {claimed:g}."
    else:
        verdict, reason = "holds", f"The slope is at most {most:g}."
    return Decision(verdict, reason, measured, p_value)


def _within(exponent: Exponent, claimed: float, margin: float) -> bool:
    """Return whether the interval of an exponent lies within the margin of the claimed one."""
    slack = margin + ROUNDING
    return claimed - slack <= exponent.lower and exponent.upper <= claimed + slack


def sequential(
    draw: Callable[[int], npt.ArrayLike], bound: float, *, batch: int, most: int
) -> tuple[Decision, Array]:
    """Decide a bound of a mean with as few runs as a clear case needs.

    The e-process is looked at after each batch and keeps its level whenever one stops. *holds*
    is looked at only after batch, 2 batch, 4 batch, ... and `most` runs, sizes that do not depend
    on the samples; each of these looks spends an equal share of 5 %, so that all together keep
    it (Bonferroni). The first look that says *holds* or *tight* ends it.

    Parameters
    ----------
    draw
        Makes so many more independent runs and returns their samples, nonnegative.
    bound
        The claimed bound of their mean, positive.
    batch
        Runs made at a time, at least 2; many enough to show the spread of the samples.
    most
        Runs made at most, at least `batch`.

    Returns
    -------
    tuple[Decision, Array]
        The decision, and all samples in order.

    Raises
    ------
    InputError
        If a parameter is out of range, or `draw` returns another number of samples, or negative
        or NaN ones.
    """
    batch = integer("batch", batch, least=2)
    most = integer("most", most, least=batch)
    process = EProcess(bound)
    looks = {*(batch * 2**i for i in range((most // batch).bit_length())), most}
    level = 1 - (1 - CONFIDENCE) / len(looks)
    samples = np.empty(0)
    while True:
        number = min(batch, most - samples.size)
        new = _numbers("samples", draw(number))
        if new.shape != (number,):
            raise InputError(f"draw({number}) returned shape {new.shape}, not ({number},).")
        for x in new:
            process.add(x)
        samples = np.concatenate([samples, new])
        if process.rejected or samples.size in looks:
            decision = decide_mean(samples, bound, level)
            if decision.verdict != "inconclusive" or samples.size == most:
                return decision, samples


# --- checks ---------------------------------------------------------------------------------------


def _numbers(name: str, value: npt.ArrayLike) -> Array:
    """Return an array of floats, NaN and inf allowed."""
    try:
        return np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{name} must be an array of numbers.") from None


def _samples(value: npt.ArrayLike, name: str = "samples") -> Array:
    """Return at least one finite sample, shape (n,)."""
    array = finite_array(name, value)
    if array.ndim != 1 or array.size == 0:
        raise InputError(f"{name} must be a list of at least one number, not shape {array.shape}.")
    return array


def _level(level: float) -> float:
    """Return a level or confidence in (0, 1)."""
    value = real("level", level, above=0)
    if value >= 1:
        raise InputError(f"level={level} must be less than 1.")
    return value


def _exp(value: float) -> float:
    """Return exp, inf where it overflows."""
    return math.exp(value) if value < 709 else math.inf
