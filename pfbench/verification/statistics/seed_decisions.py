"""Decisions on medians over seeds: of ratios, and of slopes, which are exponents."""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from pfbench.base.checks import check_real
from pfbench.base.verdicts import NEAR, Verdict
from pfbench.verification.statistics import means, medians
from pfbench.verification.statistics.decisions import WITHIN_10, Decision, decide_kept_bound
from pfbench.verification.statistics.exponents import Exponent
from pfbench.verification.statistics.medians import EARLY_SEEDS, MOST_SEEDS, ROUNDING, SEEDS

EXPONENT_MARGIN = 0.1
"""How far an exponent of calls to a target may lie from the claimed one."""

LAW_MARGIN = 0.05
"""The same for an exponent of a law, which has no optimisation in it."""


def decide_median(
    ratios: npt.ArrayLike | Callable[[int], npt.ArrayLike], bound: float, seeds: int = SEEDS
) -> Decision:
    """Decide whether the median over seeds is at most `bound`, under every law.

    *violated*: the sign test rejects it at `LEVEL`, with `MOST_SEEDS` seeds. *holds*: the upper end
    of its interval at 95 % is at most the bound; said of a median above it in at most 2.5 % of all
    cases at each look, 5 % at all of them. *within-10*, *attained*: it holds, and the lower end is
    at least `WITHIN_10`, or `ATTAINED`, times the bound.

    Parameters
    ----------
    ratios
        One a seed, shape (k,), inf for a run that did not get there. Or a function that returns
        those of so many seeds, the first ones always the same: then there are up to three looks,
        at `EARLY_SEEDS`, at `seeds` where these do not settle it, and at `MOST_SEEDS` where that
        is inconclusive.
    bound
        The claimed bound, positive.
    seeds
        Seeds of the first look; no early one is made where these are not more.

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
    values = medians.check_values(ratios) / bound
    interval, p_value = medians.median_interval(values), medians.sign_p_value(values, 1.0)
    measured = {
        "seeds": float(values.size),
        "ratio": float(np.median(values)),
        "lower": interval.lower,
        "upper": interval.upper,
    }
    if p_value <= means.LEVEL:
        reason = "The median exceeds the bound: the sign test rejects it."
        return Decision(Verdict.VIOLATED, reason, measured, p_value)
    if interval.upper > 1 + ROUNDING:
        reason = "The interval of the median reaches above the bound."
        return Decision(Verdict.INCONCLUSIVE, reason, measured, p_value)
    verdict = decide_kept_bound(interval.lower)
    if verdict in NEAR:
        reason = f"The median lies between {WITHIN_10:g} times the bound and the bound."
        return Decision(verdict, reason, measured, p_value, tight_on={"": measured["ratio"]})
    return Decision(verdict, "The median is at most the bound.", measured, p_value)


def _decide_by_interim_analyses(
    look: Callable[[int], Decision], is_settled: Callable[[Decision], bool], seeds: int
) -> Decision:
    """Return the first interim decision that is settled, else the decision of the last look.

    None but the last one says *violated*, whatever its size: several would raise the level. That an
    early one says *holds* of a median above the bound has chance 2^-`EARLY_SEEDS`.

    Parameters
    ----------
    look
        What so many seeds say.
    is_settled
        Whether an early look decides: it is near the bound, or holds and could not be near it with
        more seeds.
    seeds
        Of the look between.
    """
    if seeds > EARLY_SEEDS:
        early = look(EARLY_SEEDS)
        if early.p_value is None or is_settled(early):
            return early
    first = look(seeds)
    clear = Verdict(first.verdict).keeps_bound or first.p_value is None
    return first if clear or seeds >= MOST_SEEDS else look(MOST_SEEDS)


def _is_settled(decision: Decision) -> bool:
    """Return whether a median is near its bound, or holds and is far from that."""
    far = decision.verdict == Verdict.HOLDS and decision.measured["ratio"] < WITHIN_10
    return far or decision.verdict in NEAR


def decide_exponent(
    exponent: Exponent | Callable[[int], Exponent],
    claimed: float,
    margin: float = EXPONENT_MARGIN,
    seeds: int = SEEDS,
) -> Decision:
    """Decide whether an exponent, the median of slopes over seeds, is at most the claimed one.

    *violated*: the sign test rejects a median of at most claimed + margin at `LEVEL`, under every
    law; that takes 31 slopes at least that all lie above, or 39 of `MOST_SEEDS`. *holds*: the upper
    end of the median's interval at 95 % is at most claimed + margin; said of a median above it in
    at most 2.5 % of all cases at each look, 5 % at all of them. *within-10*: it holds, and the
    whole interval lies within the margin of the claimed one. Where nothing is random, the interval
    is the slope.

    A claim is about large x. Where the counts are curved and the local slope at the largest x
    is on the other side of claimed + margin, the slope decides nothing; *within-10* needs
    a straight line.

    Parameters
    ----------
    exponent
        The fit, with x that grows with difficulty. Or a function that returns that of so many
        seeds, the first ones always the same: then there are looks as of `decide_median`. An early
        one decides nothing where the local slope at the largest x is above claimed + margin.
    claimed
        The claimed exponent, an upper bound.
    margin
        `EXPONENT_MARGIN`, or `LAW_MARGIN` for laws.
    seeds
        Seeds of the first look; no early one is made where these are not more.
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
            f"Only {exponent.points} values over {exponent.decades:.2g} decades are uncensored, "
            "too few to fit"
            f"{': let the runs be longer, or the targets easier' if exponent.censored else ''}."
        )
        return Decision(Verdict.INCONCLUSIVE, reason, measured, None)
    if exponent.deterministic:
        p_value, rejected = None, exponent.slope > upper + ROUNDING
    else:
        p_value = medians.sign_p_value(exponent.slopes, upper)
        rejected = p_value <= means.LEVEL
    if not (rejected or exponent.upper <= upper + ROUNDING):
        reason = f"The interval of the median slope reaches above {upper:g}."
        return Decision(Verdict.INCONCLUSIVE, reason, measured, p_value)
    if exponent.is_curved and (exponent.end_slope > upper) != rejected:
        reason = "The counts are curved: their end tells otherwise."
        return Decision(Verdict.INCONCLUSIVE, reason, measured, p_value)
    if rejected:
        return Decision(Verdict.VIOLATED, f"The median slope exceeds {upper:g}.", measured, p_value)
    if not exponent.is_curved and _interval_within_margin(exponent, claimed, margin):
        reason = f"The median slope is within {margin:g} of {claimed:g}."
        return Decision(Verdict.WITHIN_10, reason, measured, p_value, 1, {"": exponent.slope})
    return Decision(Verdict.HOLDS, f"The median slope is at most {upper:g}.", measured, p_value)


def _interval_within_margin(exponent: Exponent, claimed: float, margin: float) -> bool:
    """Return whether the interval of an exponent lies within the margin of the claimed one."""
    slack = margin + ROUNDING
    return claimed - slack <= exponent.lower and exponent.upper <= claimed + slack
