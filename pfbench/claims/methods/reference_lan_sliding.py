"""Published schedules: lan sliding."""

import math
from dataclasses import replace
from functools import partial
from typing import Any

from pfbench.claims.methods.reference_schedules import (
    CONSTANTS,
    SLIDING,
    accuracies_at_jumps,
    schedule_smoothness,
    smallest_horizon,
)
from pfbench.verification.schedules import Printed, PublishedSchedule, ScheduleRequest


def convex_bound(c: Any, N: float) -> float:
    """Return the bound 15 L D^2/(2(N+1)(N+2))."""
    return float(15.0 * c.L_f * c.D**2 / (2.0 * (N * N + 3.0 * N + 2.0)))


def convex_schedule(request: ScheduleRequest) -> Printed:
    """Return the least N for which `convex_bound` is at most epsilon, with L_f and D."""
    c = request.constants
    N = smallest_horizon(partial(convex_bound, c), request.epsilon)
    return {"iterations": N, "smoothness": c.L_f, "diameter": c.D}


def spider_schedule(request: ScheduleRequest) -> Printed:
    """Return N = 32 L Delta/epsilon, eta = epsilon/(48L), T = sqrt n, b = 10 T.

    L is the mean of the L_i if components are drawn in proportion to their L_i, as in the source.
    """
    c, L = request.constants, schedule_smoothness(request)
    T = math.ceil(math.sqrt(c.n) - 1e-9)
    return {
        "iterations": max(1.0, 32.0 * L * c.delta / request.epsilon),
        "smoothness": L,
        "tolerance": request.epsilon / (48.0 * L),
        "period": T,
        "batch": 10 * T,
    }


BESIDE = tuple(
    ScheduleRequest(epsilon, c)
    for c in CONSTANTS
    for epsilon in accuracies_at_jumps(partial(convex_bound, c))
)

BY_SMOOTHNESS: dict[str, Any] = {"sampling": "importance"}

SCHEDULES = (
    PublishedSchedule(
        name="cgs-convex",
        requests=(*SLIDING, *BESIDE),
        schedule=convex_schedule,
        attribution="Lan, Zhou 2016 as Lan 2020, section 7.2, has it; the bound was derived again "
        "by pfbench",
    ),
    PublishedSchedule(
        name="ncgs-spider",
        requests=(
            *SLIDING,
            *(replace(request, parameters=BY_SMOOTHNESS) for request in SLIDING[:6]),
        ),
        schedule=spider_schedule,
        attribution="Lan 2020, corollary 7.13, as a formal development quotes it, with draws by "
        "the L_i; uniform ones, with L of the mean square, are of pfbench",
    ),
)
