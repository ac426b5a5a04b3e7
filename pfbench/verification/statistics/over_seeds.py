"""Decisions on medians over seeds: of ratios, and of slopes, which are exponents."""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from pfbench.base.checks import real
from pfbench.verification.statistics import means, medians
from pfbench.verification.statistics.decisions import TIGHT, Decision
from pfbench.verification.statistics.exponents import Exponent
from pfbench.verification.statistics.medians import MOST_SEEDS, ROUNDING, SEEDS

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
    cases at each look, 5 % at both. *tight*: it holds, and the lower end is at least `TIGHT` times
    the bound.

    Parameters
    ----------
    ratios
        One a seed, shape (k,), inf for a run that did not get there. Or a function that returns
        those of so many seeds, the first ones always the same: then a first look at `seeds` that
        is inconclusive is followed by a second one at `MOST_SEEDS`.
    bound
        The claimed bound, positive.
    seeds
        Seeds of the first look.

    Raises
    ------
    InputError
        If there is no ratio, one is NaN, or the bound is not positive.
    """
    bound = real("bound", bound, above=0)
    if callable(ratios):
        return _second_look(lambda count: decide_median(ratios(count), bound), seeds)
    values = medians.values_of(ratios) / bound
    interval, p_value = medians.median_interval(values), medians.sign_p_value(values, 1.0)
    measured = {
        "seeds": float(values.size),
        "ratio": float(np.median(values)),
        "lower": interval.lower,
        "upper": interval.upper,
    }
    if p_value <= means.LEVEL:
        reason = "The median exceeds the bound: the sign test rejects it."
        return Decision("violated", reason, measured, p_value)
    if interval.upper > 1 + ROUNDING:
        reason = "The interval of the median reaches above the bound."
        return Decision("inconclusive", reason, measured, p_value)
    if interval.lower >= TIGHT:
        reason = f"The median lies between {TIGHT:g} times the bound and the bound."
        return Decision("tight", reason, measured, p_value, tight_on={"": measured["ratio"]})
    return Decision("holds", "The median is at most the bound.", measured, p_value)


def _second_look(look: Callable[[int], Decision], seeds: int) -> Decision:
    """Return what a look at so many seeds says if it holds, else what one at `MOST_SEEDS` says.

    A first look never says *violated*, whatever its size: two would double the level.
    """
    first = look(seeds)
    clear = first.verdict in ("holds", "tight") or first.p_value is None
    return first if clear or seeds >= MOST_SEEDS else look(MOST_SEEDS)


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
    at most 2.5 % of all cases at each look, 5 % at both. *tight*: it holds, and the whole interval
    lies within the margin of the claimed one. Where nothing is random, the interval is the slope.

    A claim is about large x. Where the counts are curved and the local slope at the largest x
    is on the other side of claimed + margin, the slope decides nothing; *tight* needs a straight
    line.

    Parameters
    ----------
    exponent
        The fit, with x that grows with difficulty. Or a function that returns that of so many
        seeds, the first ones always the same: then a first look at `seeds` that is inconclusive
        is followed by a second one at `MOST_SEEDS`.
    claimed
        The claimed exponent, an upper bound.
    margin
        `EXPONENT_MARGIN`, or `LAW_MARGIN` for laws.
    seeds
        Seeds of the first look.
    """
    most = real("claimed", claimed) + real("margin", margin, least=0)
    if callable(exponent):
        return _second_look(lambda count: decide_exponent(exponent(count), claimed, margin), seeds)
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
        p_value, rejected = None, exponent.slope > most + ROUNDING
    else:
        p_value = medians.sign_p_value(exponent.slopes, most)
        rejected = p_value <= means.LEVEL
    if not (rejected or exponent.upper <= most + ROUNDING):
        reason = f"The interval of the median slope reaches above {most:g}."
        return Decision("inconclusive", reason, measured, p_value)
    if exponent.curved and (exponent.end_slope > most) != rejected:
        reason = "The counts are curved: their end tells otherwise."
        return Decision("inconclusive", reason, measured, p_value)
    if rejected:
        return Decision("violated", f"The median slope exceeds {most:g}.", measured, p_value)
    if not exponent.curved and _within(exponent, claimed, margin):
        reason = f"The median slope is within {margin:g} of {claimed:g}."
        return Decision("tight", reason, measured, p_value, tight_on={"": exponent.slope})
    return Decision("holds", f"The median slope is at most {most:g}.", measured, p_value)


def _within(exponent: Exponent, claimed: float, margin: float) -> bool:
    """Return whether the interval of an exponent lies within the margin of the claimed one."""
    slack = margin + ROUNDING
    return claimed - slack <= exponent.lower and exponent.upper <= claimed + slack
