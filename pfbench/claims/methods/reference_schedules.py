"""Formulas that the schedules of several methods share, and requests with which to compare them."""

import math
from collections.abc import Callable

import scipy

from pfbench.base.constants import Constants
from pfbench.verification.schedule_homogeneity import USUAL
from pfbench.verification.schedules import SMALLEST, Printed, ScheduleRequest

SLIDING = (
    *(ScheduleRequest(epsilon, c) for epsilon in (2.0, 0.4) for c in USUAL),
    *(ScheduleRequest(1000.0, c) for c in SMALLEST),
)
"""Requests for which the schedules of sliding methods are compared."""


def schedule_smoothness(request: ScheduleRequest) -> float:
    """Return the smoothness L of a schedule: max(L_f, L_ms), or L_mean for importance sampling."""
    c = request.constants
    return c.L_mean if request.parameters.get("sampling") == "importance" else max(c.L_f, c.L_ms)


def constant_step_schedule(request: ScheduleRequest, L: float, error_constant: float) -> Printed:
    """Return T and gamma <= 1 with h0/(T gamma) + error_constant L D^2 gamma <= epsilon."""
    c, curvature = request.constants, error_constant * L * request.constants.D**2
    enough = max(1.0, 4.0 * curvature * c.delta / request.epsilon**2, c.delta / curvature)
    T = math.ceil(enough * (1.0 - 1e-12))
    return {"iterations": T, "step": min(1.0, math.sqrt(c.delta / (T * curvature)))}


def spiderboost_schedule(request: ScheduleRequest, *, constant: float) -> Printed:
    """Return the parameters of (Prox-)SpiderBoost: sqrt n as period and batch, step 1/(2L), and T.

    T is such that E|G|^2 <= constant L Delta/T = epsilon^2.
    """
    epsilon, c = request.epsilon, request.constants
    L, root = max(c.L_f, c.L_ms), math.sqrt(c.n)
    return {
        "iterations": constant * L * c.delta / epsilon**2,
        "step": 0.5 / L,
        "batch": root,
        "period": root,
    }


def page_sizes(n: int) -> tuple[int, float]:
    """Return PAGE's batch b = sqrt n and probability p = b/(n + b) of a full gradient.

    The choice is that of Li, Bao, Zhang, Richtarik 2021.
    """
    b = math.ceil(math.sqrt(n) - 1e-9)
    return b, b / (n + b)


def smallest_horizon(bound: Callable[[float], float], epsilon: float) -> int:
    """Return the smallest integer N >= 1 with bound(N) <= epsilon, for a decreasing bound."""
    if bound(1.0) <= epsilon:
        return 1
    N = int(scipy.optimize.brentq(lambda N: bound(N) - epsilon, 1.0, 1e12))
    while bound(N) > epsilon:
        N += 1
    return N


def requests_at_jumps(
    bound: Callable[[Constants, float], float], *accuracies: float
) -> tuple[ScheduleRequest, ...]:
    """Return requests for accuracies just above and below those at which the smallest N changes.

    N is the smallest integer for which the bound is at most the accuracy. If a term of the bound is
    wrong by a thousandth of the bound, one of these requests gives another N. For each set of
    constants, the passed accuracies come first.
    """
    sides = [(N, side) for N in (2.0, 3.0, 40.0) for side in (0.999, 1.001)]
    return tuple(
        ScheduleRequest(epsilon, c)
        for c in USUAL
        for epsilon in (*accuracies, *(side * bound(c, N) for N, side in sides))
    )
