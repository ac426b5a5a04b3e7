"""Published schedules: loopless."""

import math

from pfbench.claims.methods.reference_schedules import WANTED, page_sizes, schedule_smoothness
from pfbench.verification.schedules import Printed, PublishedSchedule, ScheduleRequest


def compute_sharp_schedule(request: ScheduleRequest, c2: float) -> Printed:
    """Return eta with (eta L)^2 c^2 + eta L = 1, and T = 2 h0/(eta epsilon^2).

    `c2` is c^2.
    """
    L = schedule_smoothness(request)
    eta = 1.0 / L if c2 == 0.0 else (math.sqrt(1.0 + 4.0 * c2) - 1.0) / (2.0 * c2 * L)
    return {"step": eta, "iterations": 2.0 * request.constants.delta / (eta * request.epsilon**2)}


def page_schedule(request: ScheduleRequest) -> Printed:
    """Return the schedule with b = sqrt n and p = b/(n + b).

    The summed error has the constant (1-p)/(pb) = n/b^2.
    """
    b, p = page_sizes(request.constants.n)
    return {"batch": b, "refresh": p, **compute_sharp_schedule(request, request.constants.n / b**2)}


def prox_page_schedule(request: ScheduleRequest) -> Printed:
    """Return the schedule with 16 L h0/T <= epsilon^2, eta = 1/(4L), and the b and p of PAGE."""
    c, L, (b, p) = request.constants, schedule_smoothness(request), page_sizes(request.constants.n)
    T = 16.0 * L * c.delta / request.epsilon**2
    return {"batch": b, "refresh": p, "iterations": T, "step": 0.25 / L}


def lsvrg_schedule(request: ScheduleRequest) -> Printed:
    """Return the schedule with p = min(1, 2 n^(-1/3)) and b = n^(2/3)."""
    n = request.constants.n
    b, p = math.ceil(n ** (2.0 / 3.0) - 1e-9), min(1.0, 2.0 / n ** (1.0 / 3.0))
    c2 = 2.0 * (1.0 - p) * (2.0 - p) / (p * p * b)
    return {"batch": b, "refresh": p, **compute_sharp_schedule(request, c2)}


def zerosarah_schedule(request: ScheduleRequest) -> Printed:
    """Return the schedule with b = sqrt n and lambda = q/2.

    q is the probability that a step replaces a given table entry.
    """
    n = request.constants.n
    b = math.ceil(math.sqrt(n) - 1e-9)
    q = 1.0 - (1.0 - 1.0 / n) ** b
    # With lambda = q/2: a = q - q^2/4, and 2 lambda^2 (1-q)(2-q)/q^2 = (1-q)(2-q)/2.
    c2 = (2.0 + (1.0 - q) * (2.0 - q)) / (b * (q - q * q / 4.0))
    return {"batch": b, "table_weight": q / 2.0, **compute_sharp_schedule(request, c2)}


SCHEDULES = (
    PublishedSchedule(
        name="page",
        requests=WANTED,
        schedule=page_schedule,
        attribution="b and p of Li et al. 2021; step and T by a bound of pfbench",
    ),
    PublishedSchedule(
        name="prox-page",
        requests=WANTED,
        schedule=prox_page_schedule,
        attribution="b and p of Li et al. 2021; step and T by a bound of pfbench",
    ),
    PublishedSchedule(
        name="lsvrg",
        requests=WANTED,
        schedule=lsvrg_schedule,
        attribution="pfbench's, for non-convex f; the source, Kovalev et al. 2020, is convex",
    ),
    PublishedSchedule(
        name="zerosarah",
        requests=WANTED,
        schedule=zerosarah_schedule,
        attribution="pfbench's, for the method of Li, Hanzely, Richtarik 2021",
    ),
)
