"""Check of a rate: the calls to a target grow at most as a power of a parameter."""

import math
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, ClassVar

import numpy as np

from pfbench.base.checks import check_choice, check_finite_array, check_integer, check_real
from pfbench.base.counts import COUNTED
from pfbench.base.errors import InputError
from pfbench.base.status import Verdict
from pfbench.verification import statistics
from pfbench.verification.instances import Instance
from pfbench.verification.statements import setting
from pfbench.verification.statements.quantity import Quantity, as_function, count_calls_to_target
from pfbench.verification.statistics import cap_at_holds_by_schedule_alone as follows_from_schedule
from pfbench.verification.trial import Trial

EPSILON = "1/epsilon"
"""Variable of the rate if the accuracy is varied."""

NO_EVIDENCE = (
    "This is no evidence for the rate: the problem is easier than its class. The hardest known "
    "families are finite-sum-chain and, over a bounded set, zero-chain."
)
"""Remark on a rate that holds with a smaller exponent than the claimed one."""


@dataclass(frozen=True)
class RateCheck(setting.StatementCheck):
    """Check that oracle calls to reach a target grow with at most a claimed exponent.

    One slope of log calls is fitted for each seed, and the exponent is the median of the slopes;
    see `decide_exponent`. An easy problem is no evidence for a rate: use instances on which every
    method needs that many calls.

    Parameters
    ----------
    exponent
        The claimed exponent.
    values
        Accuracies epsilon, or values of `varied_parameter`: at least 4, over `decades`.
    measure
        Quantity that must become at most epsilon; see `quantity` of `bound`.
    varied_parameter
        "1/epsilon", or a parameter of the instances; `parameters` then contain `epsilon`. An
        instance with a parameter `epsilon` is built for that accuracy.
    count
        The kind of calls.
    seeds
        Number of seeds, of the method and of random data, at the second look. An earlier look has
        `EARLY_SEEDS`, and the last one `MOST_SEEDS`; each look is made only if the one before does
        not decide. Fewer than 6 seeds decide nothing.
    decades
        Minimum number of decades of a usable fit.
    by_schedule
        Whether the exponent follows from the schedule alone, whatever the method does. The verdict
        is then *holds* at best.
    parameters, full, constants
        See `StatementCheck`; `parameters` are for a method without a theorem's schedule, or in
        addition to the schedule.

    Raises
    ------
    InputError
        If an argument is out of range.
    """

    kind: ClassVar[str] = "rate"
    takes: ClassVar[tuple[float, float]] = (30.0, 30.0)

    exponent: float
    values: Sequence[float]
    _: KW_ONLY
    measure: Quantity
    varied_parameter: str = EPSILON
    count: str = "sfo"
    seeds: int = 20
    decades: float = 2.0
    by_schedule: bool = False

    def __post_init__(self) -> None:
        check_real("exponent", self.exponent)
        values = check_finite_array("values", self.values)
        if values.ndim != 1 or values.size == 0 or (values <= 0.0).any():
            raise InputError("values must be a list of positive numbers.")
        object.__setattr__(self, "values", tuple(values.tolist()))
        check_choice("count", self.count, COUNTED)
        check_integer("seeds", self.seeds, minimum=1)
        check_real("decades", self.decades, above=0.0)

    def __call__(self, trial: Trial) -> statistics.Evidence:
        """Test the exponent on every instance, with one fitted slope for each seed."""
        parts, runs = dict[str, statistics.Decision](), 0
        x = np.array(self.values)
        if self.varied_parameter == EPSILON:
            x = 1.0 / x
        for name, item in setting.iterate_instances(trial):
            sample = setting.is_run_random(trial, item)
            seeds = setting.draw_seeds(trial, item, max(self.seeds, statistics.MOST_SEEDS))
            early = min(len(seeds), statistics.EARLY_SEEDS)

            def row(numbered: Any, instance: Instance = item, early: int = early) -> list[float]:
                index, pair = numbered
                brief = trial.share_time(max(early - index, 1))  # fewer seeds decide nothing
                return [self.calls(brief, instance, position, *pair) for position in self.values]

            rows = statistics.SeedRows(row, list(enumerate(seeds)))

            def fit(
                count: int, rows: statistics.SeedRows[Any, Any] = rows, is_drawn: bool = sample
            ) -> statistics.Exponent:
                calls = rows(count)
                return statistics.fit_exponent(
                    x, calls if is_drawn else calls[0], least_decades=self.decades
                )

            parts[name] = statistics.decide_exponent(fit, self.exponent, seeds=self.seeds)
            runs += len(rows.computed) * len(self.values)
        decision = statistics.best_if_all_hold_else_worst(parts)
        if self.by_schedule:
            decision = follows_from_schedule(decision)
        elif decision.verdict == Verdict.HOLDS and all(
            part.measured["slope"] < self.exponent - statistics.EXPONENT_MARGIN
            for part in parts.values()
        ):
            decision = replace(decision, reason=f"{decision.reason} {NO_EVIDENCE}")
        return statistics.Evidence(
            decision, {f"exponent of {self.varied_parameter}": self.exponent}, runs
        )

    def check_testable(self, trial: Trial) -> None:
        """Raise an error, before any run, if the claim cannot be tested."""
        for _, instance in setting.iterate_instances(trial):
            case = self.make_case(trial, instance, self.values[0], 0)
            setting.check_required_oracles(case)
            as_function(case.problem, self.measure)(case.problem.start())

    def make_case(
        self, trial: Trial, instance: Instance, value: float, seed: int
    ) -> setting.MethodOnProblem:
        """Return the method on an instance's problem, for one value of the varied parameter.

        `seed` determines the random data of the problem.
        """
        if self.varied_parameter == EPSILON:
            report = {"epsilon": value} if "epsilon" in instance.free_parameter_names else {}
            problem = instance.build_seeded(seed, **report)
            return self.setting.make_case(trial, problem, epsilon=value)
        varied = {self.varied_parameter: int(value) if float(value).is_integer() else value}
        return self.setting.make_case(trial, instance.build_seeded(seed, **varied))

    def calls(
        self, trial: Trial, instance: Instance, value: float, data_seed: int, seed: int
    ) -> float:
        """Return the oracle calls until the measure is at most epsilon; infinite if it never is.

        They are also infinite if none is needed, as 0 has no logarithm.
        """
        case = self.make_case(trial, instance, value, data_seed)
        request = self.count, self.measure, case.parameters.epsilon
        return count_calls_to_target(trial, case, case.algorithm, seed, *request) or math.inf


rate = RateCheck  # name in claims
