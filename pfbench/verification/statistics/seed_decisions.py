"""Decisions on medians over seeds: of ratios, and of slopes (exponents)."""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from pfbench.base.checks import check_real
from pfbench.base.status import NEAR, Verdict
from pfbench.verification.statistics import means
from pfbench.verification.statistics.decisions import WITHIN_10, Decision, decide_by_limits
from pfbench.verification.statistics.exponents import Exponent
from pfbench.verification.statistics.means import EARLY_SEEDS, MOST_SEEDS, ROUNDING, SEEDS

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
