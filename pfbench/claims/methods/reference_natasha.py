"""Published schedules: natasha."""

import numpy as np

from pfbench.claims.methods.reference_schedules import WANTED
from pfbench.verification.schedules import Printed, PublishedSchedule, ScheduleRequest


def schedule(request: ScheduleRequest) -> Printed:
    """Return B = min(n, V/epsilon^2), p = (sigma^2 B/L^2)^(1/3), alpha = sigma/(p^2 L^2), T.

    The source states orders; the constants here are 1, and T = L^(2/3) sigma^(1/3) h0 B^(2/3)/
    epsilon^2. sigma is the lower curvature, between epsilon L and L.
    """
    epsilon, c = request.epsilon, request.constants
    L = c.L_max
    sigma = request.parameters.get("sigma") or min(L, max(c.ell, epsilon * L))
    B = min(c.n, max(1, round(np.ceil(c.sigma2 / epsilon**2 - 1e-9))))
    p = max(1, int((sigma**2 * B / L**2) ** (1.0 / 3.0) + 1e-9))
    return {
        "snapshot": B,
        "subepochs": min(p, B),
        "sigma": sigma,
        "step": sigma / (p * L) ** 2,
        "iterations": L ** (2 / 3) * sigma ** (1 / 3) * c.delta * B ** (2 / 3) / epsilon**2,
    }


SIGMA = tuple(
    ScheduleRequest(request.epsilon, request.constants, {"sigma": 2.5}) for request in WANTED
)

SCHEDULES = (
    PublishedSchedule(
        name="natasha15",
        requests=(*WANTED, *SIGMA),
        schedule=schedule,
        attribution="the orders of Allen-Zhu 2018, which prints no constants; pfbench takes 1 for "
        "each, and for T the count of proximal maps",
    ),
)
