"""Published schedules: frank wolfe."""

from dataclasses import replace
from itertools import product

from pfbench.claims.methods.reference_schedules import CONSTANTS, SMALLEST
from pfbench.verification.schedules import Printed, PublishedSchedule, ScheduleRequest


def schedule(request: ScheduleRequest) -> Printed:
    """Return the least T with max(2 h0, C)/sqrt(T+1) <= epsilon (6); C = L_f D^2 by default.

    With backtracking, max(2 L_f, M_{-1}) replaces L_f, as no estimate exceeds it. With the short
    step, the parameter L replaces L_f.
    """
    c, parameters = request.constants, request.parameters
    if parameters.get("step") == "short":
        L = parameters.get("smoothness", c.L_f)
        T = (max(2.0 * c.delta, L * c.D**2) / request.epsilon) ** 2 - 1.0
        return {"iterations": max(1.0, T), "smoothness": L}
    backtracking = parameters.get("step") == "backtracking"
    L = max(2.0 * c.L_f, parameters.get("smoothness", 0.0)) if backtracking else c.L_f
    C = parameters.get("curvature", L * c.D**2)
    T = (max(2.0 * c.delta, C) / request.epsilon) ** 2 - 1.0
    return {"iterations": max(1.0, T), **({} if backtracking else {"curvature": C})}


WANTED = tuple(
    ScheduleRequest(epsilon, c, value)
    for epsilon, c in (
        *product((0.4, 0.03), (CONSTANTS[0], replace(CONSTANTS[0], delta=20.0))),
        (40.0, SMALLEST[0]),
    )
    for value in (
        {},
        {"step": "open-loop"},
        {"step": "adaptive", "curvature": 7.0},
        {"step": "short"},
        {"step": "short", "smoothness": 2.0},
        {"step": "backtracking"},
        {"step": "backtracking", "smoothness": 9.0},
    )
)

SCHEDULES = (
    PublishedSchedule(
        name="frank-wolfe",
        requests=WANTED,
        schedule=schedule,
        attribution="lacoste2016 (6) with C = L_f D^2; the C of backtracking, max(2 L_f, M_{-1}) "
        "D^2, is of pfbench",
    ),
)
