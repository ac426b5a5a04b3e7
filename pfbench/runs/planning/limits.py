"""What ends a run from outside, so that a longer run begins with a shorter one, bit for bit.

No algorithm sees its budget or its time limit. `iterations` is a limit like them where no iterate
depends on it (`Algorithm.anytime`); anything else that a schedule depends on makes another run.
"""

import math
from collections.abc import Mapping
from typing import Any

from pfbench.base.user_code import is_ours
from pfbench.runs.planning.plan import PlannedRun


def limits_of(plan: PlannedRun, algorithm: Any) -> dict[str, float]:
    """Return the limits of a run as JSON can write them.

    Its budget, and under "iterations" that parameter, where it is a limit like a budget.
    """
    limits = {} if plan.budget is None else plan.budget.limits
    iterations = getattr(algorithm, "iterations", None)
    if anytime(algorithm) and iterations is not None:
        limits["iterations"] = iterations
    return limits


def anytime(algorithm: Any) -> bool:
    """Return whether no iterate of an algorithm depends on `iterations`.

    Somebody's own class has to say so itself: what it inherits may hold no longer.
    """
    kind = type(algorithm)
    said = is_ours(kind.__module__) or "anytime" in vars(kind)
    return said and bool(getattr(algorithm, "anytime", False))


def within(mine: Mapping[str, float], others: Mapping[str, float]) -> bool:
    """Return whether the first of two runs that differ in their limits has the smaller ones."""
    smaller = all(mine.get(name, math.inf) <= others[name] for name in others)
    return smaller and mine != others
