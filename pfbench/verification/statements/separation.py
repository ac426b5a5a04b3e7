"""Check of a separation: one method needs fewer calls to a target than another."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from pfbench.base.checks import check_choice, check_integer, check_real
from pfbench.base.counts import COUNTED
from pfbench.base.errors import InputError
from pfbench.verification.evidence import Evidence
from pfbench.verification.instances import Instance
from pfbench.verification.statements.quantity import Quantity, as_function, count_calls_to_target
from pfbench.verification.statements.setting import (
    ClaimSetting,
    Given,
    MethodOnProblem,
    check_function,
    check_required_oracles,
    draw_seeds,
    is_run_random,
    iterate_instances,
    iterate_problems,
    make_other_method,
    resolve_method,
)
from pfbench.verification.statistics import (
    MOST_SEEDS,
    Decision,
    SeedRows,
    combine_instances,
    decide_inequality,
    decide_median,
)
from pfbench.verification.trial import Trial


@dataclass(frozen=True, kw_only=True)
class Separation:
    """Check that one method needs fewer calls to a target than another; see `separation`."""

    kind: ClassVar[str] = "separation"
    takes: ClassVar[tuple[float, float]] = (10.0, 10.0)

    other_method: Any
    measure: Quantity
    target: float | Callable[[Any], float]
    count: str
    setting: ClaimSetting
    other_parameters: Given | None
    factor: float
    seeds: int

    def __call__(self, trial: Trial) -> Evidence:
        """Compare the calls of the two methods in paired runs on every instance."""
        parts, runs = dict[str, Decision](), 0
        for name, item in iterate_instances(trial):

            def ratio(pair: tuple[int, int], instance: Instance = item) -> float:
                case = self.setting.make_case(trial, instance.build_seeded(pair[0]))
                request = pair[1], self.count, self.measure, self._target(case)
                calls = count_calls_to_target(trial, case, case.algorithm, *request)
                reference = count_calls_to_target(
                    trial,
                    case,
                    make_other_method(self.other_method, self.other_parameters, case),
                    *request,
                )
                return calls / reference if math.isfinite(calls) else math.inf

            rows = SeedRows(ratio, draw_seeds(trial, item, max(self.seeds, MOST_SEEDS)))
            if is_run_random(trial, item):
                parts[name] = decide_median(rows, self.factor, self.seeds)
            else:
                parts[name] = decide_inequality(np.array(rows(1)) / self.factor)
            runs += 2 * len(rows.computed)
        return Evidence(combine_instances(parts), {"calls over the other's": self.factor}, runs)

    def check(self, trial: Trial) -> None:
        """Raise an error, before any run, if the claim cannot be tested."""
        for _, problem in iterate_problems(trial):
            case = self.setting.make_case(trial, problem)
            check_required_oracles(case)
            make_other_method(self.other_method, self.other_parameters, case)
            self._target(case)
            as_function(problem, self.measure)(problem.start())

    def _target(self, case: MethodOnProblem) -> float:
        """Return the target value of the measure on a problem."""
        target = self.target(case.constants) if callable(self.target) else self.target
        if not 0.0 < target < math.inf:
            raise InputError(
                f"the target on {case.problem.name} is {target:g}: it must be positive."
            )
        return float(target)


def separation(
    other_method: Any,
    *,
    measure: Quantity,
    target: float | Callable[[Any], float],
    count: str = "sfo",
    parameters: Given | None = None,
    other_parameters: Given | None = None,
    factor: float = 1.0,
    seeds: int = 20,
) -> Separation:
    """Return a check that the claim's method reaches a target with fewer calls than another.

    The check decides the median over seeds of the ratio of calls of paired runs. A run that does
    not reach the target counts as infinitely many calls, so the parameters must let both methods
    run long enough.

    Parameters
    ----------
    other_method
        The other method: a name of the catalogue, or a class.
    measure
        Quantity that must become at most the target; see `quantity` of `bound`.
    target
        A number, or a function of the constants of the problem.
    count
        The kind of calls.
    parameters, other_parameters
        Parameters of the claim's method and of the other one; see `identity`.
    factor
        Claimed upper bound of the median ratio.
    seeds
        Number of pairs of runs at the second look; see `seeds` of `rate`.

    Raises
    ------
    InputError
        If the other method is unknown, or an argument is out of range.
    """
    if callable(target):
        check_function("target", target, "c")
    return Separation(
        other_method=resolve_method(other_method),
        measure=measure,
        target=target,
        count=check_choice("count", count, COUNTED),
        setting=ClaimSetting(parameters=parameters or {}),
        other_parameters=other_parameters,
        factor=check_real("factor", factor, above=0.0),
        seeds=check_integer("seeds", seeds, minimum=1),
    )
