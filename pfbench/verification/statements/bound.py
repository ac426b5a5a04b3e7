"""Check that a quantity measured along runs is at most its bound in constants and parameters."""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import KW_ONLY, dataclass, replace
from functools import cached_property
from itertools import islice
from typing import Any, ClassVar

import numpy as np

from pfbench.base.checks import check_choice, check_integer
from pfbench.base.errors import InputError
from pfbench.base.status import Verdict
from pfbench.points import keep
from pfbench.problems.wrapper import NormedProblem
from pfbench.sets.catalogue import norm_ball
from pfbench.verification import statistics
from pfbench.verification.instruments.slopes import ConstantSlopeProblem
from pfbench.verification.statements.horizons import decide_at_growing_horizons
from pfbench.verification.statements.quantity import as_function, is_count
from pfbench.verification.statements.setting import (
    MethodOnProblem,
    StatementCheck,
    check_signature,
    draw_seeds,
    iterate_instances,
    iterate_titled_problems,
)
from pfbench.verification.statistics.means import ROUNDING
from pfbench.verification.subject import MethodFailed, NotTestable
from pfbench.verification.trial import Trial

OVER = {
    "every": "each iterate x_t, t = 1, 2, ..., of every run",
    "step": "each step from x_t to x_{t+1}, t = 0, 1, ..., of every run",
    "least": "the least of x_0 .. x_t, at each t, of every run",
    "mean": "the mean of x_0 .. x_{T-1}, or a uniform output, in expectation",
    "last": "x_T, in expectation",
    "output": "the output of a run, in expectation",
}
"""Points over which a bound is stated, by `statistic`."""

EACH = ("every", "step", "least")
"""Values of `statistic` for bounds on every run; such a bound is a function of t, too."""

RUNS = (80, 320)
"""Default maximum number of runs on an instance, by effort."""

_ROUNDING = 1e-9
"""Share of the value at the start below which a value on a longer run counts as rounding."""

_EXCESS = 1e-13
"""Share of the value at the start by which rounding may lift a value above a bound."""

_BATCH = 10
"""Number of runs between two looks at a mean."""

FREE = ConstantSlopeProblem(n=4, g=1.0, gap=10.0, L=1.0)
"""Problem that shows the draw of the output of methods without `lo`: a slope on the line."""

Most = Callable[..., float]
"""Function of constants, parameters (and t) that returns a bound."""


@dataclass(frozen=True)
class Bound(StatementCheck):
    """Check that a quantity measured along runs is at most a bound.

    Parameters
    ----------
    upper
        The bound: a function of the constants of the problem and the claim's parameters, both read
        by attribute, as in ``lambda c, a: 4 * c.L * c.delta / a.iterations``. A bound on every run
        has t as a third argument. A mapping states several bounds by label, which must all hold.
    quantity
        Measured quantity: the name of a measure, ``suboptimality``, a kind of call such as ``sfo``
        (of the whole run), or a function of problem and point. For ``statistic="step"`` it is a
        function of problem, x_t and x_{t+1}, and its bound may be 0 or negative.
    statistic
        Points over which the bound is stated, one of `OVER`.
    runs
        Maximum number of runs on an instance, for quick and full effort. For a bound on every run
        it is the exact number.
    has_own_constant
        Whether a constant in the bound is not from a paper. The verdict is then *holds* at best.
    is_pooled
        Whether a bound on every run is decided once for all instances together. It is then near its
        bound if one instance is.
    first
        Smallest t for which a bound on every run is stated.
    parameters, full, constants
        See `StatementCheck`.

    Raises
    ------
    InputError
        If `statistic` is unknown, or a function takes another number of arguments.
    """

    kind: ClassVar[str] = "bound"
    takes: ClassVar[tuple[float, float]] = (5.0, 20.0)

    upper: Most | Mapping[str, Most]
    quantity: Any
    _: KW_ONLY
    statistic: str = "mean"
    runs: tuple[int, int] = RUNS
    has_own_constant: bool = False
    is_pooled: bool = False
    first: int = 0

    def __post_init__(self) -> None:
        check_choice("statistic", self.statistic, OVER)
        for bound in self.bounds_by_label.values():
            check_signature("the bound", bound, "c, a, t" if self.statistic in EACH else "c, a")
        if self.statistic == "step" or not isinstance(self.quantity, str):
            arguments = "problem, before, after" if self.statistic == "step" else "problem, x"
            check_signature("quantity", self.quantity, arguments)
        check_integer("first", self.first, minimum=0)
        for name, value in (("is_pooled", self.is_pooled), ("first", self.first)):
            if value and self.statistic not in EACH:
                raise InputError(f"{name} needs statistic={' or '.join(EACH)}: leave {name} out.")
        _ = self.settings  # raises an error if `parameters` is invalid

    @cached_property
    def bounds_by_label(self) -> Mapping[str, Most]:
        """Bounds by label; the label of a single bound is ""."""
        return dict(self.upper) if isinstance(self.upper, Mapping) else {"": self.upper}

    def __call__(self, trial: Trial) -> statistics.Evidence:
        """Test the bound on every instance, at the stated number of steps and at larger numbers.

        Bounds of a single step are tested only at the stated number of steps: in longer runs the
        steps become so small that rounding errors of unknown size matter.
        """
        settings = () if self.statistic == "step" else self.settings.values()
        return decide_at_growing_horizons(trial, settings, self.decide)

    def decide(self, trial: Trial) -> statistics.Evidence:
        """Test the bound on every instance, for the number of steps that the claim sets."""
        decide = self._decide_every_run if self.statistic in EACH else self._decide_expectation
        parts, runs = decide(trial)
        combined = {name: _combine_labels(by_label) for name, by_label in parts.items()}
        decision = statistics.best_if_all_hold_else_worst(combined)
        if is_count(self.quantity):
            decision = statistics.cap_at_holds_by_schedule_alone(decision)
        if self.has_own_constant:
            decision = statistics.cap_at_holds_by_own_constant(decision)
        conditions = self._decide_output_uniformity(trial) if trial.horizon_multiple == 1 else {}
        if conditions:
            decision = statistics.combine_parts_and_conditions({"": decision}, conditions)
        return statistics.Evidence(decision, {"ratio": 1.0}, runs)

    def check_case(self, case: MethodOnProblem) -> None:
        """Raise an error if a bound or the quantity cannot be evaluated for a case.

        Raises
        ------
        InputError
            If the quantity is unknown, a bound is infinite or (except of a step) not positive, or
            `first` is not reached.
        """
        for bound in self.bounds_by_label.values():
            self._bound_value(bound, case, max(self.first, 1))
        if case.steps is not None and case.steps - (self.statistic != "every") < self.first:
            raise InputError(
                f"the bound is stated from t = {self.first} on, and the method makes {case.steps} "
                "steps: give it more."
            )
        if not (is_count(self.quantity) or self.statistic == "step"):
            as_function(case.problem, self.quantity)(case.problem.start())

    def _bound_value(self, bound: Most, case: MethodOnProblem, t: int, lower: float = 0.0) -> float:
        """Return the larger of `lower` and the value of the bound, which may depend on the step t.

        A value that is not finite, or (except of a step) not positive, raises `InputError`. A bound
        on a step is returned as it is.
        """
        reported = (case.constants, case.parameters, *((t,) if self.statistic in EACH else ()))
        lowest = -math.inf if self.statistic == "step" else lower
        value = max(float(bound(*reported)), lowest)
        if not (math.isfinite(value) and (value > 0.0 or lowest < 0.0)):
            raise InputError(
                f"the bound on {case.problem.name} is {value:g}: it must be positive and finite "
                '(of a bound that begins at t = k, state first=k; statistic="step" admits 0).'
            )
        return value

    def _rounding_levels(self, trial: Trial, case: MethodOnProblem) -> tuple[float, float]:
        """Return the size of rounding errors in the quantity, and the excess that they can cause.

        The first is 0 for short runs. A bound that decreases geometrically falls below it on long
        runs.
        """
        if is_count(self.quantity) or self.statistic == "step":
            return 0.0, 0.0
        start = abs(as_function(case.problem, self.quantity)(case.problem.start()))
        start = start if math.isfinite(start) else 0.0
        return (_ROUNDING * start if trial.horizon_multiple > 1 else 0.0), _EXCESS * start

    def max_ratio(self, trial: Trial, case: MethodOnProblem, seed: int) -> float:
        """Return the largest ratio of measured value to bound in a run, over bounds and steps."""
        if self.statistic in EACH:
            return max(
                _ratio_beyond_rounding(measured, self._bound_value(bound, case, t), 0.0, size)
                for t, measured, size in self._measure_run(trial, case, seed)
                for bound in self.bounds_by_label.values()
            )
        lower = min(self._bound_value(bound, case, 0) for bound in self.bounds_by_label.values())
        return self._value_of_run(trial, case, seed) / lower

    # --- every run --------------------------------------------------------------------------------

    def _decide_every_run(
        self, trial: Trial
    ) -> tuple[dict[str, dict[str, statistics.Decision]], int]:
        """Decide bounds on every run; return decisions (by instance, label) and number of runs."""
        results: dict[str, dict[str, list[float]]] = {}
        runs = 0
        for name, instance in iterate_instances(trial):
            ratios = results.setdefault("" if self.is_pooled else name, {})
            for label, setting in self.settings.items():
                for data, seed in draw_seeds(trial, instance, trial.choose_by_effort(*self.runs)):
                    runs += 1
                    case = setting.make_case(trial, instance.build_seeded(data))
                    lower, excess = self._rounding_levels(trial, case)
                    for t, measured, size in self._measure_run(trial, case, seed):
                        for key, bound in self.bounds_by_label.items():
                            value = self._bound_value(bound, case, t, lower)
                            ratio = _ratio_beyond_rounding(measured, value, excess, size)
                            ratios.setdefault(_join_labels(key, label), []).append(ratio)
        decided = {
            name: {label: statistics.decide_inequality(some) for label, some in ratios.items()}
            for name, ratios in results.items()
        }
        return decided, runs

    def _measure_run(
        self, trial: Trial, case: MethodOnProblem, seed: int
    ) -> Iterator[tuple[int, float, float]]:
        """Yield (t, measured quantity, its size) for each step t for which a bound is stated.

        The size is 0 unless a bound on the step is not positive: then the largest so far.
        """
        moves = trial.follow_with_previous_point(case.problem, case.algorithm, seed)
        measured, size, lower = as_function(case.problem, self.quantity), 0.0, math.inf
        for t, (x, step) in enumerate(islice(moves, case.steps), self.statistic == "every"):
            if self.statistic == "step":
                pair, bounds = (case.problem, x, step.state.x), self.bounds_by_label.values()
                if min(self._bound_value(bound, case, t) for bound in bounds) <= 0.0:
                    size = max(size, float(sum_of_magnitudes(self.quantity, *pair)))
                value = float(self.quantity(*pair))
            elif self.statistic == "every":
                value = measured(step.state.x)
            else:
                value = lower = min(lower, measured(x))
            if t >= self.first:
                yield t, value, size

    # --- in expectation ---------------------------------------------------------------------------

    def _decide_expectation(
        self, trial: Trial
    ) -> tuple[dict[str, dict[str, statistics.Decision]], int]:
        """Decide bounds on means; return decisions by instance and label, and number of runs."""
        decisions: dict[str, dict[str, statistics.Decision]] = {}
        runs = 0
        for name, problem in iterate_titled_problems(trial):
            decisions[name] = {}
            for label, setting in self.settings.items():
                case = setting.make_case(trial, problem)
                lower, excess = self._rounding_levels(trial, case)
                for key, upper in self.bounds_by_label.items():
                    labels = _join_labels(key, label)
                    bound = self._bound_value(upper, case, 0, lower)
                    request = _join_labels(name, labels), case, bound, excess
                    decisions[name][labels], count = self._decide_mean(trial, *request)
                    runs += count
        return decisions, runs

    def _decide_mean(
        self, trial: Trial, purpose: str, case: MethodOnProblem, bound: float, excess: float
    ) -> tuple[statistics.Decision, int]:
        """Decide a bound on the mean over runs; return the decision and the number of runs."""

        def ratio(seed: int) -> float:
            return _ratio_beyond_rounding(self._value_of_run(trial, case, seed), bound, excess, 0.0)

        if getattr(trial.original_algorithm, "deterministic", False):
            return statistics.decide_inequality([ratio(0)]), 1
        by_effort = trial.choose_by_effort(*self.runs)
        if is_count(self.quantity):
            ratios = [ratio(seed) for seed in trial.seeds(by_effort, purpose)]
            return _decide_mean_count(ratios), by_effort
        return trial.decide_mean_sequentially(ratio, purpose=purpose, batch=_BATCH, limit=by_effort)

    def _value_of_run(self, trial: Trial, case: MethodOnProblem, seed: int) -> float:
        """Return the measured quantity of one run: its mean, last or output value."""
        if is_count(self.quantity):
            *_, last = _pair_steps_with_points_before(trial, case, seed)
            return float(last[1].counts().as_dict()[self.quantity])
        measured = as_function(case.problem, self.quantity)
        if self.statistic == "output":
            return measured(trial.run(case.problem, case.algorithm, seed=seed).x)
        moves = _pair_steps_with_points_before(trial, case, seed)
        if self.statistic == "last":
            return measured(moves[-1][1].state.x)
        points = [x if step.state.at is None else keep(step.state.at) for x, step in moves]
        return float(np.mean([measured(x) for x in points]))

    def _decide_output_uniformity(self, trial: Trial) -> dict[str, statistics.Decision]:
        """Decide whether the output is drawn uniformly, as {"output": decision}; {} if not needed.

        The dict is empty unless `statistic` is "mean" and the claim's method declares a uniform
        output, because only then the bound needs it.
        """
        if self.statistic != "mean" or getattr(trial.original_algorithm, "output", "") != "uniform":
            return {}
        problem = next(iterate_titled_problems(trial))[1]
        setting = next(iter(self.settings.values()))
        sizes = setting.make_case(trial, problem).parameters_set_by_claim
        requires = getattr(trial.original_algorithm, "requires", ())
        path: Any = None if "lo" in requires else FREE
        if "norm" in requires:
            name = "linf" if "norm linf" in requires else "l2"
            path = NormedProblem(FREE, norm_ball(name, FREE.shape))
        return {"output": trial.decide_if_output_is_uniform(path, **sizes)}


def _decide_mean_count(ratios: list[float]) -> statistics.Decision:
    """Decide a bound on the mean of counts, assuming that no count exceeds twice the bound.

    A schedule often makes the counts of all runs equal to the bound. If no run is above the bound,
    the verdict is therefore *holds*, however few the runs.
    """
    decision = statistics.decide_mean(ratios, 1.0, upper=2.0)
    inequality = statistics.decide_inequality(ratios)
    if decision.verdict != Verdict.INCONCLUSIVE or inequality.verdict == Verdict.VIOLATED:
        return decision
    reason = f"The bound holds in each of {len(ratios)} runs."
    return replace(decision, verdict=Verdict.HOLDS, reason=reason)


def sum_of_magnitudes(quantity: Callable[..., Any], problem: Any, x: Any, y: Any) -> Any:
    """Return the sum of |quantity| of the step from x to y, of its half, and of its reverse."""
    pairs = (x, y), (x, (x + y) / 2 if isinstance(x, np.ndarray) else x), (y, x)
    return sum(abs(quantity(problem, *pair)) for pair in pairs)


def _ratio_beyond_rounding(measured: float, bound: float, excess: float, size: float) -> float:
    """Return measured/bound, or 0 if the measured value exceeds the bound only by rounding.

    If the bound is not positive, return 1 + (measured - bound)/size, or 0 if it is kept.
    """
    if bound <= 0.0:
        ratio = 1.0 + (measured - bound) / (size or 1.0)
        return ratio if ratio > 1.0 + ROUNDING else 0.0
    return 0.0 if bound * (1.0 + ROUNDING) < measured <= bound + excess else measured / bound


def _combine_labels(by_label: Mapping[str, statistics.Decision]) -> statistics.Decision:
    """Combine the decisions on all labelled bounds of one instance."""
    return by_label[""] if set(by_label) == {""} else statistics.combine_all(by_label)


def _join_labels(*labels: str) -> str:
    return ", ".join(filter(None, labels))


def _pair_steps_with_points_before(trial: Trial, case: MethodOnProblem, seed: int) -> list[Any]:
    """Return the steps of a run, each with the iterate before it.

    The number of returned steps is that of the claim.
    """
    run = trial.follow_with_previous_point(case.problem, case.algorithm, seed)
    moves = list(islice(run, case.steps))
    if not moves:
        raise MethodFailed("the method yields no state")
    if case.steps is not None and len(moves) < case.steps:
        raise NotTestable(
            f"the method yields {len(moves)} states in {case.steps} iterations: yield one in each"
        )
    return moves


bound = Bound  # name in claims
