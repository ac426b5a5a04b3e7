"""Formulas that the schedules of several methods share, and requests with which to compare them."""

import math
from collections.abc import Callable
from typing import Any

import scipy

from pfbench.base.constants import Constants
from pfbench.verification.schedules import SMALLEST, USUAL, WANTED, Printed, ScheduleRequest

SLIDING = (
    *(ScheduleRequest(epsilon, c) for epsilon in (2.0, 0.4) for c in USUAL),
    *(ScheduleRequest(1000.0, c) for c in SMALLEST),
)
"""Requests for which the schedules of sliding methods are compared."""


def add_parameters_to_requests(**parameters: Any) -> tuple[ScheduleRequest, ...]:
    """Return the schedule requests of `WANTED`, each with the given additional parameters."""
    return tuple(
        ScheduleRequest(request.epsilon, request.constants, parameters) for request in WANTED
    )


def smoothness_L(c: Constants) -> float:
    """Return max(L_f, L_ms), the smoothness constant L in most schedules."""
    return max(c.L_f, c.L_ms)


def round_up(number: float) -> int:
    """Return a number rounded up to an integer, where an excess of at most 1e-9 is ignored."""
    return math.ceil(number - 1e-9)


def constant_step_schedule(
    epsilon: float, c: Constants, L: float, error_constant: float
) -> Printed:
    """Return the iterations T and the step gamma for which the mean-gap bound is <= epsilon.

    The bound is h0/(T gamma) + error_constant L D^2 gamma, where gamma <= 1.
    """
    curvature = error_constant * L * c.D**2
    enough = max(1.0, 4.0 * curvature * c.delta / epsilon**2, c.delta / curvature)
    T = math.ceil(enough * (1.0 - 1e-12))
    return {"iterations": T, "step": min(1.0, math.sqrt(c.delta / (T * curvature)))}


def page_sizes(n: int) -> tuple[int, float]:
    """Return PAGE's batch b = sqrt n and probability p = b/(n + b) of a full gradient.

    The choice is that of Li, Bao, Zhang, Richtarik 2021.
    """
    b = round_up(math.sqrt(n))
    return b, b / (n + b)


def loopless_probability(n: int) -> float:
    """Return the probability min(1, 2 n^(-1/3)) of a new snapshot in loopless SVRG."""
    return float(min(1.0, 2.0 / n ** (1.0 / 3.0)))


def zerosarah_sizes(n: int) -> tuple[int, float]:
    """Return ZeroSARAH's batch b = sqrt n, and the chance q that a step replaces a given entry."""
    b = round_up(math.sqrt(n))
    return b, 1.0 - (1.0 - 1.0 / n) ** b


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
    """Return schedule requests at accuracies just above and below each jump of the horizon N.

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
