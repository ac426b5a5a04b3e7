"""Checks that decide each instance of a claim by itself, and combine the decisions."""

import math
from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from typing import Any

from pfbench.verification.statistics import (
    Decision,
    Evidence,
    best_if_all_hold_else_worst,
    decide_inequality,
)
from pfbench.verification.trial import Trial

Parts = dict[str, Decision]
"""Decisions by name, usually that of the instance."""

Check = Callable[..., Evidence]

Claimed = Mapping[str, Any]

RATIO: Claimed = {"ratio": 1.0}
"""Claimed value of a ratio of measured number to bound."""


def check_each_instance(
    claimed: Claimed = RATIO,
    combine: Callable[[Mapping[str, Decision]], Decision] = best_if_all_hold_else_worst,
    *,
    repetitions: int | None = None,
) -> Callable[[Callable[..., Parts | Iterable[tuple[str, Decision]]]], Check]:
    """Return a decorator that turns a function which decides one instance into a claim's check.

    The function gets the trial, an instance of the claim, its problem, and the options of a check.
    It returns decisions by name, usually that of the instance, or yields names with them.

    Parameters
    ----------
    claimed
        Claimed value of each measured number.
    combine
        Function that combines the decisions on all instances.
    repetitions
        Number of runs on an instance; by default one for each decision.
    """

    def decorate(decide: Callable[..., Any]) -> Check:
        @wraps(decide)
        def check(trial: Trial, /, *args: Any, **options: Any) -> Evidence:
            parts, instances = Parts(), trial.claim.instances
            for instance in instances:
                parts |= dict(decide(trial, instance, instance(), *args, **options))
            runs = len(parts) if repetitions is None else repetitions * len(instances)
            return Evidence(combine(parts), claimed, runs)

        return check

    return decorate


def check_ratios(
    trial: Trial,
    *,
    measure: Callable[[Trial, Any], float | Iterable[float]],
    quick_below: float = math.inf,
) -> Evidence:
    """Test whether the ratios that `measure` returns on each instance are at most 1.

    Quick effort leaves out instances with n >= `quick_below`.
    """
    parts = Parts()
    for instance in trial.claim.instances:
        problem = instance.build_seeded(trial.seeds(1, instance.label)[0])
        if trial.effort == "full" or problem.n < quick_below:
            measured = measure(trial, problem)
            ratios = [measured] if isinstance(measured, float) else [*measured]
            parts[instance.label] = decide_inequality(ratios)
    return Evidence(best_if_all_hold_else_worst(parts), RATIO, len(parts))
