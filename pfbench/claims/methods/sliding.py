"""Published schedules: sliding."""

import math
from dataclasses import replace
from functools import partial

from pfbench.base.constants import Constants
from pfbench.claims.methods.schedules import CONSTANTS, SLIDING, beside, least, smoothness
from pfbench.verification.schedules import Printed, PublishedSchedule, ScheduleRequest


def of_ncgs(asked: ScheduleRequest) -> Printed:
    """Return the N of theorem 1: option 1 (12 L Delta + 16 L)/N <= epsilon, else `second_bound`."""
    epsilon, c = asked.epsilon, asked.constants
    L = c.L_f
    if asked.parameters.get("option", 1) == 1:
        return {"iterations": (12.0 * c.delta + 16.0) * L / epsilon, "smoothness": L}
    N = least(partial(second_bound, c), epsilon)
    return {"iterations": N, "smoothness": L, "tolerance": None}


def second_bound(c: Constants, N: float) -> float:
    """Return that of option 2: 192 L^2 D^2/(N^2 (N+1)) + (144 ell L M^2 + 96 L)/N."""
    L = c.L_f
    return 192.0 * (L * c.D) ** 2 / (N**2 * (N + 1.0)) + (144.0 * c.ell * c.M**2 + 96.0) * L / N


def of_stochastic(asked: ScheduleRequest) -> Printed:
    """Return the N of theorem 2, in its provable form, with eta = 1/N and m_k = k."""
    N = least(partial(stochastic_bound, asked.constants), asked.epsilon)
    L = smoothness(asked)
    return {"iterations": N, "smoothness": L, "tolerance": None, "batch": None}


def stochastic_bound(c: Constants, N: float) -> float:
    """Return the bound of theorem 2: the set's size, lower curvature, condg, and noise."""
    L = max(c.L_f, c.L_ms)
    size = 384.0 * (L * c.D) ** 2 / (N * (N + 1.0) * (N + 2.0))
    lower = 192.0 * L * c.ell * c.M**2 / (N + 2.0)
    inner = 96.0 * L / (N * (N + 2.0)) + 36.0 * L / N
    noise = 48.0 * c.sigma2 * (N + 3.0) / ((N + 1.0) * (N + 2.0))
    return size + lower + inner + noise


def of_ncgs_vr(asked: ScheduleRequest) -> Printed:
    """Return T = 18 L (Delta+1)/epsilon, a multiple of m = n^(1/3), b = n^(2/3), eta = 1/T."""
    c = asked.constants
    L, m = max(c.L_f, c.L_ms), round(c.n ** (1.0 / 3.0))
    least = 18.0 * L * (c.delta + 1.0) / asked.epsilon
    return {
        "iterations": m * math.ceil(least / m - 1e-9),
        "period": m,
        "batch": c.n ** (2.0 / 3.0),
        "smoothness": L,
        "tolerance": None,
    }


SECOND = tuple(
    replace(one, parameters={"option": 2})
    for one in (
        *SLIDING,
        *(
            ScheduleRequest(epsilon, c)
            for c in CONSTANTS
            for epsilon in beside(partial(second_bound, c))
        ),
    )
)

NOISY = tuple(
    ScheduleRequest(epsilon, c)
    for c in CONSTANTS
    for epsilon in beside(partial(stochastic_bound, c))
)

SCHEDULES = (
    PublishedSchedule(
        name="ncgs",
        requests=(*SLIDING, *SECOND),
        schedule=of_ncgs,
        attribution="qu2018 theorem 1, the least N with which its bound is at most epsilon; "
        "pfbench puts D for |theta_0 - theta*| and M for |theta*|",
    ),
    PublishedSchedule(
        name="ncgs-stochastic",
        requests=(*SLIDING, *NOISY),
        schedule=of_stochastic,
        attribution="the parameters of qu2018 theorem 2; N by a bound that pfbench derived, as "
        "the theorem leaves the constant of its noise open",
    ),
    PublishedSchedule(
        name="ncgs-vr",
        requests=SLIDING,
        schedule=of_ncgs_vr,
        attribution="qu2018 theorem 3, the least multiple of m as T",
    ),
)
