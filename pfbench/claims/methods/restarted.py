"""Published schedules: restarted."""

import math
from dataclasses import replace

from pfbench.claims.methods.reference_schedules import SLIDING
from pfbench.verification.schedules import Printed, PublishedSchedule, ScheduleRequest


def cgs_schedule(request: ScheduleRequest) -> Printed:
    """Return N = 8 sqrt(L/sigma_hat) and log2(delta0/epsilon) restarts, at least 1."""
    c = request.constants
    return {
        "restarts": math.log2(c.delta / request.epsilon) if c.delta > 2.0 * request.epsilon else 1,
        "period": math.ceil(8.0 * math.sqrt(c.L_f / c.sigma_hat) - 1e-9),
        "smoothness": c.L_f,
        "curvature": c.sigma_hat,
        "delta": c.delta,
    }


def storc_schedule(request: ScheduleRequest) -> Printed:
    """Return the schedule of theorem 2, or with m = n^(2/3) the practical one.

    The theorem's m is 5200 N L_max/sigma_hat for convex f_i, else 8000 N L~/sigma_hat, where L~ =
    (L_max + ell)(1 + ell/sigma_hat). It is far above n.
    """
    c, printed = request.constants, cgs_schedule(request)
    N = float(printed["period"] or 0.0)
    if request.is_practical:
        m = c.n ** (2.0 / 3.0)
    elif c.ell == 0.0:
        m = 5200.0 * N * c.L_max / c.sigma_hat
    else:
        mixed = (c.L_max + c.ell) * (1.0 + c.ell / c.sigma_hat)
        m = 8000.0 * N * mixed / c.sigma_hat
    return {**printed, "batch": m}


CONVEX = tuple(
    replace(request, constants=replace(request.constants, ell=0.0)) for request in SLIDING
)

PRACTICAL = tuple(replace(request, is_practical=True) for request in SLIDING)

SCHEDULES = (
    PublishedSchedule(
        name="cgs",
        requests=SLIDING,
        schedule=cgs_schedule,
        attribution="li2019 theorem 1 with (10), L_f for its L",
    ),
    PublishedSchedule(
        name="storc",
        requests=(*SLIDING, *CONVEX, *PRACTICAL),
        schedule=storc_schedule,
        attribution="li2019 theorem 2 with (10) to (12); L_f in N and L_max in m for its one L, "
        "and the practical m = n^(2/3), are of pfbench",
    ),
)
