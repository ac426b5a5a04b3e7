"""Published schedules: accelerated."""

from functools import partial

from pfbench.base.constants import Constants
from pfbench.claims.methods.reference_schedules import (
    CONSTANTS,
    WANTED,
    accuracies_at_jumps,
    schedule_smoothness,
    smallest_horizon,
)
from pfbench.verification.schedules import Printed, PublishedSchedule, ScheduleRequest


def rsag_schedule(request: ScheduleRequest) -> Printed:
    """Return the deterministic schedule: 6 L h0/N <= epsilon, b = n, beta = 1/(2L)."""
    epsilon, c, L = request.epsilon, request.constants, schedule_smoothness(request)
    return {"iterations": 6.0 * L * c.delta / epsilon, "step": 0.5 / L, "batch": c.n}


def prox_rsag_schedule(request: ScheduleRequest) -> Printed:
    """Return the least N for which `compute_bounded_set_bound` is at most epsilon.

    b = n and beta = 1/(2L).
    """
    N = smallest_horizon(partial(compute_bounded_set_bound, request.constants), request.epsilon)
    return {
        "iterations": N,
        "step": 0.5 / schedule_smoothness(request),
        "batch": request.constants.n,
    }


def compute_bounded_set_bound(c: Constants, N: float) -> float:
    """Return the bound of qu2018 theorem 1 with exact proximal maps.

    It is 192 L^2 D^2/(N^2 (N+1)) + 144 ell L M^2/N.
    """
    L = max(c.L_f, c.L_ms)
    return 192.0 * (L * c.D) ** 2 / (N**2 * (N + 1.0)) + 144.0 * c.ell * L * c.M**2 / N


SCHEDULES = (
    PublishedSchedule(
        name="rsag",
        requests=WANTED,
        schedule=rsag_schedule,
        attribution="Ghadimi & Lan 2016, the deterministic case; b = n is of pfbench",
    ),
    PublishedSchedule(
        name="prox-rsag",
        requests=tuple(
            ScheduleRequest(epsilon, c)
            for c in CONSTANTS
            for epsilon in (4.0, 0.4, *accuracies_at_jumps(partial(compute_bounded_set_bound, c)))
        ),
        schedule=prox_rsag_schedule,
        attribution="the bound of qu2018 theorem 1, option II, with exact proximal maps, not of "
        "its own source; b = n, and D and M for its norms, are of pfbench",
    ),
)
