"""Quantities that a claim measures at a point, by name or as a function."""

import math
from collections.abc import Callable
from typing import Any

from pfbench.base.checks import check_choice
from pfbench.base.counts import COUNTED
from pfbench.base.protocols import Algorithm, Problem
from pfbench.base.state import State
from pfbench.base.status import Status
from pfbench.measures import available_measures
from pfbench.points import keep
from pfbench.runs.loop.stop import Stop
from pfbench.verification.statements.minimum_value import minimum_value
from pfbench.verification.statements.setting import MethodOnProblem
from pfbench.verification.subject import NotTestable
from pfbench.verification.trial import Trial

Quantity = str | Callable[[Any, Any], float]
"""Name of a measure, or function of a problem and a point."""

SUBOPTIMALITY = "suboptimality"
"""f + h minus the best known value, or else a certified minimum."""


def is_count(quantity: Quantity) -> bool:
    """Return whether a quantity is a number of calls."""
    return isinstance(quantity, str) and quantity in COUNTED


def as_function(problem: Problem, quantity: Quantity) -> Callable[[Any], float]:
    """Return a quantity as a function of a point; intervals give their upper end.

    Raises
    ------
    InputError
        If the problem has no measure of that name.
    NotTestable
        When the function is called, if the quantity is not defined at the point.
    """
    if not isinstance(quantity, str):
        function = quantity
        return lambda x: float(function(problem, x))
    if quantity == SUBOPTIMALITY:
        return _suboptimality(problem)
    existing = available_measures(problem)
    measure = existing[
        check_choice(
            f"the quantity measured on {problem.name}", quantity, [*existing, SUBOPTIMALITY]
        )
    ]

    def upper_end(x: Any) -> float:
        result = measure(problem, State(keep(x)))
        if result is None:
            raise NotTestable(f"{quantity} is not defined on {problem.name}")
        return float(result[1] if isinstance(result, tuple) else result)

    return upper_end


def count_calls_to_target(
    trial: Trial,
    case: MethodOnProblem,
    method: Algorithm,
    seed: int,
    kind: str,
    quantity: Quantity,
    target: float,
) -> float:
    """Return the calls of a kind until a quantity is at most a target, or infinity."""
    measured = as_function(case.problem, quantity)

    def measure(_: Problem, state: State) -> float:
        return measured(state.x)

    stop, named = Stop("measured", target), {"measured": measure}
    run = trial.run(case.problem, method, seed=seed, stop=stop, measures=named)
    spent = run.counts.as_dict()[kind]
    return float(spent) if run.status == Status.TARGET and spent else math.inf


def _suboptimality(problem: Problem) -> Callable[[Any], float]:
    objective = available_measures(problem)["objective"]

    def suboptimality(x: Any) -> float:
        best_known = problem.best_known
        lower = minimum_value(problem) if best_known is None else best_known[0]
        value = objective(problem, State(keep(x)))
        return float(value if isinstance(value, float) else math.nan) - lower

    return suboptimality
