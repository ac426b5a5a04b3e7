"""Published schedules: loopless frank wolfe."""

import math
from functools import partial

from pfbench.base.constants import Constants
from pfbench.claims.methods import reference_schedules
from pfbench.claims.methods.reference_schedules import (
    CONSTANTS,
    WANTED,
    schedule_smoothness,
    smallest_horizon,
)
from pfbench.verification.schedules import Printed, PublishedSchedule, ScheduleRequest


def compute_balanced_schedule(request: ScheduleRequest, c: float) -> Printed:
    """Return T and gamma <= 1 with h0/(T gamma) + (1/2 + c) L D^2 gamma <= epsilon."""
    return reference_schedules.constant_step_schedule(
        request, schedule_smoothness(request), 0.5 + c
    )


def spider_schedule(request: ScheduleRequest) -> Printed:
    """Return the schedule with b = q = sqrt n; its errors are at most L gamma D."""
    root = math.sqrt(request.constants.n)
    return {"batch": root, "period": root, **compute_balanced_schedule(request, 1.0)}


def page_schedule(request: ScheduleRequest) -> Printed:
    """Return the schedule with b = sqrt n and p = b/(n + b)."""
    b, p = reference_schedules.page_sizes(request.constants.n)
    return {"batch": b, "refresh": p, **compute_balanced_schedule(request, 1.0)}


def lsvrg_schedule(request: ScheduleRequest) -> Printed:
    """Return the schedule with p = min(1, 2 n^(-1/3)) and b = n^(2/3)/2.

    c^2 follows from the mean square of the snapshot's age.
    """
    n = request.constants.n
    b, p = math.ceil(n ** (2.0 / 3.0) / 2.0 - 1e-9), min(1.0, 2.0 / n ** (1.0 / 3.0))
    age = (1.0 - p) * (2.0 - p) / p**2
    return {"batch": b, "refresh": p, **compute_balanced_schedule(request, math.sqrt(age / b))}


def zerosarah_schedule(request: ScheduleRequest) -> Printed:
    """Return the schedule with b = sqrt n, lambda = q/2, c^2 = 4/(ab), a = q - q^2/4."""
    n = request.constants.n
    b = math.ceil(math.sqrt(n) - 1e-9)
    q = 1.0 - (1.0 - 1.0 / n) ** b
    c = 2.0 / math.sqrt((q - q * q / 4.0) * b)
    return {"batch": b, "table_weight": q / 2.0, **compute_balanced_schedule(request, c)}


def storm_schedule(request: ScheduleRequest) -> Printed:
    """Return alpha = L gamma D/sigma and b0 = 1/alpha, with the least T that meets the bound."""
    epsilon, c = request.epsilon, request.constants
    L, sigma = max(c.L_f, c.L_ms), math.sqrt(c.sigma2)

    def gamma(T: float) -> float:
        cubic = math.cbrt(2.0 * c.delta**2 / (L * sigma * c.D**3 * T * T))
        return min(1.0, cubic, math.sqrt(2.0 * c.delta / (L * T)) / c.D)

    def bound(T: float) -> float:
        s = gamma(T) * c.D
        return c.delta * c.D / (T * s) + L * c.D * s / 2.0 + c.D * math.sqrt(2.0 * L * s * sigma)

    T = smallest_horizon(bound, epsilon)
    step = gamma(T)
    alpha = min(1.0, L * step * c.D / sigma)
    return {"iterations": T, "step": step, "batch": 1, "alpha": alpha, "snapshot": 1.0 / alpha}


def one_sfw_schedule(request: ScheduleRequest) -> Printed:
    """Return the least T that makes the bound below at most epsilon.

    The bound is (4/3) D sqrt(2 sigma^2 + 8 L^2 D^2)/sqrt T + 2 L D^2/(T+1).
    """
    c = request.constants
    L = max(c.L_f, c.L_ms)
    size = math.sqrt(32.0 * c.D**2 * (c.sigma2 + 4.0 * (L * c.D) ** 2) / 9.0)
    T = smallest_horizon(
        lambda T: size / math.sqrt(T) + 2.0 * L * c.D**2 / (T + 1.0), request.epsilon
    )
    return {"iterations": T}


def momentum_schedule(request: ScheduleRequest) -> Printed:
    """Return the least T that makes the bound below at most epsilon.

    The bound is (6/5) D (sigma + 2.06 L_f D) T^(-1/3) + 2 L_f D^2/(T+1).
    """
    c = request.constants
    size = 1.2 * c.D * (math.sqrt(c.sigma2) + 2.06 * c.L_f * c.D)
    T = smallest_horizon(
        lambda T: size / T ** (1 / 3) + 2.0 * c.L_f * c.D**2 / (T + 1.0), request.epsilon
    )
    return {"iterations": T}


def page_batch_probability_and_shift(c: Constants) -> tuple[int, float, int]:
    """Return b = sqrt n, p = b/(n + b) and s = 5/p."""
    b, p = reference_schedules.page_sizes(c.n)
    return b, p, math.ceil(5.0 / p - 1e-9)


def page_convex_bound(c: Constants, T: float) -> float:
    """Return ((s-1)(s-2) h0 + 4 C T)/((T+s-1)(T+s-2)), C = L D^2 (1/2 + sqrt((2-p)/(pb)))."""
    b, p, s = page_batch_probability_and_shift(c)
    C = max(c.L_f, c.L_ms) * c.D**2 * (0.5 + math.sqrt((2.0 / p - 1.0) / b))
    return (c.delta * (s - 1) * (s - 2) + 4.0 * C * T) / ((T + s - 1) * (T + s - 2))


def page_convex_schedule(request: ScheduleRequest) -> Printed:
    """Return b, p and s, with the least T for which `page_convex_bound` is at most epsilon."""
    b, p, s = page_batch_probability_and_shift(request.constants)
    T = smallest_horizon(partial(page_convex_bound, request.constants), request.epsilon)
    return {"iterations": T, "batch": b, "refresh": p, "delay": s}


def spider_convex_schedule(request: ScheduleRequest) -> Printed:
    """Return the least T with 10 L D^2/(T+1) <= epsilon."""
    c = request.constants
    size = 10.0 * max(c.L_f, c.L_ms) * c.D**2
    return {"iterations": smallest_horizon(lambda T: size / (T + 1.0), request.epsilon)}


DRAWN = tuple(
    ScheduleRequest(e, c, {"sampling": "importance"}) for e in (0.4, 0.03) for c in CONSTANTS
)
"""Requests in which components are drawn in proportion to their L_i."""

COARSE = tuple(request for request in WANTED if request.epsilon > 0.1)
"""Accuracies for which T, proportional to the cube of 1/epsilon, is an exact float."""

FINE = tuple(
    ScheduleRequest(e, c)
    for c in CONSTANTS
    for e in reference_schedules.accuracies_at_jumps(partial(page_convex_bound, c))
)
"""Accuracies for which a small error in a term of that bound gives another T."""

SCHEDULES = (
    PublishedSchedule(
        name="spider-fw",
        requests=(*WANTED, *DRAWN),
        schedule=spider_schedule,
        attribution="by a bound of pfbench; the rate is that of Yurtsever, Sra, Cevher 2019, "
        "whose constants were not read",
    ),
    PublishedSchedule(
        name="page-fw",
        requests=WANTED,
        schedule=page_schedule,
        attribution="by a bound of pfbench; the rate is that of Beznosikov, Dobre, Gidel 2024, "
        "whose constants were not read",
    ),
    PublishedSchedule(
        name="lsvrg-fw",
        requests=WANTED,
        schedule=lsvrg_schedule,
        attribution="by a bound derived here; published before by "
        "Nazykov et al. 2024, whose constants were not read",
    ),
    PublishedSchedule(
        name="zerosarah-fw",
        requests=WANTED,
        schedule=zerosarah_schedule,
        attribution="by a bound derived here; published before by "
        "Beznosikov, Dobre, Gidel 2024, whose constants were not read",
    ),
    PublishedSchedule(
        name="storm-fw",
        requests=COARSE,
        schedule=storm_schedule,
        attribution="by a bound derived here; published before by "
        "Zhang et al. 2020, whose constants were not read",
    ),
    PublishedSchedule(
        name="one-sfw",
        requests=COARSE,
        schedule=one_sfw_schedule,
        attribution="by a bound of pfbench; the rate is that of Zhang et al. 2020, whose "
        "constants were not read",
    ),
    PublishedSchedule(
        name="momentum-sfw",
        requests=COARSE,
        schedule=momentum_schedule,
        attribution="by a bound of pfbench; the rate is that of Mokhtari, Hassani, Karbasi 2020, "
        "whose constants were not read",
    ),
    PublishedSchedule(
        name="page-fw-convex",
        requests=(*COARSE, *FINE),
        schedule=page_convex_schedule,
        attribution="by a bound derived here; published before by "
        "Beznosikov, Dobre, Gidel 2024, whose constants were not read",
    ),
    PublishedSchedule(
        name="spider-fw-convex",
        requests=WANTED,
        schedule=spider_convex_schedule,
        attribution="by a bound of pfbench; the rate is that of Yurtsever, Sra, Cevher 2019, "
        "whose constants were not read",
    ),
)
