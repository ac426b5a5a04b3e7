"""Published schedules: sliding."""

import math
from dataclasses import replace
from functools import partial

from pfbench.base.constants import Constants
from pfbench.claims.methods.reference_schedules import (
    CONSTANTS,
    SLIDING,
    accuracies_at_jumps,
    schedule_smoothness,
    smallest_horizon,
)
from pfbench.verification.schedules import Printed, PublishedSchedule, ScheduleRequest


def ncgs_schedule(request: ScheduleRequest) -> Printed:
    """Return the N of theorem 1: for option 1 (12 L Delta + 16 L)/N <= epsilon.

    For option 2 `option2_bound` replaces the left side.
    """
    epsilon, c = request.epsilon, request.constants
    L = c.L_f
    if request.parameters.get("option", 1) == 1:
        return {"iterations": (12.0 * c.delta + 16.0) * L / epsilon, "smoothness": L}
    N = smallest_horizon(partial(option2_bound, c), epsilon)
    return {"iterations": N, "smoothness": L, "tolerance": None}


def option2_bound(c: Constants, N: float) -> float:
    """Return the bound of option 2: 192 L^2 D^2/(N^2 (N+1)) + (144 ell L M^2 + 96 L)/N."""
    L = c.L_f
    return 192.0 * (L * c.D) ** 2 / (N**2 * (N + 1.0)) + (144.0 * c.ell * c.M**2 + 96.0) * L / N


def stochastic_schedule(request: ScheduleRequest) -> Printed:
    """Return the N of theorem 2, in its provable form, with eta = 1/N and m_k = k."""
    N = smallest_horizon(partial(mapping_sq_bound_stochastic, request.constants), request.epsilon)
    L = schedule_smoothness(request)
    return {"iterations": N, "smoothness": L, "tolerance": None, "batch": None}


def mapping_sq_bound_stochastic(c: Constants, N: float) -> float:
    """Return the bound of theorem 2 on |G|^2, a sum of four terms.

    They stem from the set's size, the lower curvature, condg, and the noise.
    """
    L = max(c.L_f, c.L_ms)
    size = 384.0 * (L * c.D) ** 2 / (N * (N + 1.0) * (N + 2.0))
    lower = 192.0 * L * c.ell * c.M**2 / (N + 2.0)
    inner = 96.0 * L / (N * (N + 2.0)) + 36.0 * L / N
    noise = 48.0 * c.sigma2 * (N + 3.0) / ((N + 1.0) * (N + 2.0))
    return size + lower + inner + noise


def ncgs_vr_schedule(request: ScheduleRequest) -> Printed:
    """Return T = 18 L (Delta+1)/epsilon, rounded up to a multiple of m = n^(1/3).

    b = n^(2/3) and eta = 1/T.
    """
    c = request.constants
    L, m = max(c.L_f, c.L_ms), round(c.n ** (1.0 / 3.0))
    lower = 18.0 * L * (c.delta + 1.0) / request.epsilon
    return {
        "iterations": m * math.ceil(lower / m - 1e-9),
        "period": m,
        "batch": c.n ** (2.0 / 3.0),
        "smoothness": L,
        "tolerance": None,
    }


SECOND = tuple(
    replace(request, parameters={"option": 2})
    for request in (
        *SLIDING,
        *(
            ScheduleRequest(epsilon, c)
            for c in CONSTANTS
            for epsilon in accuracies_at_jumps(partial(option2_bound, c))
        ),
    )
)

NOISY = tuple(
    ScheduleRequest(epsilon, c)
    for c in CONSTANTS
    for epsilon in accuracies_at_jumps(partial(mapping_sq_bound_stochastic, c))
)

SCHEDULES = (
    PublishedSchedule(
        name="ncgs",
        requests=(*SLIDING, *SECOND),
        schedule=ncgs_schedule,
        attribution="qu2018 theorem 1, the least N with which its bound is at most epsilon; "
        "pfbench puts D for |theta_0 - theta*| and M for |theta*|",
    ),
    PublishedSchedule(
        name="ncgs-stochastic",
        requests=(*SLIDING, *NOISY),
        schedule=stochastic_schedule,
        attribution="the parameters of qu2018 theorem 2; N by a bound that pfbench derived, as "
        "the theorem leaves the constant of its noise open",
    ),
    PublishedSchedule(
        name="ncgs-vr",
        requests=SLIDING,
        schedule=ncgs_vr_schedule,
        attribution="qu2018 theorem 3, the least multiple of m as T",
    ),
)
