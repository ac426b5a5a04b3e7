"""Exponents, and decisions on medians over seeds: of ratios, and of slopes (exponents).

An exponent is the median over seeds of the slope of log counts against log x, with an interval.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pfbench.base.checks import check_finite_array, check_real
from pfbench.base.errors import InputError
from pfbench.base.status import NEAR, Verdict
from pfbench.verification.statistics import means
from pfbench.verification.statistics.decisions import WITHIN_10, Decision, decide_by_limits
from pfbench.verification.statistics.means import EARLY_SEEDS, MOST_SEEDS, ROUNDING, SEEDS

# --- exponents ---------------------------------------------------------------------------------

CURVATURE = 0.1
"""A fit is curved if the slope changes significantly by more than this over the range."""

LEAST_POINTS = 4
"""Minimum number of values of x for a fit."""


@dataclass(frozen=True)
class Exponent:
    """Exponent of a power law of counts: the median over seeds of slopes on a log-log scale.

    Each seed has one least-squares slope of log counts against log x. By this definition, half of
    all seeds have a slope of at most the exponent. The exponent so defined is not that of the mean
    counts, nor the mean of the slopes, for which no distribution-free statement exists.

    Attributes
    ----------
    slopes
        One least-squares slope per seed; empty if the fit is not usable.
    slope, lower, upper
        Median of the slopes and its interval by order statistics, exact for every distribution
        (infinite for fewer than 6 seeds at 95 %); NaN if the fit is not usable.
    seeds, points, decades
        Number of seeds, of values of x used, and of decades of x that these span.
    censored, dropped
        Number of cells that did not reach the target, and of values of x left out for them.
    curvature, curvature_lower, curvature_upper
        Change of the local slope from the smallest to the largest x, by a quadratic fit: the
        median over seeds and its interval.
    end_slope
        Local slope at the largest x by that fit: the median over seeds.
    is_curved
        Whether the interval of the curvature lies beyond ±`CURVATURE`. If so, one slope does not
        describe the counts.
    deterministic
        Whether the counts are deterministic, so that the intervals are points.
    is_usable
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
    is_curved: bool
    deterministic: bool
    is_usable: bool


def fit_exponent(
    x: npt.ArrayLike,
    counts: npt.ArrayLike,
    *,
    log_known_factors: npt.ArrayLike | None = None,
    least_decades: float = 2.0,
) -> Exponent:
    """Fit counts ∝ x^slope by least squares for each seed, and take the median of the slopes.

    Seeds are independent, but different values of x are not, as they may share a problem. So the
    interval comes from the spread between seeds, not from the residuals of a fit. If one seed is
    censored at a value of x, this value is left out for all seeds. Leaving it out only for that
    seed would favour lucky seeds. The fit is usable if `LEAST_POINTS` values of x over
    `least_decades` remain.

    Parameters
    ----------
    x
        Variable of the law, positive and all different, shape (k,). It must increase with
        difficulty: n, or 1/ε rather than ε.
    counts
        Calls to the target (or any positive measurement), shape (seeds, k); inf or NaN where the
        target was not reached. Shape (k,) states that the counts are deterministic.
    log_known_factors
        Natural logarithms of known factors of the counts, shape (k,), which are divided out.
    least_decades
        Minimum number of decades of x for a usable fit.

    Raises
    ------
    InputError
        If shapes do not match, if values of x are not positive and different, or if a count is not
        positive.
    """
    point = check_finite_array("x", x)
    if point.ndim != 1 or (point <= 0).any() or np.unique(point).size != point.size:
        raise InputError("x must be a list of distinct positive numbers.")
    cells = means.as_floats_with_nan("counts", counts)
    fixed = cells.ndim == 1
    cells = np.atleast_2d(cells)
    if cells.ndim != 2 or cells.shape[0] == 0 or cells.shape[1] != point.size:
        raise InputError(
            f"counts must have shape (seeds, {point.size}), with a column for each x, not "
            f"{np.shape(counts)}."
        )
    if (cells <= 0).any():
        raise InputError("counts must be positive: write inf for a run that misses its target.")
    factors = np.zeros(point.size) if log_known_factors is None else log_known_factors
    offset = check_finite_array("known", factors, shape=point.shape)

    censored = ~np.isfinite(cells)
    keep = ~censored.any(axis=0)
    u = np.log(point[keep])
    decades = float(np.ptp(u) / math.log(10)) if u.size else 0.0
    usable = u.size >= LEAST_POINTS and decades >= least_decades - ROUNDING
    nothing = np.empty(0)
    slopes, change, end = nothing, nothing, math.nan
    if usable:
        logs = np.log(cells[:, keep]) - offset[keep]
        slopes, change, ends = _fit_slopes_changes_and_end_slopes(u, logs)
        end = float(np.median(ends))
    slope, lower, upper = _median_and_interval(slopes, fixed)
    curvature, curvature_lower, curvature_upper = _median_and_interval(change, fixed)
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
        is_curved=max(curvature_lower, -curvature_upper) > CURVATURE + ROUNDING,
        deterministic=fixed,
        is_usable=usable,
    )


def make_fit_function(
    x: npt.ArrayLike,
    rows: Callable[[int], npt.ArrayLike],
    *,
    log_known_factors: npt.ArrayLike | None = None,
    least_decades: float = 2.0,
) -> Callable[[int], Exponent]:
    """Return a function that fits the exponent to the counts of the first k seeds, for any k.

    The arguments are those of `fit_exponent`, except that `rows` is a function. `rows` returns the
    counts of the first seeds, given their number.
    """

    def fit(seeds: int) -> Exponent:
        return fit_exponent(
            x, rows(seeds), log_known_factors=log_known_factors, least_decades=least_decades
        )

    return fit


def _fit_slopes_changes_and_end_slopes(
    log_x: means.Array, log_counts: means.Array
) -> tuple[means.Array, means.Array, means.Array]:
    """Return each row's slope, the change of its local slope over the range, and its end slope.

    Each result has shape (rows,). The slope is from a linear fit, which projects on p = u −
    mean(u) with u = log x. The other results are from a quadratic fit. The quadratic fit adds q,
    the part of p² that is orthogonal to 1 and p, and has the local slope d(bp + cq)/du = b + c(2p
    − Σp³/Σp²).
    """
    p = log_x - log_x.mean()
    skew = np.sum(p**3) / np.sum(p**2)
    q = p**2 - np.mean(p**2) - skew * p
    b = log_counts @ p / np.sum(p**2)
    c = log_counts @ q / np.sum(q**2)
    return b, 2 * c * np.ptp(log_x), b + c * (2 * p.max() - skew)


def _median_and_interval(values: means.Array, is_deterministic: bool) -> tuple[float, float, float]:
    """Return the median over seeds, and the lower and upper end of its confidence interval.

    All three are equal if the counts are deterministic.
    """
    if values.size == 0:
        return math.nan, math.nan, math.nan
    median = float(np.median(values))
    if is_deterministic:
        return median, median, median
    interval = means.median_interval(values)
    return median, interval.lower, interval.upper


# --- decisions ---------------------------------------------------------------------------------

EXPONENT_MARGIN = 0.1
"""Tolerance of an exponent of calls to a target."""

LAW_MARGIN = 0.05
"""Tolerance of an exponent of a law, which involves no optimisation."""


def decide_median(
    ratios: npt.ArrayLike | Callable[[int], npt.ArrayLike], bound: float, seeds: int = SEEDS
) -> Decision:
    """Decide whether the median over seeds is at most `bound`.

    The rules are valid for every distribution. *violated*: the sign test rejects at `LEVEL`, with
    `MOST_SEEDS` seeds. *holds*: the upper end of the median's interval at 95 % is at most the
    bound. A median above the bound gets *holds* in at most 2.5 % of all cases at each look, and 5
    % over all looks. *within-10*, *attained*: it holds, and the lower end is at least `WITHIN_10`,
    or `ATTAINED`, times the bound.

    Parameters
    ----------
    ratios
        One ratio per seed, shape (k,); inf for a run that missed its target. Or a function that
        returns the ratios of the first seeds, by their number. There are then up to three looks: at
        `EARLY_SEEDS`, at `seeds` if the first is not settled, and at `MOST_SEEDS` if the second is
        inconclusive.
    bound
        The claimed bound, positive.
    seeds
        Number of seeds of the second look; the early look is skipped unless it has fewer.

    Raises
    ------
    InputError
        If there is no ratio, one is NaN, or the bound is not positive.
    """
    bound = check_real("bound", bound, above=0)
    if callable(ratios):
        return _decide_by_interim_analyses(
            lambda count: decide_median(ratios(count), bound), _is_settled, seeds
        )
    values = means.check_values_without_nan(ratios) / bound
    interval, p_value = means.median_interval(values), means.sign_p_value(values, 1.0)
    measured = {
        "seeds": float(values.size),
        "ratio": float(np.median(values)),
        "lower": interval.lower,
        "upper": interval.upper,
    }
    names = ("lower", "upper")
    return decide_by_limits(
        "median", measured, p_value, p_value <= means.LEVEL, 1 + ROUNDING, names
    )


def _decide_by_interim_analyses(
    look: Callable[[int], Decision], is_settled: Callable[[Decision], bool], seeds: int
) -> Decision:
    """Decide by growing numbers of seeds: return the first settled decision, or the last one.

    Only the last look can give *violated*, because a test at each look would raise the error rate.
    The early look gives *holds* for a median above the bound with probability 2^-`EARLY_SEEDS`.

    Parameters
    ----------
    look
        Function that returns the decision from a number of seeds.
    is_settled
        Function that says whether the early decision is final: near the bound, or *holds* and too
        far from the bound to come near it with more seeds.
    seeds
        Number of seeds of the second look.
    """
    if seeds > EARLY_SEEDS:
        early = look(EARLY_SEEDS)
        if early.p_value is None or is_settled(early):
            return early
    first = look(seeds)
    clear = Verdict(first.verdict).keeps_bound or first.p_value is None
    return first if clear or seeds >= MOST_SEEDS else look(MOST_SEEDS)


def _is_settled(decision: Decision) -> bool:
    """Return whether the decision on a median is so clear that no more seeds are needed."""
    far = decision.verdict == Verdict.HOLDS and decision.measured["ratio"] < WITHIN_10
    return far or decision.verdict in NEAR


def decide_exponent(
    exponent: Exponent | Callable[[int], Exponent],
    claimed: float,
    margin: float = EXPONENT_MARGIN,
    seeds: int = SEEDS,
) -> Decision:
    """Decide whether an exponent, the median of slopes over seeds, is at most the claimed one.

    *violated*: the sign test rejects a median of at most claimed + margin at `LEVEL`, for every
    distribution. A violation takes at least 31 slopes that all lie above claimed + margin, or 39
    of `MOST_SEEDS` slopes. *holds*: the upper end of the median's interval at 95 % is at most
    claimed + margin. A median above that value gets *holds* in at most 2.5 % of all cases at each
    look, and 5 % over all looks. *within-10*: it holds, and the whole interval lies within the
    margin of the claimed exponent. If nothing is random, the interval consists of the slope alone.

    A claim is about large x. If the counts are curved, and the local slope at the largest x lies
    on the other side of claimed + margin, the verdict is *inconclusive*. The verdict *within-10*
    needs counts that are not curved.

    Parameters
    ----------
    exponent
        The fit, with x that increases with difficulty. Or a function that returns the fit of the
        first seeds, by their number; there are then looks as in `decide_median`. The early look is
        not final if the local slope at the largest x is above claimed + margin.
    claimed
        The claimed exponent, an upper bound.
    margin
        `EXPONENT_MARGIN`, or `LAW_MARGIN` for laws.
    seeds
        Number of seeds of the second look; the early look is skipped unless it has fewer.
    """
    upper = check_real("claimed", claimed) + check_real("margin", margin, minimum=0)
    if callable(exponent):
        fit, lower = exponent, upper - 2.0 * margin

        def look(count: int) -> Decision:
            return decide_exponent(fit(count), claimed, margin)

        def is_settled(decision: Decision) -> bool:
            far = decision.verdict == Verdict.HOLDS and decision.measured["slope"] < lower
            is_inside = decision.measured["end_slope"] <= upper
            return is_inside and (far or decision.verdict in NEAR)

        return _decide_by_interim_analyses(look, is_settled, seeds)
    measured = {
        name: float(getattr(exponent, name))
        for name in (
            *("slope", "lower", "upper", "seeds", "points", "decades", "censored", "dropped"),
            *("curvature", "curvature_lower", "curvature_upper", "end_slope"),
        )
    }
    if not exponent.is_usable:
        reason = (
            f"Only {exponent.points} values, within a factor of {10**exponent.decades:.3g}, are "
            "uncensored, too few for a fit"
            f"{': make the runs longer, or the targets easier' if exponent.censored else ''}."
        )
        return Decision(Verdict.INCONCLUSIVE, reason, measured, None)
    if exponent.deterministic:
        p_value, rejected = None, exponent.slope > upper + ROUNDING
    else:
        p_value = means.sign_p_value(exponent.slopes, upper)
        rejected = p_value <= means.LEVEL
    if not (rejected or exponent.upper <= upper + ROUNDING):
        reason = f"The interval of the median slope extends above {upper:g}."
        return Decision(Verdict.INCONCLUSIVE, reason, measured, p_value)
    if exponent.is_curved and (exponent.end_slope > upper) != rejected:
        reason = "The counts are curved: their local slope at the largest x disagrees."
        return Decision(Verdict.INCONCLUSIVE, reason, measured, p_value)
    if rejected:
        return Decision(Verdict.VIOLATED, f"The median slope exceeds {upper:g}.", measured, p_value)
    if not exponent.is_curved and _interval_within_margin(exponent, claimed, margin):
        reason = f"The median slope is within {margin:g} of {claimed:g}."
        return Decision(Verdict.WITHIN_10, reason, measured, p_value, 1, {"": exponent.slope})
    reason = f"The median slope is at most {upper:g}."
    if exponent.is_curved and exponent.slope >= claimed - margin:
        reason += " The counts are curved, so the slope is not that of large x."
    return Decision(Verdict.HOLDS, reason, measured, p_value)


def _interval_within_margin(exponent: Exponent, claimed: float, margin: float) -> bool:
    """Return whether the exponent's interval is within `margin` of the claimed exponent."""
    slack = margin + ROUNDING
    return claimed - slack <= exponent.lower and exponent.upper <= claimed + slack
