"""Check of an estimator's error law: its conditional mean and mean square over all draws."""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import KW_ONLY, dataclass
from itertools import islice
from typing import Any, ClassVar, cast

import numpy as np

from pfbench.base.arrays import Floats, maximum_nan_as_infinity
from pfbench.base.protocols import Problem
from pfbench.base.status import Verdict
from pfbench.points import keep
from pfbench.verification import statistics
from pfbench.verification.instruments.enumerated_random import rounding_key
from pfbench.verification.statements import setting
from pfbench.verification.trial import Trial

ROUNDING = 1e-9
"""Size of rounding, relative to the gradient at the start."""


@dataclass(frozen=True, kw_only=True)
class Past:
    """Earlier data of a run on which the distribution of an estimate's error may depend.

    The error of the estimate g_t is e_t = g_t - grad f(x_t).

    Attributes
    ----------
    t
        Number of the estimate, from 0.
    x
        The point x_t where the estimate is formed.
    error
        e_{t-1}; 0 for the first estimate.
    step
        x_t - x_{t-1}; 0 for the first estimate.
    problem
        The problem.
    """

    t: int
    x: Floats
    error: Floats
    step: Floats
    problem: Problem

    @property
    def error_sq(self) -> float:
        """Squared norm of the previous error e_{t-1}."""
        return cast(float, np.vdot(self.error, self.error))

    @property
    def step_sq(self) -> float:
        """Squared length |x_t - x_{t-1}|^2 of the last step."""
        return cast(float, np.vdot(self.step, self.step))


@dataclass
class ErrorGroup:
    """Probability, and probability-weighted sums, of an estimate's errors with the same `Past`.

    The numbers are floats, or of another type such as fractions.
    """

    past: Past
    chance: Any = 0.0
    mean: Any = 0.0
    square: Any = 0.0

    def add(self, chance: Any, error: Any) -> None:
        """Add an error with its probability."""
        self.chance += chance
        self.mean = self.mean + chance * error
        self.square += chance * np.vdot(error, error)


Law = Callable[[Any, Any, Past], Any]
"""Function of constants, parameters and past: the mean square of the error, or its mean."""


@dataclass(frozen=True)
class ErrorLawCheck(setting.StatementCheck):
    """Check of a formula for the mean square of an estimator's error g_t - grad f(x_t).

    All draws are enumerated, so the instances must be small: a few components, small batches, and a
    few steps. The method must yield `estimate`, and `at`, the point where it was formed.

    Parameters
    ----------
    square
        The claimed mean of |e_t|^2 given the past: a function of the constants of the problem, the
        parameters that are set here, and a `Past`.
    mean
        The claimed mean of e_t given the past, with the shape of a gradient; None to leave it out.
    exact
        Whether `square` is the exact mean square; by default it is an upper bound.
    parameters, full, constants
        See `StatementCheck`.

    Raises
    ------
    InputError
        If a function takes another number of arguments.
    """

    kind: ClassVar[str] = "law"
    takes: ClassVar[tuple[float, float]] = (0.5, 0.5)

    square: Law
    _: KW_ONLY
    mean: Law | None = None
    exact: bool = False

    def __post_init__(self) -> None:
        setting.check_signature("square", self.square, "c, a, past")
        if self.mean is not None:
            setting.check_signature("mean", self.mean, "c, a, past")

    def __call__(self, trial: Trial) -> statistics.Evidence:
        """Test the error law on every instance, by enumeration of all draws."""
        parts, runs = dict[str, statistics.Decision](), 0
        for name, problem in setting.iterate_titled_problems(trial):
            case = self.setting.make_case(trial, problem)
            groups, count = _collect_errors(trial, case)
            parts[name] = self._decide_groups(case, groups)
            runs += count
        claimed = {"mean square over its law": 1.0}
        return statistics.Evidence(statistics.best_if_all_hold_else_worst(parts), claimed, runs)

    def check_case(self, case: setting.MethodOnProblem) -> None:
        """Raise an error if the law cannot be evaluated for a case."""
        problem: Any = case.problem
        zero = np.zeros(problem.shape)
        past = Past(t=1, x=problem.start(), error=zero, step=zero, problem=problem)
        float(self.square(case.constants, case.parameters, past))

    def _decide_groups(
        self, case: setting.MethodOnProblem, groups: list[ErrorGroup]
    ) -> statistics.Decision:
        """Decide whether the conditional means and mean squares of errors agree with the law."""
        scale = float(np.abs(case.problem.gradient(case.problem.start())).max()) or 1.0
        largest = max((math.sqrt(group.square / group.chance) for group in groups), default=0.0)
        if scale <= ROUNDING * largest:  # a mean of component gradients that is 0 up to rounding
            scale = largest
        lower, reported = (ROUNDING * scale) ** 2, (case.constants, case.parameters)
        ratios, positive, deviation = [], [], 0.0
        for group in groups:
            law = float(self.square(*reported, group.past))
            # One that is certain errs by rounding, too.
            ratios.append(group.square / group.chance / max(law, lower))
            positive += ratios[-1:] if law > lower else []
            if self.mean is not None:
                away = group.mean / group.chance - self.mean(*reported, group.past)
                deviation = maximum_nan_as_infinity(deviation, float(np.abs(away).max()) / scale)
        squares = _decide_squares(ratios, positive, self.exact)
        if self.mean is None:
            return squares
        mean = statistics.decide_exact(
            deviation <= ROUNDING,
            f"A conditional mean is off by {deviation:.3g} of a gradient.",
            {"relative deviation": deviation},
        )
        return statistics.combine_parts_and_conditions({"": squares}, {"mean": mean})


def _decide_squares(ratios: list[float], positive: list[float], exact: bool) -> statistics.Decision:
    """Decide whether mean squares are at most the law's values, or, if `exact`, equal to them.

    The `ratios` are those of the measured mean squares to the law's.
    """
    decision = statistics.decide_inequality(ratios, ROUNDING)
    if not exact or decision.verdict == Verdict.VIOLATED:
        return decision
    lower = min(positive, default=1.0)
    wrong = f"A mean square is {lower:.6g} times its law, not equal."
    measured = {**decision.measured, "least ratio": lower}
    return statistics.decide_exact(lower >= 1.0 - 1e-6, wrong, measured)


def _collect_errors(trial: Trial, case: setting.MethodOnProblem) -> tuple[list[ErrorGroup], int]:
    """Enumerate all runs; return the estimates' errors, grouped by past, and the number of runs."""

    def run(rng: Any) -> list[tuple[Any, Any]]:
        steps = islice(trial.follow(case.problem, case.algorithm, rng=rng), case.steps)
        return [(np.array(keep(step.estimate_point)), np.array(step.estimate)) for step in steps]

    return group_errors(case.problem, setting.enumerate_outcomes(trial, case, run))


def group_errors(
    problem: Any, runs: Iterable[tuple[Any, Iterable[tuple[Any, Any]]]]
) -> tuple[list[ErrorGroup], int]:
    """Group the errors of enumerated runs by the data before them (`Past`), and count the runs.

    `runs` has the probability of each run, with the pairs of each point where an estimate was
    formed, and the estimate.
    """
    groups: dict[tuple[int, Any], ErrorGroup] = {}
    count, units = 0, (1.0, 1.0)
    for chance, estimates in runs:
        count += 1
        listed = list(estimates)
        units = units if count > 1 else _units_to_round_point_and_value(problem, listed)
        for past, error, existing in _iterate_pasts_errors_and_keys(problem, listed, units):
            groups.setdefault((past.t, existing), ErrorGroup(past)).add(chance, error)
    return list(groups.values()), count


def _units_to_round_point_and_value(
    problem: Any, estimates: Sequence[tuple[Any, Any]]
) -> tuple[float, float]:
    """Return the units, at most 1, in which points and estimates are rounded to group them.

    They are powers of two, from a run and the start, and 1 for exact numbers.
    """
    start = problem.start()
    points, values = zip((start, problem.gradient(start)), *estimates, strict=True)
    return _find_unit(points), _find_unit(values)


def _find_unit(arrays: Sequence[Any]) -> float:
    if any(np.asarray(a).dtype == object for a in arrays):
        return 1.0
    size = max(float(np.abs(a).max(initial=0.0)) for a in arrays)
    return 2.0 ** math.floor(math.log2(size)) if 0.0 < size < 1.0 else 1.0


def _iterate_pasts_errors_and_keys(
    problem: Any, estimates: Iterable[tuple[Any, Any]], units: tuple[float, float]
) -> Iterator[tuple[Past, Any, Any]]:
    """Yield the past of each estimate, its error, and a key of all earlier points and estimates.

    `estimates` are pairs of the point where an estimate was formed, and the estimate, as arrays
    that nothing changes later. The key has the present point, too; it is rounded relative to
    `units`.
    """
    before = np.array(problem.start())
    error = np.zeros_like(np.asarray(problem.gradient(before)))
    existing: tuple[Any, ...] = ()
    for t, (x, estimate) in enumerate(estimates):
        existing = (*existing, _make_key(x, units[0]))
        past = Past(t=t, x=x, error=error, step=x - before, problem=problem)
        error = estimate - problem.gradient(x)
        yield past, error, existing
        existing = (*existing, _make_key(estimate, units[1]))
        before = x


def _make_key(array: Any, unit: float) -> Any:
    """Return a hashable key of an array; floats are rounded, and exact numbers are not."""
    return tuple(array.ravel()) if array.dtype == object else rounding_key(array / unit)


error_law = ErrorLawCheck  # name in claims
