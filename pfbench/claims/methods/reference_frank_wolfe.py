"""Published parameter schedules of Frank-Wolfe and of its stochastic variants."""

import math
from dataclasses import replace
from functools import partial
from itertools import product

from pfbench.base.constants import Constants
from pfbench.claims.methods.reference_schedules import (
    constant_step_schedule,
    page_sizes,
    requests_at_jumps,
    schedule_smoothness,
    smallest_horizon,
)
from pfbench.verification.schedule_homogeneity import USUAL
from pfbench.verification.schedules import (
    SMALLEST,
    WANTED,
    Printed,
    PublishedSchedule,
    ScheduleRequest,
)


def frank_wolfe_schedule(request: ScheduleRequest) -> Printed:
    """Return the parameters of Frank-Wolfe: T iterations with max(2 h0, C)/sqrt(T+1) <= epsilon.

    The source is (6) of Lacoste-Julien 2016, where C = L_f D^2 by default. With backtracking, max(2
    L_f, M_{-1}) replaces L_f, as no estimate exceeds it. With the short step, the parameter L
    replaces L_f.
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


SEARCHES = tuple(
    ScheduleRequest(epsilon, c, value)
    for epsilon, c in (
        *product((0.4, 0.03), (USUAL[0], replace(USUAL[0], delta=20.0))),
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


def heavy_ball_fw_schedule(request: ScheduleRequest) -> Printed:
    """Return T with 2 L_f D^2/(T+1) <= epsilon for heavy-ball Frank-Wolfe."""
    c = request.constants
    return {"iterations": max(1.0, 2.0 * c.L_f * c.D**2 / request.epsilon - 1.0)}


def optimistic_fw_schedule(request: ScheduleRequest) -> Printed:
    """Return T with 4 L_f D^2/(T+1) <= epsilon for optimistic Frank-Wolfe."""
    c = request.constants
    return {"iterations": max(1.0, 4.0 * c.L_f * c.D**2 / request.epsilon - 1.0)}


def local_lmo_schedule(request: ScheduleRequest) -> Printed:
    """Return R = D and T with 2 L_f R^2/(T+2) <= epsilon for local linear minimisations."""
    c = request.constants
    R = request.parameters.get("diameter", c.D)
    return {"iterations": max(1.0, 2.0 * c.L_f * R**2 / request.epsilon - 2.0), "diameter": R}


def sfw_schedule(request: ScheduleRequest) -> Printed:
    """Return the parameters of SFW: batch b = T and step sqrt(2 h0/(T L D^2)), at most 1.

    The mean gap is at most (sqrt(2 h0 L D^2) + D sigma)/sqrt T <= epsilon.
    """
    epsilon, c = request.epsilon, request.constants
    L = max(c.L_f, c.L_ms)
    curvature = L * c.D**2
    accurate = (math.sqrt(2.0 * c.delta * curvature) + c.D * math.sqrt(c.sigma2)) ** 2 / epsilon**2
    T = math.ceil(max(1.0, accurate, 2.0 * c.delta / curvature) - 1e-9)
    step = min(1.0, math.sqrt(2.0 * c.delta / (T * curvature)))
    return {"iterations": T, "batch": T, "step": step}


def svfw_schedule(request: ScheduleRequest) -> Printed:
    """Return the parameters of SVFW: period m = n^(1/3), rounded up, and batch b = m^2.

    The gradient errors are at most L gamma D.
    """
    m = math.ceil(request.constants.n ** (1.0 / 3.0) - 1e-9)
    return {
        **constant_step_schedule(request, schedule_smoothness(request), 1.5),
        "period": m,
        "batch": m * m,
    }


def sagafw_schedule(request: ScheduleRequest) -> Printed:
    """Return the parameters of SAGAFW: batch b = n^(2/3), or n^(1/3) with option=claimed.

    The gradient error is at most sqrt 2 L gamma D n/b^(3/2).
    """
    c, claimed = request.constants, request.parameters.get("option") == "claimed"
    b = math.ceil(c.n ** ((1.0 if claimed else 2.0) / 3.0) - 1e-9)
    error = 1.5 if claimed else 0.5 + math.sqrt(2.0) * c.n * b**-1.5
    return {**constant_step_schedule(request, c.L_max, error), "batch": b}


CLAIMED = tuple(
    ScheduleRequest(request.epsilon, request.constants, {"option": "claimed"}) for request in WANTED
)


def compute_balanced_schedule(request: ScheduleRequest, c: float) -> Printed:
    """Return T and the step gamma with h0/(T gamma) + (1/2 + c) L D^2 gamma <= epsilon.

    The step is at most 1.
    """
    return constant_step_schedule(request, schedule_smoothness(request), 0.5 + c)


def spider_fw_schedule(request: ScheduleRequest) -> Printed:
    """Return the parameters of SPIDER-FW: batch and period sqrt n.

    The gradient errors are at most L gamma D.
    """
    root = math.sqrt(request.constants.n)
    return {"batch": root, "period": root, **compute_balanced_schedule(request, 1.0)}


def page_fw_schedule(request: ScheduleRequest) -> Printed:
    """Return the parameters of PAGE-FW: batch b = sqrt n and probability p = b/(n + b)."""
    b, p = page_sizes(request.constants.n)
    return {"batch": b, "refresh": p, **compute_balanced_schedule(request, 1.0)}


def lsvrg_fw_schedule(request: ScheduleRequest) -> Printed:
    """Return the parameters of L-SVRG-FW: probability min(1, 2 n^(-1/3)), batch n^(2/3)/2.

    The constant of the gradient errors follows from the mean square of the snapshot's age.
    """
    n = request.constants.n
    b, p = math.ceil(n ** (2.0 / 3.0) / 2.0 - 1e-9), min(1.0, 2.0 / n ** (1.0 / 3.0))
    age = (1.0 - p) * (2.0 - p) / p**2
    return {"batch": b, "refresh": p, **compute_balanced_schedule(request, math.sqrt(age / b))}


def zerosarah_fw_schedule(request: ScheduleRequest) -> Printed:
    """Return the parameters of ZeroSARAH-FW: batch sqrt n, weight q/2; entries change w.p. q.

    The gradient errors have the constant c^2 = 4/(ab) with a = q - q^2/4, where q = 1 - (1 -
    1/n)^b.
    """
    n = request.constants.n
    b = math.ceil(math.sqrt(n) - 1e-9)
    q = 1.0 - (1.0 - 1.0 / n) ** b
    c = 2.0 / math.sqrt((q - q * q / 4.0) * b)
    return {"batch": b, "table_weight": q / 2.0, **compute_balanced_schedule(request, c)}


def storm_fw_schedule(request: ScheduleRequest) -> Printed:
    """Return the parameters of STORM-FW: weight alpha = L gamma D/sigma, first batch 1/alpha.

    T is the smallest number of iterations for which the bound is at most epsilon.
    """
    epsilon, c = request.epsilon, request.constants
    L, sigma = max(c.L_f, c.L_ms), math.sqrt(c.sigma2)

    def gamma(T: float) -> float:
        cubic = math.cbrt(2.0 * c.delta**2 / (L * sigma * c.D**3 * T * T))
        return min(1.0, cubic, math.sqrt(2.0 * c.delta / (L * T)) / c.D)

    def bound(T: float) -> float:
        s = gamma(T) * c.D
        return c.delta * c.D / (T * s) + L * c.D * s / 2.0 + c.D * math.sqrt(2.0 * L * s * sigma)

    T = smallest_horizon(bound, epsilon)
    step = gamma(T)
    alpha = min(1.0, L * step * c.D / sigma)
    return {"iterations": T, "step": step, "batch": 1, "alpha": alpha, "snapshot": 1.0 / alpha}


def one_sfw_schedule(request: ScheduleRequest) -> Printed:
    """Return the smallest number T of iterations of 1-SFW whose bound is at most epsilon.

    The bound is (4/3) D sqrt(2 sigma^2 + 8 L^2 D^2)/sqrt T + 2 L D^2/(T+1).
    """
    c = request.constants
    L = max(c.L_f, c.L_ms)
    size = math.sqrt(32.0 * c.D**2 * (c.sigma2 + 4.0 * (L * c.D) ** 2) / 9.0)
    T = smallest_horizon(
        lambda T: size / math.sqrt(T) + 2.0 * L * c.D**2 / (T + 1.0), request.epsilon
    )
    return {"iterations": T}


def momentum_sfw_schedule(request: ScheduleRequest) -> Printed:
    """Return the smallest number T of iterations of momentum SFW with bound at most epsilon.

    The bound is (6/5) D (sigma + 2.06 L_f D) T^(-1/3) + 2 L_f D^2/(T+1).
    """
    c = request.constants
    size = 1.2 * c.D * (math.sqrt(c.sigma2) + 2.06 * c.L_f * c.D)
    T = smallest_horizon(
        lambda T: size / T ** (1 / 3) + 2.0 * c.L_f * c.D**2 / (T + 1.0), request.epsilon
    )
    return {"iterations": T}


def page_batch_probability_and_shift(c: Constants) -> tuple[int, float, int]:
    """Return PAGE-FW's batch b = sqrt n, chance p = b/(n + b), and s = 5/p of its steps 2/(t+s)."""
    b, p = page_sizes(c.n)
    return b, p, math.ceil(5.0 / p - 1e-9)


def page_convex_bound(c: Constants, T: float) -> float:
    """Return the bound on f(x_T) - min f of PAGE-FW for convex f.

    It is ((s-1)(s-2) h0 + 4 C T)/((T+s-1)(T+s-2)). Here C = L D^2 (1/2 + sqrt((2-p)/(pb))).
    """
    b, p, s = page_batch_probability_and_shift(c)
    C = max(c.L_f, c.L_ms) * c.D**2 * (0.5 + math.sqrt((2.0 / p - 1.0) / b))
    return (c.delta * (s - 1) * (s - 2) + 4.0 * C * T) / ((T + s - 1) * (T + s - 2))


def page_convex_schedule(request: ScheduleRequest) -> Printed:
    """Return PAGE-FW's batch, chance and step offset, and the smallest T with bound <= epsilon."""
    b, p, s = page_batch_probability_and_shift(request.constants)
    T = smallest_horizon(partial(page_convex_bound, request.constants), request.epsilon)
    return {"iterations": T, "batch": b, "refresh": p, "delay": s}


def spider_convex_schedule(request: ScheduleRequest) -> Printed:
    """Return SPIDER-FW's smallest number T of iterations with 10 L D^2/(T+1) <= epsilon."""
    c = request.constants
    size = 10.0 * max(c.L_f, c.L_ms) * c.D**2
    return {"iterations": smallest_horizon(lambda T: size / (T + 1.0), request.epsilon)}


DRAWN = tuple(ScheduleRequest(e, c, {"sampling": "importance"}) for e in (0.4, 0.03) for c in USUAL)
"""Requests in which components are drawn in proportion to their L_i."""

COARSE = tuple(request for request in WANTED if request.epsilon > 0.1)
"""Accuracies for which T, proportional to the cube of 1/epsilon, is an exact float."""

FINE = requests_at_jumps(page_convex_bound)
"""Accuracies for which a small error in a term of that bound gives another T."""

SCHEDULES = {
    "frank-wolfe": PublishedSchedule(
        frank_wolfe_schedule,
        "lacoste2016 (6) with C = L_f D^2; the C of backtracking, max(2 L_f, M_{-1}) D^2, is "
        "of pfbench",
        SEARCHES,
    ),
    "heavy-ball-fw": PublishedSchedule(
        heavy_ball_fw_schedule, "Martinez-Rubio, Pokutta 2025, heavy ball, in a summary"
    ),
    "optimistic-fw": PublishedSchedule(
        optimistic_fw_schedule, "Martinez-Rubio, Pokutta 2025, optimistic, in a summary"
    ),
    "local-lmo": PublishedSchedule(
        local_lmo_schedule, "radii and bound by pfbench, for the iteration of Richtarik et al. 2026"
    ),
    "sfw": PublishedSchedule(
        sfw_schedule,
        "b = T of Reddi et al. 2016 (Allerton); T and gamma by a bound of pfbench with sigma^2",
    ),
    "svfw": PublishedSchedule(
        svfw_schedule, "m and b of Reddi et al. 2016 (Allerton); T and gamma by a bound of pfbench"
    ),
    "sagafw": PublishedSchedule(
        sagafw_schedule,
        "repaired by pfbench: b, T and gamma by a bound of its own; option=claimed has the b "
        "of Reddi et al. 2016 (Allerton), which is disputed, with the T and gamma of svfw",
        (*WANTED, *CLAIMED),
    ),
    "spider-fw": PublishedSchedule(
        spider_fw_schedule,
        "by a bound of pfbench; the rate is that of Yurtsever, Sra, Cevher 2019, whose "
        "constants were not read",
        (*WANTED, *DRAWN),
    ),
    "page-fw": PublishedSchedule(
        page_fw_schedule,
        "by a bound of pfbench; the rate is that of Beznosikov, Dobre, Gidel 2024, whose "
        "constants were not read",
    ),
    "lsvrg-fw": PublishedSchedule(
        lsvrg_fw_schedule,
        "by a bound derived here; published before by Nazykov et al. 2024, whose constants "
        "were not read",
    ),
    "zerosarah-fw": PublishedSchedule(
        zerosarah_fw_schedule,
        "by a bound derived here; published before by Beznosikov, Dobre, Gidel 2024, whose "
        "constants were not read",
    ),
    "storm-fw": PublishedSchedule(
        storm_fw_schedule,
        "by a bound derived here; published before by Zhang et al. 2020, whose constants were "
        "not read",
        COARSE,
    ),
    "one-sfw": PublishedSchedule(
        one_sfw_schedule,
        "by a bound of pfbench; the rate is that of Zhang et al. 2020, whose constants were "
        "not read",
        COARSE,
    ),
    "momentum-sfw": PublishedSchedule(
        momentum_sfw_schedule,
        "by a bound of pfbench; the rate is that of Mokhtari, Hassani, Karbasi 2020, whose "
        "constants were not read",
        COARSE,
    ),
    "page-fw-convex": PublishedSchedule(
        page_convex_schedule,
        "by a bound derived here; published before by Beznosikov, Dobre, Gidel 2024, whose "
        "constants were not read",
        (*COARSE, *FINE),
    ),
    "spider-fw-convex": PublishedSchedule(
        spider_convex_schedule,
        "by a bound of pfbench; the rate is that of Yurtsever, Sra, Cevher 2019, whose "
        "constants were not read",
    ),
}
