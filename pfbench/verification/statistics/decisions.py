"""Decisions: from means, shares, inequalities and exponents to *violated*, *holds*, *tight*."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
import scipy

from pfbench.base.checks import integer, real
from pfbench.base.errors import InputError
from pfbench.verification.statistics import means
from pfbench.verification.statistics.exponents import ROUNDING, Exponent, exponent_p_value

Verdict = Literal["holds", "tight", "violated", "inconclusive"]

TIGHT = 0.1
"""A bound is tight where what was measured is at least this share of it."""

EXPONENT_MARGIN = 0.1
"""How far an exponent of calls to a target may lie from the claimed one."""

LAW_MARGIN = 0.05
"""The same for an exponent of a law, which has no optimisation in it."""


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


def decide_exact(true: bool, holds: str, violated: str, measured: Mapping[str, float]) -> Decision:
    """Decide a statement in which no chance enters, with a reason for either case."""
    return Decision("holds" if true else "violated", holds if true else violated, measured, None)


def equal(expected: Mapping[str, float], found: Mapping[str, float]) -> Decision:
    """Decide an exact statement: every number is the expected one."""
    wrong = [
        f"{name} is {found[name]:g}, not {number:g}."
        for name, number in expected.items()
        if found[name] != number
    ]
    measured = {name: float(found[name]) for name in expected}
    return decide_exact(not wrong, "Every number is exact.", "".join(wrong[:1]), measured)


def decide_mean(samples: npt.ArrayLike, bound: float, level: float = means.CONFIDENCE) -> Decision:
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
    values = np.atleast_1d(means.numbers("samples", samples))
    if values.ndim != 1 or values.size == 0:
        raise InputError("samples must be a list of numbers, one a run.")
    ratios = means.ratios_of(values, real("bound", bound, above=0))
    largest = max(0.0, float(means.log_e_values(values, bound).max()))
    level, finite = means.checked_level(level), bool(np.isfinite(ratios).all())
    unknown = means.Interval(-math.inf, math.inf)
    limits = means.t_interval(ratios, level) if finite else unknown
    shown = means.mean_interval(ratios) if finite else unknown
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
    if largest > math.log(1 / means.LEVEL):
        verdict, reason = "violated", "The mean exceeds the bound: the e-process rejects it."
    elif limits.upper > 1:
        verdict, reason = "inconclusive", "The bound lies inside the limits of the mean."
    elif limits.lower >= TIGHT:
        verdict, reason = "tight", f"The mean lies between {TIGHT:g} times the bound and the bound."
    else:
        verdict, reason = "holds", "The upper limit of the mean is at most the bound."
    return Decision(verdict, reason, measured, math.exp(-largest))


def decide_share(happened: npt.ArrayLike, most: float, level: float = means.CONFIDENCE) -> Decision:
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
    values = means.samples_of(happened, "happened")
    if not np.isin(values, (0.0, 1.0)).all():
        raise InputError("happened must be 0 or 1 for each run.")
    share, level = real("most", most, above=0.0, most=1.0), means.checked_level(level)
    n, k = values.size, int(values.sum())
    upper = float(scipy.special.betaincinv(k + 1, n - k, level)) if k < n else 1.0
    lower = float(scipy.special.betaincinv(k, n - k + 1, 1 - level)) if k else 0.0
    largest = max(0.0, float(means.log_e_values(values, share).max()))
    measured = {
        "runs": float(n),
        "ratio": k / n / share,
        "lower_limit": lower / share,
        "upper_limit": upper / share,
        "log_e_value": largest,
    }
    verdict: Verdict
    if largest > math.log(1 / means.LEVEL):
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
    values = means.numbers("ratios", ratios)
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
        upper, rejected = means.upper_limit(exponent.slopes), p_value <= means.LEVEL
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
) -> tuple[Decision, means.Array]:
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
    process = means.EProcess(bound)
    looks = {*(batch * 2**i for i in range((most // batch).bit_length())), most}
    level = 1 - (1 - means.CONFIDENCE) / len(looks)
    samples = np.empty(0)
    while True:
        number = min(batch, most - samples.size)
        new = means.numbers("samples", draw(number))
        if new.shape != (number,):
            raise InputError(f"draw({number}) returned shape {new.shape}, not ({number},).")
        for x in new:
            process.add(x)
        samples = np.concatenate([samples, new])
        if process.rejected or samples.size in looks:
            decision = decide_mean(samples, bound, level)
            if decision.verdict != "inconclusive" or samples.size == most:
                return decision, samples
