"""Published parameter schedules of proximal and gradient methods."""

import math
from functools import partial

import numpy as np

from pfbench.base.constants import Constants
from pfbench.claims.methods.reference_schedules import (
    page_sizes,
    requests_at_jumps,
    schedule_smoothness,
    smallest_horizon,
    spiderboost_schedule,
)
from pfbench.verification.schedules import WANTED, Printed, PublishedSchedule, ScheduleRequest


def gradient_descent_schedule(request: ScheduleRequest) -> Printed:
    """Return the step 1/L_f of gradient descent, and T with sqrt(2 L_f h0/(T+1)) = epsilon."""
    epsilon, c = request.epsilon, request.constants
    return {"iterations": 2.0 * c.L_f * c.delta / epsilon**2 - 1.0, "step": 1.0 / c.L_f}


def rspg_schedule(request: ScheduleRequest) -> Printed:
    """Return the parameters of RSPG: step 1/(2L), and T and b whose error terms are epsilon/2."""
    epsilon, c = request.epsilon, request.constants
    L = max(c.L_f, c.L_ms)
    return {
        "iterations": 16.0 * L * c.delta / epsilon,
        "batch": 12.0 * c.sigma2 / epsilon,
        "step": 0.5 / L,
    }


def svrg_schedule(request: ScheduleRequest) -> Printed:
    """Return the parameters of ProxSVRG: batch n^(2/3), period n^(1/3) and step 1/(3L).

    The number of iterations T is such that 18 L h0/T <= epsilon.
    """
    epsilon, c = request.epsilon, request.constants
    L, root = max(c.L_f, c.L_ms), c.n ** (1.0 / 3.0)
    return {
        "iterations": 18.0 * L * c.delta / epsilon,
        "step": 1.0 / (3.0 * L),
        "batch": root**2,
        "period": root,
    }


def svrg_plus_schedule(request: ScheduleRequest) -> Printed:
    """Return the parameters of ProxSVRG+: step 1/(6L), batch b, period sqrt b, and T for epsilon.

    The batch is b = min(n, 1/epsilon)^(2/3), the best choice of the source. The online form has
    snapshots of size B = min(n, 6 sigma^2/epsilon).
    """
    epsilon, c = request.epsilon, request.constants
    L = max(c.L_f, c.L_ms)
    b = min(c.n, 1.0 / epsilon) ** (2.0 / 3.0)
    B = 6.0 * c.sigma2 / epsilon
    online = request.parameters.get("online", False) and c.n > max(1.0, B)
    return {
        "iterations": 36.0 * L * c.delta / epsilon,
        "step": 1.0 / (6.0 * L),
        "batch": b,
        "period": math.sqrt(b),
        "snapshot": B if online else None,
    }


def prox_saga_schedule(request: ScheduleRequest) -> Printed:
    """Return the parameters of ProxSAGA: batch n^(2/3), step 1/(5L), and T for epsilon."""
    epsilon, c = request.epsilon, request.constants
    return {
        "iterations": 50.0 * c.L_max * c.delta / (3.0 * epsilon),
        "step": 0.2 / c.L_max,
        "batch": c.n ** (2.0 / 3.0),
    }


def saga_schedule(request: ScheduleRequest) -> Printed:
    """Return the parameters of SAGA: batch 1 and step 1/(3 L n^(2/3)).

    T is such that 3 L n^(2/3) h0/(T (1 - 1/(12 n^(2/3)))) <= epsilon. The source's bound lacks the
    factor in brackets, which is needed if all f_i are equal.
    """
    epsilon, c = request.epsilon, request.constants
    scale = 3.0 * c.L_max * c.n ** (2.0 / 3.0)
    factor = 1.0 - 1.0 / (12.0 * c.n ** (2.0 / 3.0))
    return {"iterations": scale * c.delta / (factor * epsilon), "step": 1.0 / scale, "batch": 1}


ONLINE = tuple(
    ScheduleRequest(request.epsilon, request.constants, {"online": True}) for request in WANTED
)


def sarah_schedule(request: ScheduleRequest) -> Printed:
    """Return SARAH's parameters for one loop: batch sqrt n, and the least length p for epsilon.

    The length p must satisfy 2 h0/(eta p) <= epsilon, which decreases as 1/sqrt p for large p.
    """
    c = request.constants
    p, b = (
        smallest_horizon(partial(sarah_bound, c), request.epsilon),
        math.ceil(math.sqrt(c.n) - 1e-9),
    )
    return {"iterations": p, "period": p, "batch": b, "step": sarah_step(c, p)}


def sarah_step(c: Constants, p: float) -> float:
    """Return SARAH's step size for a loop of p steps, 2/(L (1 + sqrt(1 + 4(p-1)/b)))."""
    L, b = max(c.L_f, c.L_ms), math.ceil(math.sqrt(c.n) - 1e-9)
    return 2.0 / (L * (1.0 + math.sqrt(1.0 + 4.0 * (p - 1.0) / b)))


def sarah_bound(c: Constants, p: float) -> float:
    """Return 2 h0/(eta p), the bound of SARAH's squared gradient after one loop of p steps."""
    return 2.0 * c.delta / (sarah_step(c, p) * p)


def spider_schedule(request: ScheduleRequest) -> Printed:
    """Return the parameters of SPIDER: step length epsilon/L, lam = 1/(2L), batch, period sqrt n.

    The number of iterations is floor(4 L Delta/epsilon^2) + 1.
    """
    epsilon, c = request.epsilon, request.constants
    L, root = max(c.L_f, c.L_ms), math.sqrt(c.n)
    return {
        "iterations": math.floor(4.0 * L * c.delta / epsilon**2) + 1,
        "step": epsilon / L,
        "lam": 0.5 / L,
        "batch": root,
        "period": root,
    }


def spiderboost_momentum_schedule(request: ScheduleRequest) -> Printed:
    """Return the parameters of SpiderBoost with momentum: step 1/(8L), period and batch sqrt n.

    T = 20 L Delta/epsilon^2 is that of Prox-SpiderBoost, as theorem 3 of wang2019 states no
    constant.
    """
    return {
        **spiderboost_schedule(request, constant=20.0),
        "step": 1.0 / (8.0 * schedule_smoothness(request)),
    }


def compute_sharp_schedule(request: ScheduleRequest, c2: float) -> Printed:
    """Return the step eta with (eta L)^2 `c2` + eta L = 1, and T = 2 h0/(eta epsilon^2) iterations.

    The argument `c2` is c^2, the constant of the summed squared gradient errors.
    """
    L = schedule_smoothness(request)
    eta = 1.0 / L if c2 == 0.0 else (math.sqrt(1.0 + 4.0 * c2) - 1.0) / (2.0 * c2 * L)
    return {"step": eta, "iterations": 2.0 * request.constants.delta / (eta * request.epsilon**2)}


def page_schedule(request: ScheduleRequest) -> Printed:
    """Return the parameters of PAGE: batch b = sqrt n and probability p = b/(n + b).

    The summed squared error has the constant (1-p)/(pb) = n/b^2.
    """
    b, p = page_sizes(request.constants.n)
    return {"batch": b, "refresh": p, **compute_sharp_schedule(request, request.constants.n / b**2)}


def prox_page_schedule(request: ScheduleRequest) -> Printed:
    """Return the parameters of ProxPAGE: step 1/(4L), and the batch and probability of PAGE.

    The number of iterations T is such that 16 L h0/T <= epsilon^2.
    """
    c, L, (b, p) = request.constants, schedule_smoothness(request), page_sizes(request.constants.n)
    T = 16.0 * L * c.delta / request.epsilon**2
    return {"batch": b, "refresh": p, "iterations": T, "step": 0.25 / L}


def lsvrg_schedule(request: ScheduleRequest) -> Printed:
    """Return the parameters of loopless SVRG: probability min(1, 2 n^(-1/3)), batch n^(2/3)."""
    n = request.constants.n
    b, p = math.ceil(n ** (2.0 / 3.0) - 1e-9), min(1.0, 2.0 / n ** (1.0 / 3.0))
    c2 = 2.0 * (1.0 - p) * (2.0 - p) / (p * p * b)
    return {"batch": b, "refresh": p, **compute_sharp_schedule(request, c2)}


def zerosarah_schedule(request: ScheduleRequest) -> Printed:
    """Return the parameters of ZeroSARAH: batch sqrt n, weight q/2; entries change with chance q.

    Here q is the probability that a step replaces a given table entry.
    """
    n = request.constants.n
    b = math.ceil(math.sqrt(n) - 1e-9)
    q = 1.0 - (1.0 - 1.0 / n) ** b
    # With lambda = q/2: a = q - q^2/4, and 2 lambda^2 (1-q)(2-q)/q^2 = (1-q)(2-q)/2.
    c2 = (2.0 + (1.0 - q) * (2.0 - q)) / (b * (q - q * q / 4.0))
    return {"batch": b, "table_weight": q / 2.0, **compute_sharp_schedule(request, c2)}


def rsag_schedule(request: ScheduleRequest) -> Printed:
    """Return the parameters of deterministic RSAG: batch n, step 1/(2L), and N for epsilon.

    N satisfies 6 L h0/N = epsilon.
    """
    epsilon, c, L = request.epsilon, request.constants, schedule_smoothness(request)
    return {"iterations": 6.0 * L * c.delta / epsilon, "step": 0.5 / L, "batch": c.n}


def prox_rsag_schedule(request: ScheduleRequest) -> Printed:
    """Return the parameters of ProxRSAG: batch n, step 1/(2L), and the smallest N for epsilon.

    For this N, `compute_bounded_set_bound` is at most epsilon.
    """
    N = smallest_horizon(partial(compute_bounded_set_bound, request.constants), request.epsilon)
    return {
        "iterations": N,
        "step": 0.5 / schedule_smoothness(request),
        "batch": request.constants.n,
    }


def compute_bounded_set_bound(c: Constants, N: float) -> float:
    """Return qu2018 theorem 1's bound for a bounded set, with exact proximal maps and N steps.

    It is 192 L^2 D^2/(N^2 (N+1)) + 144 ell L M^2/N.
    """
    L = max(c.L_f, c.L_ms)
    return 192.0 * (L * c.D) ** 2 / (N**2 * (N + 1.0)) + 144.0 * c.ell * L * c.M**2 / N


def natasha15_schedule(request: ScheduleRequest) -> Printed:
    """Return the parameters of Natasha1.5: batch min(n, V/epsilon^2), p sub-epochs, step and T.

    p = (sigma^2 B/L^2)^(1/3), alpha = sigma/(p^2 L^2), and T = L^(2/3) sigma^(1/3) h0
    B^(2/3)/epsilon^2. The source states only orders; the constants here are 1. V is the variance,
    and sigma the lower curvature, between epsilon L and L.
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

SCHEDULES = {
    "prox-gd": PublishedSchedule(
        gradient_descent_schedule, "lacoste2016 section 3, of Ghadimi, Lan, Zhang 2016"
    ),
    "projected-gradient": PublishedSchedule(
        gradient_descent_schedule, "as prox-gd; li2019, which runs it, prints no step"
    ),
    "prox-sgd": PublishedSchedule(
        rspg_schedule, "step 1/(2L) of Ghadimi, Lan, Zhang 2016; T and b by a bound of pfbench"
    ),
    "svrg": PublishedSchedule(
        svrg_schedule, "that of prox-svrg with h = 0, taken by pfbench in place of its own source"
    ),
    "prox-svrg": PublishedSchedule(svrg_schedule, "Reddi et al. 2016 (NIPS) with b = n^(2/3)"),
    "projected-svrg": PublishedSchedule(
        svrg_schedule, "that of prox-svrg; qu2018 section 6, which runs it, prints b and m, no step"
    ),
    "prox-svrg-plus": PublishedSchedule(
        svrg_plus_schedule,
        "step, m and best b of Li & Li 2018; T and B by a bound that pfbench derived",
        (*WANTED, *ONLINE),
    ),
    "saga": PublishedSchedule(
        saga_schedule,
        "Reddi et al. 2016 (CDC) with b = 1; pfbench corrects T by 1 - 1/(12 n^(2/3))",
    ),
    "prox-saga": PublishedSchedule(prox_saga_schedule, "Reddi et al. 2016 (NIPS) with b = n^(2/3)"),
    "spiderboost": PublishedSchedule(
        partial(spiderboost_schedule, constant=4.0),
        "step, q and S of wang2019 theorem 1; the 4 of T, where it prints O(.), is derived by "
        "pfbench",
    ),
    "prox-spiderboost": PublishedSchedule(
        partial(spiderboost_schedule, constant=20.0),
        "step, q and S of wang2019 theorem 2; the 20 of T, where it prints O(.), is derived "
        "by pfbench",
    ),
    "sarah": PublishedSchedule(
        sarah_schedule,
        "Nguyen, Liu, Scheinberg, Takac 2017, one outer loop; b = sqrt n is of pfbench",
    ),
    "spider": PublishedSchedule(
        spider_schedule, "Fang, Li, Lin, Zhang 2018, finite sum, option II, with n0 = 1"
    ),
    "prox-spiderboost-m": PublishedSchedule(
        spiderboost_momentum_schedule,
        "step, q and S of wang2019 theorem 3; T is that of prox-spiderboost, derived by "
        "pfbench for theorem 2, as theorem 3 prints O(.) only",
    ),
    "page": PublishedSchedule(
        page_schedule, "b and p of Li et al. 2021; step and T by a bound of pfbench"
    ),
    "prox-page": PublishedSchedule(
        prox_page_schedule, "b and p of Li et al. 2021; step and T by a bound of pfbench"
    ),
    "lsvrg": PublishedSchedule(
        lsvrg_schedule, "pfbench's, for non-convex f; the source, Kovalev et al. 2020, is convex"
    ),
    "zerosarah": PublishedSchedule(
        zerosarah_schedule, "pfbench's, for the method of Li, Hanzely, Richtarik 2021"
    ),
    "rsag": PublishedSchedule(
        rsag_schedule, "Ghadimi & Lan 2016, the deterministic case; b = n is of pfbench"
    ),
    "prox-rsag": PublishedSchedule(
        prox_rsag_schedule,
        "the bound of qu2018 theorem 1, option II, with exact proximal maps, not of its own "
        "source; b = n, and D and M for its norms, are of pfbench",
        requests_at_jumps(compute_bounded_set_bound, 4.0, 0.4),
    ),
    "natasha15": PublishedSchedule(
        natasha15_schedule,
        "the orders of Allen-Zhu 2018, which prints no constants; pfbench takes 1 for each, "
        "and for T the count of proximal maps",
        (*WANTED, *SIGMA),
    ),
}
