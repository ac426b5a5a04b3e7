"""Largest ratio of a measured quantity to its bound on an instance, in any arithmetic."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, cast

import numpy as np

from pfbench.verification.falsify.exact_numbers import Inexact, as_float
from pfbench.verification.falsify.searched_problem import Skip
from pfbench.verification.falsify.statement import MethodOnSearchedInstance
from pfbench.verification.instruments.enumerated_random import NotEnumerable, enumerate_draws
from pfbench.verification.statements.error_law import group_errors, iterate_pasts_and_errors
from pfbench.verification.statements.quantity import SUBOPTIMALITY
from pfbench.verification.subject import NotTestable

ENUMERATED = 600
"""Largest number of draw sequences that the search enumerates to compute an expectation."""

_SMALL_BIAS = 1e-9

_NOISE = 1e-10
"""Fraction of the first measured value below which a float counts as a rounding error."""


@dataclass(frozen=True)
class Ratio:
    """Largest ratio of a measured quantity to its bound over all steps t.

    Attributes
    ----------
    ratio, measured, bound, t
        The ratio, both sides, and where it is largest.
    growth
        The ratio at the end of the run over that at half of it; 0 if unknown.
    work
        Number of steps of the method.
    """

    ratio: Any = 0.0
    measured: Any = 0.0
    bound: Any = 0.0
    t: int = 0
    growth: float = 0.0
    work: int = 1

    def as_floats(self) -> dict[str, Any]:
        """Return the ratio and both sides as floats, by name."""
        return {k: as_float(getattr(self, k)) for k in ("ratio", "measured", "bound")}


def describe_error(error: Exception) -> str:
    """Return the message of an error; for an error of user code, with the error's type."""
    is_known = isinstance(error, Skip | Inexact | NotEnumerable | NotTestable)
    return f"{'' if is_known else type(error).__name__ + ': '}{error}"


def evaluate_ratio(case: MethodOnSearchedInstance, seed: int, runs: int, limit: int) -> Ratio:
    """Return the largest ratio of the measured quantity to its bound on an instance.

    An expectation is computed from all sequences of draws if there are at most `limit`. Otherwise
    it is estimated by the mean of `runs` runs, which is no evidence. If `runs` is 0, it is not
    estimated.

    Raises
    ------
    NotEnumerable
        If there are more sequences of draws than `limit`, and `runs` is 0.
    """
    statement = case.statement
    if statement.statistic == "law":
        return _evaluate_error_law(case, limit)
    if statement.is_for_each_run:
        return _evaluate_each_step(case, seed)
    unit, bound, steps = case.problem.number(1), case.bound_value(), case.steps or 1
    try:
        outcomes = list(enumerate_draws(partial(measure_run, case), limit, unit))
        value, count = sum(chance * value for chance, value in outcomes), len(outcomes)
    except NotEnumerable:
        if not runs:
            raise
        streams = (np.random.default_rng((seed, k)) for k in range(runs))
        value, count = sum(measure_run(case, rng) for rng in streams) / runs, runs
    return _make_ratio(value, bound, steps, count * steps)


def _is_rounding_noise(value: Any, first: Any) -> bool:
    """Return whether a float is so much smaller than the first value that it may be rounding."""
    return isinstance(value, float) and abs(value) < _NOISE * abs(first)


def _make_ratio(value: Any, bound: Any, t: int, work: int) -> Ratio:
    if bound == math.inf:
        raise Skip("the bound is infinite")
    ratio = value / bound
    if isinstance(ratio, float) and not math.isfinite(ratio):
        raise Skip("the ratio measured/bound is not finite")
    return Ratio(ratio, value, bound, t, 0.0, work)


def _quantity_function(case: MethodOnSearchedInstance) -> Callable[[Any], Any]:
    """Return the measured quantity of a statement as a function of a point."""
    quantity, problem = case.statement.check.quantity, case.problem
    if not isinstance(quantity, str):
        return lambda x: quantity(problem, x)
    if quantity in ("objective", "value", SUBOPTIMALITY):
        lower = problem.best_known[0] if quantity == SUBOPTIMALITY else 0
        return lambda x: problem.value(x) - lower
    if quantity == "fw_gap" and problem.set.kind != "none":
        return lambda x: problem.gradient(x) @ (x - problem.set.lo(problem.gradient(x)))
    if quantity == "gradient_mapping_sq" and problem.set.kind == "none":
        return lambda x: problem.gradient(x) @ problem.gradient(x)
    raise Skip(f"the quantity {quantity} is not defined on the instance")


def _evaluate_each_step(case: MethodOnSearchedInstance, seed: int) -> Ratio:
    statistic, problem = case.statement.statistic, case.problem
    quantity, measure = case.statement.check.quantity, _quantity_function(case)
    is_step, is_every = statistic == "step", statistic == "every"
    first = None if is_step else measure(problem.start())
    lower, results = None, list[Ratio]()
    for t, (x, state) in enumerate(case.run(np.random.default_rng(seed)), is_every):
        value = quantity(problem, x, state.x) if is_step else measure(state.x if is_every else x)
        size = max(abs(state.x - x)) if is_step else value
        first = size if first is None else first
        if _is_rounding_noise(size, first):
            break
        if statistic == "least":
            value = lower = value if lower is None else min(lower, value)
        bound = case.bound_value(t)
        results += [_make_ratio(value, bound, t, t + 1)] if bound != math.inf else []
    if not results:
        raise Skip("the bound is infinite, or the method makes no step")
    best, half, last = max(results, key=lambda r: r.ratio), results[len(results) // 2], results[-1]
    is_float = isinstance(last.ratio, float) and len(results) > 8
    growth = last.ratio / half.ratio if is_float and half.ratio > 0 else 0.0
    return replace(best, growth=growth, work=last.work)


def measure_run(case: MethodOnSearchedInstance, rng: Any) -> Any:
    """Return the measured quantity of one run, for a bound in expectation."""
    statistic, measure = case.statement.statistic, _quantity_function(case)
    points, last = list[Any](), cast(Any, None)
    for x, last in case.run(rng):
        points.append(x if last.at is None else np.array(last.at))
    if not points or (case.steps and len(points) < case.steps):
        raise Skip(f"the method makes {len(points)} steps, too few for the claim")
    if statistic == "output" and last.output is not None:
        return measure(last.output)
    points = points if case.is_mean_over_run else [last.x]
    value = sum(map(measure, points)) / len(points)
    return 0.0 if _is_rounding_noise(value, measure(case.problem.start())) else value


def _evaluate_error_law(case: MethodOnSearchedInstance, limit: int) -> Ratio:
    """Return the largest ratio of a mean squared error to the value that the error law states.

    If the mean of an error is wrong, 1 plus the bias counts as a ratio, too.
    """
    check, problem, results = case.statement.check, case.problem, list[Ratio]()

    def observe(rng: Any) -> list[Any]:
        return list(iterate_pasts_and_errors(problem, case.estimates(rng)))

    groups, count = group_errors(enumerate_draws(observe, limit, problem.number(1)))
    work, scale = count * (case.steps or 1), _max_magnitude([1, *problem.gradient(problem.start())])
    smallest = _NOISE * as_float(scale) ** 2
    for group in groups:
        past, value = group.past, group.square / group.chance
        law = check.square(case.constants, case.parameters, past)
        for a, b in ((value, law), (law, value))[: 1 + (check.exact and as_float(law) > smallest)]:
            results += [_make_ratio(a, b, past.t, work)] if as_float(b) > smallest else []
        if check.mean is not None:
            expected = check.mean(case.constants, case.parameters, past)
            bias = _max_magnitude(group.mean / group.chance - expected) / scale
            if as_float(bias) > _SMALL_BIAS:
                results.append(Ratio(1 + bias, 1 + bias, 1, past.t, 0.0, work))
    if not results:
        raise Skip("the law is 0")
    return max(results, key=lambda item: as_float(item.ratio))


def _max_magnitude(values: Any) -> Any:
    """Return the largest absolute value, found by comparing floats instead of exact numbers."""
    value = max(values, key=lambda item: abs(as_float(item)))
    return -value if as_float(value) < 0 else value
