"""What a claim measures at a point, by name or as a function."""

import math
from collections.abc import Callable
from typing import Any

from pfbench.base.checks import choice
from pfbench.base.counts import COUNTED
from pfbench.base.protocols import Algorithm, Problem
from pfbench.base.state import State
from pfbench.measures import available
from pfbench.points import keep
from pfbench.runs.loop.stop import Stop
from pfbench.verification.stating.least_value import least_value
from pfbench.verification.stating.setting import Case
from pfbench.verification.subject import Untestable
from pfbench.verification.trial import Trial

Quantity = str | Callable[[Any, Any], float]
"""A measure by its name, or a function of a problem and a point."""

SUBOPTIMALITY = "suboptimality"
"""f + h minus the least value that is known, or certified."""


def is_count(of: Quantity) -> bool:
    """Return whether it is a number of calls."""
    return isinstance(of, str) and of in COUNTED


def at_points(problem: Problem, of: Quantity) -> Callable[[Any], float]:
    """Return a quantity as a function of a point; of an interval its upper end.

    Raises
    ------
    InputError
        If the problem has no measure of that name.
    Untestable
        Where it is called, if it is not defined there.
    """
    if not isinstance(of, str):
        function = of
        return lambda x: float(function(problem, x))
    if of == SUBOPTIMALITY:
        return _suboptimality(problem)
    known = available(problem)
    measure = known[choice(f"the quantity measured on {problem.name}", of, [*known, SUBOPTIMALITY])]

    def measured(x: Any) -> float:
        found = measure(problem, State(keep(x)))
        if found is None:
            raise Untestable(f"{of} is not defined on {problem.name}")
        return float(found[1] if isinstance(found, tuple) else found)

    return measured


def calls_to(
    trial: Trial, case: Case, method: Algorithm, seed: int, kind: str, of: Quantity, target: float
) -> float:
    """Return the calls of a kind until a quantity is at most a target; infinite if it never is."""
    measured = at_points(case.problem, of)

    def measure(_: Problem, state: State) -> float:
        return measured(state.x)

    stop, named = Stop("measured", target), {"measured": measure}
    run = trial.run(case.problem, method, seed=seed, stop=stop, measures=named)
    spent = run.counts.as_dict()[kind]
    return float(spent) if run.status == "target" and spent else math.inf


def _suboptimality(problem: Problem) -> Callable[[Any], float]:
    objective = available(problem)["objective"]

    def above(x: Any) -> float:
        stated = problem.best_known
        least = least_value(problem) if stated is None else stated[0]
        value = objective(problem, State(keep(x)))
        return float(value if isinstance(value, float) else math.nan) - least

    return above
