"""The largest ratio of a measured quantity to its bound on an instance, in any arithmetic."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from pfbench.verification.falsify.searched_set import Skip
from pfbench.verification.falsify.statement import SearchedStatement, Trajectory, prepare_run
from pfbench.verification.instruments.enumerated_random import NotEnumerable, enumerate_draws
from pfbench.verification.statements.error_law import Past
from pfbench.verification.statements.quantity import SUBOPTIMALITY

ENUMERATED = 600
"""Number of sequences of draws up to which the search enumerates them."""

_NOISE = 1e-10
"""Share of the first value below which a number in floats is rounding."""


@dataclass(frozen=True)
class Ratio:
    """A measured quantity over its bound: the largest over t; its growth in the second half."""

    ratio: Any
    measured: Any
    bound: Any
    t: int
    growth: float = 0.0
    work: int = 1


def evaluate_ratio(
    statement: SearchedStatement,
    problem: Any,
    T: int,
    *,
    seed: int = 0,
    limit: int = ENUMERATED,
    runs: int = 8,
    deadline: float = math.inf,
) -> Ratio:
    """Return the largest ratio of measured to bound on an instance.

    Expectations are enumerated up to `limit` sequences of draws; else a mean over runs, which only
    screens. A `runs` of 0 forbids that.
    """
    path = prepare_run(statement, problem, T, deadline)
    if statement.statistic == "law":
        return _evaluate_law(path, limit)
    if statement.is_for_each_run:
        return _evaluate_each_step(path, seed)
    bound, unit = path.limit(), problem.number(1)
    if statement.is_deterministic:
        value, count = measure_run(path, np.random.default_rng(seed)), 1
    else:
        try:
            outcomes = list(enumerate_draws(lambda rng: measure_run(path, rng), limit, unit))
            value, count = sum(chance * value for chance, value in outcomes), len(outcomes)
        except NotEnumerable:
            if not runs:
                raise
            streams = (np.random.default_rng((seed, k)) for k in range(runs))
            value, count = sum(measure_run(path, rng) for rng in streams) / runs, runs
    return _make_ratio(value, bound, path.steps or 1, count * (path.steps or 1))


def sample_ratio(path: Trajectory, seed: Any) -> float:
    """Return the ratio of measured to bound in a single run."""
    return float(measure_run(path, np.random.default_rng(seed)) / path.limit())


def _is_noise(value: Any, first: Any) -> bool:
    """Return whether a float is rounding compared with the first measured value."""
    return isinstance(value, float) and abs(value) < _NOISE * abs(first)


def _make_ratio(value: Any, bound: Any, t: int, work: int) -> Ratio:
    ratio = value / bound
    if isinstance(ratio, float) and not math.isfinite(ratio):
        raise Skip("a number is not finite")
    return Ratio(ratio, value, bound, t, 0.0, work)


def _quantity(path: Trajectory) -> Callable[[Any], Any]:
    """Return the measured quantity as a function of a point."""
    quantity, problem = path.statement.check.quantity, path.problem
    if not isinstance(quantity, str):
        return lambda x: quantity(problem, x)
    if quantity in ("objective", SUBOPTIMALITY):
        lower = problem.best_known[0] if quantity == SUBOPTIMALITY else 0
        return lambda x: problem.value(x) - lower
    if quantity == "fw_gap" and problem.set.kind != "none":
        return lambda x: problem.gradient(x) @ (x - problem.set.lo(problem.gradient(x)))
    if quantity == "gradient_mapping_sq" and problem.set.kind == "none":
        return lambda x: problem.gradient(x) @ problem.gradient(x)
    raise Skip(f"{quantity} is not defined")


def _evaluate_each_step(path: Trajectory, seed: int) -> Ratio:
    statistic, quantity = path.statement.statistic, path.statement.check.quantity
    is_step = statistic == "step"
    measure = None if is_step else _quantity(path)
    first = None if measure is None else measure(path.problem.start())
    lower, results = None, list[Ratio]()
    for t, (x, state) in enumerate(path.run(np.random.default_rng(seed))):
        if measure is None:
            change = max(abs(state.x - x))
            first = change if first is None else first
            if _is_noise(change, first):
                break
            value = quantity(path.problem, x, state.x)
        else:
            value = measure(state.x if statistic == "every" else x)
            if statistic == "least":
                value = lower = value if lower is None or value < lower else lower
            if _is_noise(value, first):
                break
        index = t + (statistic == "every")
        results.append(_make_ratio(value, path.limit(index), index, t + 1))
    if not results:
        raise Skip("the method makes no step")
    best, half, last = max(results, key=lambda r: r.ratio), results[len(results) // 2], results[-1]
    is_float = isinstance(last.ratio, float) and len(results) > 8
    growth = last.ratio / half.ratio if is_float and half.ratio > 0 else 0.0
    return Ratio(best.ratio, best.measured, best.bound, best.t, growth, last.work)


def measure_run(path: Trajectory, rng: Any) -> Any:
    """Return the measured quantity of a run, for a bound in expectation."""
    statistic, measure = path.statement.statistic, _quantity(path)
    has_uniform_output = getattr(path.algorithm, "output", "last") == "uniform"
    is_mean = statistic == "mean" or (statistic == "output" and has_uniform_output)
    values, count, last = list[Any](), 0, None
    for x, state in path.run(rng):
        count, last = count + 1, state
        if is_mean:
            values.append(measure(x if state.at is None else np.array(state.at)))
    if last is None or (path.steps and count < path.steps):
        raise Skip("the method makes too few steps")
    if statistic == "output" and last.output is not None:
        return measure(last.output)
    value = sum(values) / len(values) if values else measure(last.x)
    is_float = isinstance(value, float)
    return 0.0 if is_float and _is_noise(value, measure(path.problem.start())) else value


class _ExactPast:
    """A `Past` whose squares stay in the arithmetic of the replay."""

    def __init__(self, past: Past) -> None:
        vars(self).update(vars(past))
        self.t: int = past.t
        self.error_sq, self.step_sq = past.error @ past.error, past.step @ past.step


def _observe_errors(path: Trajectory, rng: Any) -> list[Any]:
    """Return the past as a key, the past itself, and the error of each estimate of a run."""
    before, history, observed = path.problem.start(), tuple[Any, ...](), list[Any]()
    error = 0 * before

    def append(point: Any) -> None:
        nonlocal history
        key = tuple(round(v, 9) if isinstance(v, float) else v for v in point)
        history = (*history, key)

    for t, (x, state) in enumerate(path.run(rng)):
        if state.estimate is None:
            raise Skip("the method yields no estimate")
        point, estimate = np.array(x if state.at is None else state.at), np.array(state.estimate)
        append(point)
        past = Past(t=t, x=point, error=error, step=point - before, problem=path.problem)
        error = estimate - path.problem.gradient(point)
        observed.append((history, _ExactPast(past), error))
        append(estimate)
        before = point
    return observed


def _evaluate_law(path: Trajectory, limit: int) -> Ratio:
    """Return the largest ratio of a mean square to its law; of a wrong mean, 1 + its size."""
    check = path.statement.check
    groups: dict[Any, list[Any]] = {}
    unit = path.problem.number(1)
    outcomes = list(enumerate_draws(lambda rng: _observe_errors(path, rng), limit, unit))
    for chance, observed in outcomes:
        for history, past, error in observed:
            group = groups.setdefault(history, [past, 0, 0, 0])
            sums = chance, chance * error, chance * (error @ error)
            group[1:] = [a + b for a, b in zip(group[1:], sums, strict=True)]
    work = len(outcomes) * (path.steps or 1)
    scale = max([1, *abs(path.problem.gradient(path.problem.start()))])
    results = []
    for past, chance, mean, square in groups.values():
        law, value = check.square(path.constants, path.parameters, past), square / chance
        if law > 0:
            results.append(_make_ratio(value, law, past.t, work))
            if check.exact and value > 0:
                results.append(_make_ratio(law, value, past.t, work))
        if check.mean is not None:
            expected = check.mean(path.constants, path.parameters, past)
            bias = max(abs(mean / chance - expected)) / scale
            if bias > (1e-9 if isinstance(bias, float) else 0):
                results.append(Ratio(1 + bias, 1 + bias, 1, past.t, 0.0, work))
    if not results:
        raise Skip("the law is 0")
    return max(results, key=lambda ratio: ratio.ratio)
