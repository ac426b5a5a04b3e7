"""Published schedules: stochastic frank wolfe."""

import math

from pfbench.claims.methods.reference_schedules import (
    WANTED,
    constant_step_schedule,
    schedule_smoothness,
)
from pfbench.verification.schedules import Printed, PublishedSchedule, ScheduleRequest


def sfw_schedule(request: ScheduleRequest) -> Printed:
    """Return the schedule with b = T and gamma = sqrt(2 h0/(T L D^2)), at most 1.

    The mean gap is at most (sqrt(2 h0 L D^2) + D sigma)/sqrt T <= epsilon.
    """
    epsilon, c = request.epsilon, request.constants
    L = max(c.L_f, c.L_ms)
    curvature = L * c.D**2
    accurate = (math.sqrt(2.0 * c.delta * curvature) + c.D * math.sqrt(c.sigma2)) ** 2 / epsilon**2
    T = math.ceil(max(1.0, accurate, 2.0 * c.delta / curvature) - 1e-9)
    step = min(1.0, math.sqrt(2.0 * c.delta / (T * curvature)))
    return {"iterations": T, "batch": T, "step": step}


def svfw_schedule(request: ScheduleRequest) -> Printed:
    """Return the schedule with m = n^(1/3), rounded up, and b = m^2.

    The errors are at most L gamma D.
    """
    m = math.ceil(request.constants.n ** (1.0 / 3.0) - 1e-9)
    return {
        **constant_step_schedule(request, schedule_smoothness(request), 1.5),
        "period": m,
        "batch": m * m,
    }


def sagafw_schedule(request: ScheduleRequest) -> Printed:
    """Return the schedule with b = n^(2/3); option=claimed has b = n^(1/3).

    The error is at most sqrt 2 L gamma D n/b^(3/2).
    """
    c, claimed = request.constants, request.parameters.get("option") == "claimed"
    b = math.ceil(c.n ** ((1.0 if claimed else 2.0) / 3.0) - 1e-9)
    error = 1.5 if claimed else 0.5 + math.sqrt(2.0) * c.n * b**-1.5
    return {**constant_step_schedule(request, c.L_max, error), "batch": b}


CLAIMED = tuple(
    ScheduleRequest(request.epsilon, request.constants, {"option": "claimed"}) for request in WANTED
)

SCHEDULES = (
    PublishedSchedule(
        name="sfw",
        requests=WANTED,
        schedule=sfw_schedule,
        attribution="b = T of Reddi et al. 2016 (Allerton); T and gamma by a bound of pfbench "
        "with sigma^2",
    ),
    PublishedSchedule(
        name="svfw",
        requests=WANTED,
        schedule=svfw_schedule,
        attribution="m and b of Reddi et al. 2016 (Allerton); T and gamma by a bound of pfbench",
    ),
    PublishedSchedule(
        name="sagafw",
        requests=(*WANTED, *CLAIMED),
        schedule=sagafw_schedule,
        attribution="repaired by pfbench: b, T and gamma by a bound of its own; option=claimed "
        "has the b of Reddi et al. 2016 (Allerton), which is disputed, with the T and "
        "gamma of svfw",
    ),
)
