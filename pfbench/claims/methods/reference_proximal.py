"""Published schedules: proximal."""

import math
from functools import partial

from pfbench.claims.methods.reference_schedules import WANTED, spiderboost_schedule
from pfbench.verification.schedules import Printed, PublishedSchedule, ScheduleRequest


def gradient_descent_schedule(request: ScheduleRequest) -> Printed:
    """Return the schedule with sqrt(2 L h0/(t+1)) <= epsilon, step 1/L_f."""
    epsilon, c = request.epsilon, request.constants
    return {"iterations": 2.0 * c.L_f * c.delta / epsilon**2 - 1.0, "step": 1.0 / c.L_f}


def rspg_schedule(request: ScheduleRequest) -> Printed:
    """Return the schedule in which 8 L h0/T and 6 sigma^2/b are epsilon/2 each, step 1/(2L)."""
    epsilon, c = request.epsilon, request.constants
    L = max(c.L_f, c.L_ms)
    return {
        "iterations": 16.0 * L * c.delta / epsilon,
        "batch": 12.0 * c.sigma2 / epsilon,
        "step": 0.5 / L,
    }


def svrg_schedule(request: ScheduleRequest) -> Printed:
    """Return the schedule with 18 L h0/T <= epsilon, b = n^(2/3), m = n^(1/3), eta = 1/(3L)."""
    epsilon, c = request.epsilon, request.constants
    L, root = max(c.L_f, c.L_ms), c.n ** (1.0 / 3.0)
    return {
        "iterations": 18.0 * L * c.delta / epsilon,
        "step": 1.0 / (3.0 * L),
        "batch": root**2,
        "period": root,
    }


def svrg_plus_schedule(request: ScheduleRequest) -> Printed:
    """Return the schedule with 36 L h0/T <= epsilon, eta = 1/(6L), m = sqrt b.

    b = min(n, 1/epsilon)^(2/3), the best choice of the source; online B = min(n, 6
    sigma^2/epsilon).
    """
    epsilon, c = request.epsilon, request.constants
    L = max(c.L_f, c.L_ms)
    b = min(c.n, 1.0 / epsilon) ** (2.0 / 3.0)
    B = 6.0 * c.sigma2 / epsilon
    online = request.parameters.get("online", False) and c.n > max(1.0, B)
    return {
        "iterations": 36.0 * L * c.delta / epsilon,
        "step": 1.0 / (6.0 * L),
        "batch": b,
        "period": math.sqrt(b),
        "snapshot": B if online else None,
    }


def prox_saga_schedule(request: ScheduleRequest) -> Printed:
    """Return the schedule with 50 L h0/(3T) <= epsilon, b = n^(2/3), eta = 1/(5L)."""
    epsilon, c = request.epsilon, request.constants
    return {
        "iterations": 50.0 * c.L_max * c.delta / (3.0 * epsilon),
        "step": 0.2 / c.L_max,
        "batch": c.n ** (2.0 / 3.0),
    }


def saga_schedule(request: ScheduleRequest) -> Printed:
    """Return the schedule with b = 1 and eta = 1/(3 L n^(2/3)).

    3 L n^(2/3) h0/(T (1 - 1/(12 n^(2/3)))) <= epsilon. The source's bound lacks the factor in
    brackets, which is needed if all f_i are equal.
    """
    epsilon, c = request.epsilon, request.constants
    scale = 3.0 * c.L_max * c.n ** (2.0 / 3.0)
    factor = 1.0 - 1.0 / (12.0 * c.n ** (2.0 / 3.0))
    return {"iterations": scale * c.delta / (factor * epsilon), "step": 1.0 / scale, "batch": 1}


ONLINE = tuple(
    ScheduleRequest(request.epsilon, request.constants, {"online": True}) for request in WANTED
)

SCHEDULES = (
    PublishedSchedule(
        name="prox-gd",
        requests=WANTED,
        schedule=gradient_descent_schedule,
        attribution="lacoste2016 section 3, of Ghadimi, Lan, Zhang 2016",
    ),
    PublishedSchedule(
        name="projected-gradient",
        requests=WANTED,
        schedule=gradient_descent_schedule,
        attribution="as prox-gd; li2019, which runs it, prints no step",
    ),
    PublishedSchedule(
        name="prox-sgd",
        requests=WANTED,
        schedule=rspg_schedule,
        attribution="step 1/(2L) of Ghadimi, Lan, Zhang 2016; T and b by a bound of pfbench",
    ),
    PublishedSchedule(
        name="svrg",
        requests=WANTED,
        schedule=svrg_schedule,
        attribution="that of prox-svrg with h = 0, taken by pfbench in place of its own source",
    ),
    PublishedSchedule(
        name="prox-svrg",
        requests=WANTED,
        schedule=svrg_schedule,
        attribution="Reddi et al. 2016 (NIPS) with b = n^(2/3)",
    ),
    PublishedSchedule(
        name="projected-svrg",
        requests=WANTED,
        schedule=svrg_schedule,
        attribution="that of prox-svrg; qu2018 section 6, which runs it, prints b and m, no step",
    ),
    PublishedSchedule(
        name="prox-svrg-plus",
        requests=(*WANTED, *ONLINE),
        schedule=svrg_plus_schedule,
        attribution="step, m and best b of Li & Li 2018; T and B by a bound that pfbench derived",
    ),
    PublishedSchedule(
        name="saga",
        requests=WANTED,
        schedule=saga_schedule,
        attribution="Reddi et al. 2016 (CDC) with b = 1; pfbench corrects T by 1 - 1/(12 n^(2/3))",
    ),
    PublishedSchedule(
        name="prox-saga",
        requests=WANTED,
        schedule=prox_saga_schedule,
        attribution="Reddi et al. 2016 (NIPS) with b = n^(2/3)",
    ),
    PublishedSchedule(
        name="spiderboost",
        requests=WANTED,
        schedule=partial(spiderboost_schedule, constant=4.0),
        attribution="step, q and S of wang2019 theorem 1; the 4 of T, where it prints O(.), is "
        "derived by pfbench",
    ),
    PublishedSchedule(
        name="prox-spiderboost",
        requests=WANTED,
        schedule=partial(spiderboost_schedule, constant=20.0),
        attribution="step, q and S of wang2019 theorem 2; the 20 of T, where it prints O(.), is "
        "derived by pfbench",
    ),
)
