"""Decisions from means, shares, inequalities and draws: *violated*, *holds*, *within-10*."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import scipy

from pfbench.base.checks import check_integer, check_real
from pfbench.base.errors import InputError
from pfbench.base.status import NEAR, Verdict
from pfbench.verification.statistics import means
from pfbench.verification.statistics.means import ROUNDING

WITHIN_10, ATTAINED = 0.1, 0.99
"""Shares of a bound that the lower limit of a measured number reaches for *within-10* and for
*attained*."""

DOUBT = 1e-3
"""Largest p-value that is evidence against a claim; above `LEVEL` the verdict is *inconclusive*."""


@dataclass(frozen=True)
class Decision:
    """Verdict with its reason and the numbers behind it.

    Attributes
    ----------
    verdict
        A `Verdict` other than *disputed*.
    reason
        One sentence.
    measured
        Measured numbers by name; ``lower`` and ``upper`` are a two-sided interval at 95 %.
    p_value
        Smallest p-value of the tests for *violated*; None if nothing is random.
    test_count
        Number of these tests, if something is random.
    tight_on
        Instances or terms on which the verdict is *within-10* or *attained*, by name (empty if
        there is none), with the measured share of the bound, or the exponent.
    """

    verdict: Verdict | Literal["holds", "violated", "failed", "inconclusive"]
    reason: str
    measured: Mapping[str, float]
    p_value: float | None
    test_count: int = 1
    tight_on: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "verdict", Verdict(self.verdict))

    @property
    def corrected_p_value(self) -> float | None:
        """Bonferroni-corrected p-value: `p_value` times `test_count`, at most 1."""
        return None if self.p_value is None else min(1.0, self.test_count * self.p_value)


@dataclass(frozen=True)
class Evidence:
    """Result of the check of a claim: decision, claimed values and number of runs.

    Attributes
    ----------
    decision
        Verdict, reason and measured numbers.
    claimed
        Claimed value of each measured number, by name.
    repetitions
        Number of runs, or of independent cases.
    """

    decision: Decision
    claimed: Mapping[str, Any] = field(default_factory=dict)
    repetitions: int = 1


def grade_bound_that_holds(lower: float) -> Verdict:
    """Return the verdict on a bound that was not violated, from a lower limit of measured/bound."""
    if lower >= ATTAINED:
        return Verdict.ATTAINED
    return Verdict.WITHIN_10 if lower >= WITHIN_10 else Verdict.HOLDS


def rejects(log_e_value: float) -> bool:
    """Return whether an e-value, given by its natural logarithm, rejects a claim at `LEVEL`."""
    return log_e_value > math.log(1 / means.LEVEL)


def is_doubtful(p_value: float) -> bool:
    """Return whether a p-value is too small for the verdict *holds* on the claim."""
    return p_value < DOUBT


def decide_exact(condition: bool, violated: str, measured: Mapping[str, float]) -> Decision:
    """Return *holds* or *violated* for a condition that involves no randomness.

    `violated` is the reason of the latter.
    """
    if condition:
        return Decision(Verdict.HOLDS, "It is as stated.", measured, None)
    return Decision(Verdict.VIOLATED, violated, measured, None)


def decide_equality(
    expected: Mapping[str, float],
    observed: Mapping[str, float],
    rounding: float = 0.0,
    subject: str = "",
) -> Decision:
    """Decide whether every observed number equals the expected one, up to relative rounding.

    `subject` stands in front of the name of a wrong number in the reason.
    """
    wrong = [
        f"{subject}{name} is {observed[name]:g}, not {number:g}."
        for name, number in expected.items()
        if not abs(observed[name] - number) <= rounding * max(1.0, abs(number))
    ]
    measured = {name: float(observed[name]) for name in expected}
    return decide_exact(not wrong, "".join(wrong[:1]), measured)


def decide_deviations(deviations: Mapping[str, float], rounding: float) -> Decision:
    """Decide whether no relative deviation from a definition exceeds rounding in size."""
    sizes = {name: abs(number) for name, number in deviations.items()}
    worst = max(sizes, key=lambda name: sizes[name])
    wrong = f"{worst} is off by {deviations[worst]:.3g}."
    return decide_exact(sizes[worst] <= rounding, wrong, sizes)


def decide_mean(samples: npt.ArrayLike, bound: float, upper: float = means.RANGE) -> Decision:
    """Decide whether nonnegative samples have a mean of at most `bound`.

    *violated*: the e-process exceeds 1/`LEVEL`; this rule is valid for every distribution.
    *holds*: the upper limit of the mean is at most the bound. *within-10*, *attained*: it holds,
    and the lower limit is at least `WITHIN_10`, or `ATTAINED`, times the bound.

    No number of nonnegative samples bounds their mean from above without a known range. So a mean
    above the bound gets *holds* in at most 5 % of all cases *only if no sample exceeds `upper`
    times the bound*; see `sequential_limits`. With `RANGE`, *holds* takes at least 29 samples, and
    137 if all samples are 0.8 times the bound. Fewer samples can only show a violation.

    Parameters
    ----------
    samples
        Nonnegative samples, one per run in order, shape (n,); inf for a run that diverged.
    bound
        The claimed bound, positive.
    upper
        Upper limit of a sample, as a multiple of the bound, greater than 1. A caller that does not
        use `RANGE` must know such a limit.

    Raises
    ------
    InputError
        If there is no sample, one is negative or NaN, or the bound is not positive.
    """
    values = np.atleast_1d(means.as_floats_with_nan("samples", samples))
    if values.ndim != 1 or values.size == 0:
        raise InputError("samples must be a list of numbers, one per run.")
    ratios = means.divide_by_bound(values, check_real("bound", bound, above=0))
    return _decide_mean_at_most_one(ratios, check_real("upper", upper, above=1))


def _decide_mean_at_most_one(ratios: means.Array, max_ratio: float) -> Decision:
    """Decide whether ratios of samples to their bounds have a mean of at most 1."""
    largest = means.max_log_e_value(ratios, 1.0)
    limits = means.sequential_limits(ratios, means.CONFIDENCE, max_ratio)
    interval = means.sequential_limits(ratios, (1 + means.CONFIDENCE) / 2, max_ratio)
    measured = {
        "runs": float(ratios.size),
        "ratio": float(ratios.mean()),
        "lower": interval.lower,
        "upper": interval.upper,
        "lower_limit": limits.lower,
        "upper_limit": limits.upper,
        "log_e_value": largest,
    }
    return decide_by_limits("mean", measured, math.exp(-largest), rejects(largest), 1.0)


def decide_by_limits(
    subject: str,
    measured: Mapping[str, float],
    p_value: float,
    is_rejected: bool,
    limit: float,
    names: tuple[str, str] = ("lower_limit", "upper_limit"),
) -> Decision:
    """Decide a bound by a test that may reject it, or else by limits of measured/bound.

    Parameters
    ----------
    subject
        Name of what is bounded, for the reason.
    measured
        Measured numbers, with the ratio of the estimate to the bound, and both limits.
    p_value, is_rejected
        Result of the test.
    limit
        Largest upper limit with which the bound holds.
    names
        Names of the lower and the upper limit in `measured`.
    """
    if is_rejected:
        reason = f"The {subject} exceeds the bound: the test rejects it."
        return Decision(Verdict.VIOLATED, reason, measured, p_value)
    if is_doubtful(p_value):
        reason = f"The {subject} may exceed the bound: the test is evidence, but not significant."
        return Decision(Verdict.INCONCLUSIVE, reason, measured, p_value)
    if measured[names[1]] > limit:
        reason = f"The confidence limits of the {subject} extend above the bound."
        return Decision(Verdict.INCONCLUSIVE, reason, measured, p_value)
    verdict = grade_bound_that_holds(measured[names[0]])
    if verdict in NEAR:
        share = ATTAINED if verdict is Verdict.ATTAINED else WITHIN_10
        reason = f"The {subject} lies between {share:g} times the bound and the bound."
        return Decision(verdict, reason, measured, p_value, 1, {"": measured["ratio"]})
    reason = f"The upper limit of the {subject} is at most the bound."
    return Decision(verdict, reason, measured, p_value)


def decide_share(successes: npt.ArrayLike, limit: float) -> Decision:
    """Decide whether an event happens in a share of at most `limit` of all runs.

    The rule is that of `decide_mean`, but with the exact confidence limits of Clopper and Pearson.
    The Clopper-Pearson limits are informative even if the event never happened.

    Parameters
    ----------
    successes
        Whether the event happened, 0 or 1 for each run, shape (n,).
    limit
        Claimed upper bound of the share, in (0, 1].

    Raises
    ------
    InputError
        If there is no run, a number is not 0 or 1, or `limit` is out of range.
    """
    values = means.check_samples(successes, "successes")
    if not np.isin(values, (0.0, 1.0)).all():
        raise InputError("successes must be 0 or 1 for each run.")
    share = check_real("limit", limit, above=0.0, upper=1.0)
    n, k = values.size, int(values.sum())
    both = 2.0 * means.CONFIDENCE - 1.0  # of the two limits; each is one-sided at 95 %
    lower, upper = scipy.stats.binomtest(k, n).proportion_ci(both, method="exact")
    largest = means.max_log_e_value(values, share)
    measured = {
        "runs": float(n),
        "ratio": k / n / share,
        "lower_limit": float(lower) / share,
        "upper_limit": float(upper) / share,
        "log_e_value": largest,
    }
    return decide_by_limits("share of runs", measured, math.exp(-largest), rejects(largest), 1.0)


def decide_inequality(ratios: npt.ArrayLike, rounding: float = ROUNDING) -> Decision:
    """Decide from ratios whether an inequality holds in every run or step.

    *violated*: a ratio exceeds 1 by more than rounding. *attained*: the largest ratio is at least
    `ATTAINED`. *within-10*: the largest ratio is at least `WITHIN_10`. *holds*: all other cases.

    Parameters
    ----------
    ratios
        Ratios of measured number to bound, of any shape but not empty; inf for divergence.
    rounding
        Amount by which rounding may lift a ratio above 1.

    Raises
    ------
    InputError
        If there is no ratio, or one is NaN.
    """
    values = means.as_floats_with_nan("ratios", ratios)
    if values.size == 0 or np.isnan(values).any():
        raise InputError("ratios must be a list of at least one number, without NaN.")
    slack = check_real("rounding", rounding, minimum=0)
    worst = float(values.max())
    measured = {"checks": float(values.size), "ratio": worst}
    if worst > 1 + slack:
        broken = int(np.count_nonzero(values > 1 + slack))
        measured["broken"] = float(broken)
        reason = (
            f"The inequality fails in {broken} of {values.size} checks, by a factor of up to "
            f"{worst:.6g}."
        )
        return Decision(Verdict.VIOLATED, reason, measured, None)
    verdict = grade_bound_that_holds(worst)
    if verdict in NEAR:
        reason = "It holds in every check, and is nearly attained."
        return Decision(verdict, reason, measured, None, tight_on={"": worst})
    return Decision(verdict, "The inequality holds in every check.", measured, None)


def decide_uniform(sample: Sequence[int], options: int) -> Decision:
    """Decide whether independent draws are uniform among 0 .. options-1.

    The e-value is a likelihood ratio. The numerator of the ratio is averaged over all
    distributions on the options (Dirichlet with parameters 1), and the denominator is the
    likelihood under the uniform distribution. With c_i draws of option i, N draws and T options,
    the e-value is T^N (T-1)! prod c_i!/(N+T-1)!. The mean of the e-value is 1 for uniform draws.
    So it exceeds 1/level with probability at most the level (Markov), for any N. A chi-square test
    is valid at so small a level only for many draws.

    Parameters
    ----------
    sample
        Draws, one per run; a number that is not among the options rejects at once.
    options
        Number of options T, at least 1.

    Raises
    ------
    InputError
        If there is no draw.
    """
    options = check_integer("options", options, minimum=1)
    result = np.asarray(sample, dtype=np.int64)
    if result.ndim != 1 or result.size == 0:
        raise InputError("sample must be a list of at least one whole number.")
    outside = int(np.count_nonzero((result < 0) | (result >= options)))
    log_e_value = math.inf
    counts = np.bincount(result[(result >= 0) & (result < options)], minlength=options)
    if not outside:
        log_e_value = float(
            result.size * math.log(options)
            + scipy.special.gammaln(counts + 1.0).sum()
            + scipy.special.gammaln(options)
            - scipy.special.gammaln(result.size + options)
        )
    p_value = min(1.0, math.exp(-log_e_value))
    measured = {
        "runs": float(result.size),
        "options": float(options),
        "outside": float(outside),
        "least share": float(counts.min() / result.size),
        "largest share": float(counts.max() / result.size),
        "log_e_value": log_e_value,
    }
    if outside:
        reason = f"{outside} of {result.size} draws are not among the {options} options."
        return Decision(Verdict.VIOLATED, reason, measured, p_value)
    if rejects(log_e_value):
        return Decision(Verdict.VIOLATED, "The draws are not uniform.", measured, p_value)
    if is_doubtful(p_value):
        return Decision(Verdict.INCONCLUSIVE, "Uniformity is doubtful.", measured, p_value)
    return Decision(Verdict.HOLDS, "The draws match the uniform distribution.", measured, p_value)


def decide_mean_sequentially(
    draw: Callable[[int], npt.ArrayLike], bound: float, *, batch: int, limit: int
) -> tuple[Decision, means.Array]:
    """Decide a bound on a mean from growing samples, so that clear cases need few runs.

    There is a look after each batch. *violated* rests on the e-process; *holds*, *within-10* and
    *attained* rest on `sequential_limits`. Both rules keep their error rates at any stopping time,
    and the first look that decides ends the runs. If samples are at most `RANGE` times the bound,
    a mean at or above the bound gets *holds* in at most 5 % of all cases.

    In simulations with a mean at the bound and up to 400 runs, *holds* has these frequencies:

    - chi-square with 8 degrees of freedom: 0.1 %
    - exponential: 3 %
    - 0 or 10 times the bound: 5 %
    - lognormal with s = 1: 5 %
    - tails beyond the range (lognormal with s = 2, Pareto with index 1.5): 29 %

    *holds* needs at least 29 runs; 56 if all samples are half the bound, 137 if they are 0.8 of it.

    Parameters
    ----------
    draw
        Function that makes a number of further independent runs, and returns their samples.
    bound
        The claimed bound of their mean, positive.
    batch
        Number of runs between two looks, at least 1.
    limit
        Maximum number of runs, at least `batch`.

    Returns
    -------
    tuple[Decision, means.Array]
        The decision, and all samples in order.

    Raises
    ------
    InputError
        If a parameter is out of range, or `draw` returns another number of samples, or negative
        or NaN ones.
    """
    batch = check_integer("batch", batch, minimum=1)
    limit = check_integer("limit", limit, minimum=batch)
    bound = check_real("bound", bound, above=0)
    samples = np.empty(0)
    while True:
        number = min(batch, limit - samples.size)
        new = means.as_floats_with_nan("samples", draw(number))
        if new.shape != (number,):
            raise InputError(f"draw({number}) returned shape {new.shape}, not ({number},).")
        samples = np.concatenate([samples, new])
        ratios = means.divide_by_bound(samples, bound)
        clear = means.upper_limit(ratios, means.CONFIDENCE) <= 1
        if not (clear or samples.size == limit or rejects(means.max_log_e_value(ratios, 1.0))):
            continue
        decision = _decide_mean_at_most_one(ratios, means.RANGE)
        if decision.verdict != Verdict.INCONCLUSIVE or samples.size == limit:
            return decision, samples
