"""Published schedules: spider."""

import math
from functools import partial

from pfbench.base.constants import Constants
from pfbench.claims.methods.reference_schedules import (
    WANTED,
    schedule_smoothness,
    smallest_horizon,
    spiderboost_schedule,
)
from pfbench.verification.schedules import Printed, PublishedSchedule, ScheduleRequest


def sarah_schedule(request: ScheduleRequest) -> Printed:
    """Return one loop of the least p with 2 h0/(eta p) <= epsilon, b = sqrt n.

    For large p, 2 h0/(eta p) decreases as 1/sqrt p.
    """
    c = request.constants
    p, b = (
        smallest_horizon(partial(sarah_bound, c), request.epsilon),
        math.ceil(math.sqrt(c.n) - 1e-9),
    )
    return {"iterations": p, "period": p, "batch": b, "step": sarah_step(c, p)}


def sarah_step(c: Constants, p: float) -> float:
    """Return eta = 2/(L (1 + sqrt(1 + 4m/b))), m = p - 1."""
    L, b = max(c.L_f, c.L_ms), math.ceil(math.sqrt(c.n) - 1e-9)
    return 2.0 / (L * (1.0 + math.sqrt(1.0 + 4.0 * (p - 1.0) / b)))


def sarah_bound(c: Constants, p: float) -> float:
    """Return 2 h0/(eta p)."""
    return 2.0 * c.delta / (sarah_step(c, p) * p)


def spider_schedule(request: ScheduleRequest) -> Printed:
    """Return K = floor(4 L Delta/epsilon^2) + 1, step epsilon/L, lam 1/(2L), q = S = sqrt n."""
    epsilon, c = request.epsilon, request.constants
    L, root = max(c.L_f, c.L_ms), math.sqrt(c.n)
    return {
        "iterations": math.floor(4.0 * L * c.delta / epsilon**2) + 1,
        "step": epsilon / L,
        "lam": 0.5 / L,
        "batch": root,
        "period": root,
    }


def momentum_schedule(request: ScheduleRequest) -> Printed:
    """Return beta = 1/(8L), q = S = sqrt n, and Prox-SpiderBoost's T = 20 L Delta/epsilon^2.

    Theorem 3 of wang2019 prints no constant of T.
    """
    return {
        **spiderboost_schedule(request, constant=20.0),
        "step": 1.0 / (8.0 * schedule_smoothness(request)),
    }


SCHEDULES = (
    PublishedSchedule(
        name="sarah",
        requests=WANTED,
        schedule=sarah_schedule,
        attribution="Nguyen, Liu, Scheinberg, Takac 2017, one outer loop; b = sqrt n is of pfbench",
    ),
    PublishedSchedule(
        name="spider",
        requests=WANTED,
        schedule=spider_schedule,
        attribution="Fang, Li, Lin, Zhang 2018, finite sum, option II, with n0 = 1",
    ),
    PublishedSchedule(
        name="prox-spiderboost-m",
        requests=WANTED,
        schedule=momentum_schedule,
        attribution="step, q and S of wang2019 theorem 3; T is that of prox-spiderboost, derived "
        "by pfbench for theorem 2, as theorem 3 prints O(.) only",
    ),
)
