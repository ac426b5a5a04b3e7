"""Published schedules: restarted."""

import math
from dataclasses import replace

from pfbench.claims.methods.schedules import SLIDING
from pfbench.verification.schedules import Printed, PublishedSchedule, ScheduleRequest


def of_cgs(asked: ScheduleRequest) -> Printed:
    """Return N = 8 sqrt(L/sigma_hat), log2(delta0/epsilon) restarts, at least 1."""
    c = asked.constants
    return {
        "restarts": math.log2(c.delta / asked.epsilon) if c.delta > 2.0 * asked.epsilon else 1,
        "period": math.ceil(8.0 * math.sqrt(c.L_f / c.sigma_hat) - 1e-9),
        "smoothness": c.L_f,
        "curvature": c.sigma_hat,
        "delta": c.delta,
    }


def of_storc(asked: ScheduleRequest) -> Printed:
    """Return theorem 2's m: 5200 N L_max/sigma_hat where f_i are convex, else 8000 N L~/sigma_hat.

    L~ = (L_max + ell)(1 + ell/sigma_hat). In practice m = n^(2/3), as the theorem's is far above n.
    """
    c, printed = asked.constants, of_cgs(asked)
    N = float(printed["period"] or 0.0)
    if asked.is_practical:
        m = c.n ** (2.0 / 3.0)
    elif c.ell == 0.0:
        m = 5200.0 * N * c.L_max / c.sigma_hat
    else:
        mixed = (c.L_max + c.ell) * (1.0 + c.ell / c.sigma_hat)
        m = 8000.0 * N * mixed / c.sigma_hat
    return {**printed, "batch": m}


CONVEX = tuple(replace(one, constants=replace(one.constants, ell=0.0)) for one in SLIDING)

PRACTICAL = tuple(replace(one, is_practical=True) for one in SLIDING)

SCHEDULES = (
    PublishedSchedule(
        name="cgs",
        requests=SLIDING,
        schedule=of_cgs,
        attribution="li2019 theorem 1 with (10), L_f for its L",
    ),
    PublishedSchedule(
        name="storc",
        requests=(*SLIDING, *CONVEX, *PRACTICAL),
        schedule=of_storc,
        attribution="li2019 theorem 2 with (10) to (12); L_f in N and L_max in m for its one L, "
        "and the practical m = n^(2/3), are of pfbench",
    ),
)
