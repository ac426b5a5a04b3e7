"""Published parameter schedules of conditional gradient sliding, with and without restarts."""

import math
from dataclasses import replace
from functools import partial
from typing import Any

from pfbench.base.constants import Constants
from pfbench.claims.methods.reference_schedules import (
    SLIDING,
    requests_at_jumps,
    schedule_smoothness,
    smallest_horizon,
)
from pfbench.verification.schedules import Printed, PublishedSchedule, ScheduleRequest


def ncgs_schedule(request: ScheduleRequest) -> Printed:
    """Return the parameters of NCGS from theorem 1 of qu2018, for option 1 or option 2.

    For option 1, the number of iterations N satisfies (12 L Delta + 16 L)/N <= epsilon. For option
    2, `option2_bound` replaces the left side.
    """
    epsilon, c = request.epsilon, request.constants
    L = c.L_f
    if request.parameters.get("option", 1) == 1:
        return {"iterations": (12.0 * c.delta + 16.0) * L / epsilon, "smoothness": L}
    N = smallest_horizon(partial(option2_bound, c), epsilon)
    return {"iterations": N, "smoothness": L, "tolerance": None}


def option2_bound(c: Constants, N: float) -> float:
    """Return qu2018 theorem 1's bound of the squared gradient mapping after N steps, option 2.

    It is 192 L^2 D^2/(N^2 (N+1)) + (144 ell L M^2 + 96 L)/N.
    """
    L = c.L_f
    return 192.0 * (L * c.D) ** 2 / (N**2 * (N + 1.0)) + (144.0 * c.ell * c.M**2 + 96.0) * L / N


def stochastic_schedule(request: ScheduleRequest) -> Printed:
    """Return the parameters of stochastic NCGS from theorem 2 of qu2018, in its provable form.

    They include eta = 1/N and batches of m_k = k components.
    """
    N = smallest_horizon(partial(mapping_sq_bound_stochastic, request.constants), request.epsilon)
    L = schedule_smoothness(request)
    return {"iterations": N, "smoothness": L, "tolerance": None, "batch": None}


def mapping_sq_bound_stochastic(c: Constants, N: float) -> float:
    """Return qu2018 theorem 2's bound of the squared gradient mapping after N iterations.

    Its four terms stem from the set's size, the lower curvature, the inner loop and the noise.
    """
    L = max(c.L_f, c.L_ms)
    size = 384.0 * (L * c.D) ** 2 / (N * (N + 1.0) * (N + 2.0))
    lower = 192.0 * L * c.ell * c.M**2 / (N + 2.0)
    inner = 96.0 * L / (N * (N + 2.0)) + 36.0 * L / N
    noise = 48.0 * c.sigma2 * (N + 3.0) / ((N + 1.0) * (N + 2.0))
    return size + lower + inner + noise


def ncgs_vr_schedule(request: ScheduleRequest) -> Printed:
    """Return the parameters of NCGS-VR: period n^(1/3), batch n^(2/3), and T for epsilon.

    The tolerance is eta = 1/T.

    T is 18 L (Delta+1)/epsilon, rounded up to a multiple of m.
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
    for request in (*SLIDING, *requests_at_jumps(option2_bound))
)

NOISY = requests_at_jumps(mapping_sq_bound_stochastic)


def convex_bound(c: Any, N: float) -> float:
    """Return 15 L D^2/(2(N+1)(N+2)), the bound of f(y_N) - min f for gradient sliding, f convex."""
    return float(15.0 * c.L_f * c.D**2 / (2.0 * (N * N + 3.0 * N + 2.0)))


def convex_schedule(request: ScheduleRequest) -> Printed:
    """Return the parameters of gradient sliding for convex f: L_f, D and the smallest N."""
    c = request.constants
    N = smallest_horizon(partial(convex_bound, c), request.epsilon)
    return {"iterations": N, "smoothness": c.L_f, "diameter": c.D}


def ncgs_spider_schedule(request: ScheduleRequest) -> Printed:
    """Return the parameters of sliding with SPIDER: period T = sqrt n and batch b = 10 T.

    N = 32 L Delta/epsilon and eta = epsilon/(48L). If components are drawn in proportion to their
    L_i, L is the mean of the L_i, as in the source.
    """
    c, L = request.constants, schedule_smoothness(request)
    T = math.ceil(math.sqrt(c.n) - 1e-9)
    return {
        "iterations": max(1.0, 32.0 * L * c.delta / request.epsilon),
        "smoothness": L,
        "tolerance": request.epsilon / (48.0 * L),
        "period": T,
        "batch": 10 * T,
    }


BESIDE = requests_at_jumps(convex_bound)

BY_SMOOTHNESS: dict[str, Any] = {"sampling": "importance"}


def cgs_schedule(request: ScheduleRequest) -> Printed:
    """Return the parameters of CGS: 8 sqrt(L/sigma_hat) inner iterations, and the restarts.

    The number of restarts is log2(delta0/epsilon).

    There is at least one restart.
    """
    c = request.constants
    return {
        "restarts": math.log2(c.delta / request.epsilon) if c.delta > 2.0 * request.epsilon else 1,
        "period": math.ceil(8.0 * math.sqrt(c.L_f / c.sigma_hat) - 1e-9),
        "smoothness": c.L_f,
        "curvature": c.sigma_hat,
        "delta": c.delta,
    }


def storc_schedule(request: ScheduleRequest) -> Printed:
    """Return the parameters of STORC from li2019 theorem 2, or practical ones with batch n^(2/3).

    The theorem's batch size m is 5200 N L_max/sigma_hat for convex f_i. Otherwise it is 8000 N
    L~/sigma_hat, where L~ = (L_max + ell)(1 + ell/sigma_hat). Both are far above n.
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

SCHEDULES = {
    "ncgs": PublishedSchedule(
        ncgs_schedule,
        "qu2018 theorem 1, the least N with which its bound is at most epsilon; pfbench puts "
        "D for |theta_0 - theta*| and M for |theta*|",
        (*SLIDING, *SECOND),
    ),
    "ncgs-stochastic": PublishedSchedule(
        stochastic_schedule,
        "the parameters of qu2018 theorem 2; N by a bound that pfbench derived, as the "
        "theorem leaves the constant of its noise open",
        (*SLIDING, *NOISY),
    ),
    "ncgs-vr": PublishedSchedule(
        ncgs_vr_schedule, "qu2018 theorem 3, the least multiple of m as T", SLIDING
    ),
    "cgs-convex": PublishedSchedule(
        convex_schedule,
        "Lan, Zhou 2016 as Lan 2020, section 7.2, has it; the bound was derived again by pfbench",
        (*SLIDING, *BESIDE),
    ),
    "ncgs-spider": PublishedSchedule(
        ncgs_spider_schedule,
        "Lan 2020, corollary 7.13, as a formal development quotes it, with draws by the L_i; "
        "uniform ones, with L of the mean square, are of pfbench",
        (*SLIDING, *(replace(request, parameters=BY_SMOOTHNESS) for request in SLIDING[:6])),
    ),
    "cgs": PublishedSchedule(cgs_schedule, "li2019 theorem 1 with (10), L_f for its L", SLIDING),
    "storc": PublishedSchedule(
        storc_schedule,
        "li2019 theorem 2 with (10) to (12); L_f in N and L_max in m for its one L, and the "
        "practical m = n^(2/3), are of pfbench",
        (*SLIDING, *CONVEX, *PRACTICAL),
    ),
}
