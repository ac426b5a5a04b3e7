"""Published parameter schedules of proximal and gradient methods."""

import math
from functools import partial

import numpy as np

from pfbench.base.constants import Constants
from pfbench.claims.methods.schedule_formulas import (
    add_parameters_to_requests,
    loopless_probability,
    page_sizes,
    requests_at_jumps,
    round_up,
    smallest_horizon,
    smoothness_L,
    zerosarah_sizes,
)
from pfbench.verification.schedules import WANTED, Printed


def prox_gd_schedule(epsilon: float, c: Constants) -> Printed:
    """Return the parameters of gradient descent: step 1/L_f, and iterations to accuracy epsilon."""
    return {"iterations": 2.0 * c.L_f * c.delta / epsilon**2 - 1.0, "step": 1.0 / c.L_f}


def prox_sgd_schedule(epsilon: float, c: Constants) -> Printed:
    """Return RSPG's step 1/(2L), iterations and batch, which make two error terms epsilon/2."""
    L = smoothness_L(c)
    T, b = 16.0 * L * c.delta / epsilon, 12.0 * c.sigma2 / epsilon
    return {"iterations": T, "batch": b, "step": 0.5 / L}


def svrg_schedule(epsilon: float, c: Constants) -> Printed:
    """Return the parameters of ProxSVRG: batch n^(2/3), period n^(1/3) and step 1/(3L).

    The number of iterations T is such that 18 L h0/T <= epsilon.
    """
    L, root = smoothness_L(c), c.n ** (1.0 / 3.0)
    T = 18.0 * L * c.delta / epsilon
    return {"iterations": T, "step": 1.0 / (3.0 * L), "batch": root**2, "period": root}


def prox_svrg_plus_schedule(epsilon: float, c: Constants, *, online: bool = False) -> Printed:
    """Return the parameters of ProxSVRG+: step 1/(6L), batch b, period sqrt b, and iterations T.

    The batch is b = min(n, 1/epsilon)^(2/3), the best choice of the source. The online form has
    snapshots of size B = min(n, 6 sigma^2/epsilon).
    """
    L, b, B = smoothness_L(c), min(c.n, 1.0 / epsilon) ** (2.0 / 3.0), 6.0 * c.sigma2 / epsilon
    return {
        "iterations": 36.0 * L * c.delta / epsilon,
        "step": 1.0 / (6.0 * L),
        "batch": b,
        "period": math.sqrt(b),
        "snapshot": B if online and c.n > max(1.0, B) else None,
    }


def prox_saga_schedule(epsilon: float, c: Constants) -> Printed:
    """Return the parameters of ProxSAGA: batch n^(2/3), step 1/(5L), and the iterations T."""
    T = 50.0 * c.L_max * c.delta / (3.0 * epsilon)
    return {"iterations": T, "step": 0.2 / c.L_max, "batch": c.n ** (2.0 / 3.0)}


def saga_schedule(epsilon: float, c: Constants) -> Printed:
    """Return the parameters of SAGA: batch 1 and step 1/(3 L n^(2/3)).

    T is such that 3 L n^(2/3) h0/(T (1 - 1/(12 n^(2/3)))) <= epsilon. The source's bound lacks the
    factor in brackets, which is needed if all f_i are equal.
    """
    scale = 3.0 * c.L_max * c.n ** (2.0 / 3.0)
    factor = 1.0 - 1.0 / (12.0 * c.n ** (2.0 / 3.0))
    return {"iterations": scale * c.delta / (factor * epsilon), "step": 1.0 / scale, "batch": 1}


def sarah_step(c: Constants, loop_length: float) -> float:
    """Return SARAH's step 2/(L (1 + sqrt(1 + 4(p-1)/b))) for a loop of p steps with batch b."""
    b = round_up(math.sqrt(c.n))
    return 2.0 / (smoothness_L(c) * (1.0 + math.sqrt(1.0 + 4.0 * (loop_length - 1.0) / b)))


def sarah_bound(c: Constants, loop_length: float) -> float:
    """Return 2 (f(x_0) - min f)/(step p), SARAH's squared gradient bound after p steps."""
    return 2.0 * c.delta / (sarah_step(c, loop_length) * loop_length)


def sarah_schedule(epsilon: float, c: Constants) -> Printed:
    """Return SARAH's parameters for one loop: batch sqrt n, least length p for accuracy epsilon.

    The length p must satisfy 2 h0/(eta p) <= epsilon, which decreases as 1/sqrt p for large p.
    """
    p = smallest_horizon(partial(sarah_bound, c), epsilon)
    b = round_up(math.sqrt(c.n))
    return {"iterations": p, "period": p, "batch": b, "step": sarah_step(c, p)}


def spider_schedule(epsilon: float, c: Constants) -> Printed:
    """Return the parameters of SPIDER: step epsilon/L, lam = 1/(2L), batch and period sqrt n.

    The number of iterations is floor(4 L Delta/epsilon^2) + 1.
    """
    L, root = smoothness_L(c), math.sqrt(c.n)
    T = math.floor(4.0 * L * c.delta / epsilon**2) + 1
    return {"iterations": T, "step": epsilon / L, "lam": 0.5 / L, "batch": root, "period": root}


def schedule_of_spiderboosts(
    epsilon: float, c: Constants, *, constant: float, step: float = 0.5
) -> Printed:
    """Return the parameters of SpiderBoost: period and batch sqrt n, step `step`/L, iterations T.

    T is such that E|G|^2 <= constant L Delta/T = epsilon^2.
    """
    L, root = smoothness_L(c), math.sqrt(c.n)
    T = constant * L * c.delta / epsilon**2
    return {"iterations": T, "step": step / L, "batch": root, "period": root}


def _schedule_by_error(epsilon: float, c: Constants, c2: float, **sizes: float) -> Printed:
    """Return the step eta with (eta L)^2 c2 + eta L = 1, the iterations to epsilon, and `sizes`.

    The argument `c2` is c^2, the constant of the summed squared gradient errors.
    """
    L = smoothness_L(c)
    eta = 1.0 / L if c2 == 0.0 else (math.sqrt(1.0 + 4.0 * c2) - 1.0) / (2.0 * c2 * L)
    return {**sizes, "step": eta, "iterations": 2.0 * c.delta / (eta * epsilon**2)}


def page_schedule(epsilon: float, c: Constants) -> Printed:
    """Return the parameters of PAGE: batch b = sqrt n and probability p = b/(n + b).

    The summed squared error has the constant (1-p)/(pb) = n/b^2.
    """
    b, p = page_sizes(c.n)
    return _schedule_by_error(epsilon, c, c.n / b**2, batch=b, refresh=p)


def prox_page_schedule(epsilon: float, c: Constants) -> Printed:
    """Return the parameters of ProxPAGE: step 1/(4L), and the batch and probability of PAGE.

    The number of iterations T is such that 16 L h0/T <= epsilon^2.
    """
    L, (b, p) = smoothness_L(c), page_sizes(c.n)
    T = 16.0 * L * c.delta / epsilon**2
    return {"batch": b, "refresh": p, "iterations": T, "step": 0.25 / L}


def lsvrg_schedule(epsilon: float, c: Constants) -> Printed:
    """Return the parameters of loopless SVRG: probability min(1, 2 n^(-1/3)), batch n^(2/3)."""
    b, p = round_up(c.n ** (2.0 / 3.0)), loopless_probability(c.n)
    c2 = 2.0 * (1.0 - p) * (2.0 - p) / (p * p * b)
    return _schedule_by_error(epsilon, c, c2, batch=b, refresh=p)


def zerosarah_schedule(epsilon: float, c: Constants) -> Printed:
    """Return the parameters of ZeroSARAH: the batch sqrt n, the table's weight, step and T.

    The weight is q/2, where q is the probability that a step replaces a given table entry.
    """
    b, q = zerosarah_sizes(c.n)
    # With lambda = q/2: a = q - q^2/4, and 2 lambda^2 (1-q)(2-q)/q^2 = (1-q)(2-q)/2.
    c2 = (2.0 + (1.0 - q) * (2.0 - q)) / (b * (q - q * q / 4.0))
    return _schedule_by_error(epsilon, c, c2, batch=b, table_weight=q / 2.0)


def rsag_schedule(epsilon: float, c: Constants) -> Printed:
    """Return the parameters of deterministic RSAG: batch n, step 1/(2L), and the iterations N.

    N satisfies 6 L h0/N = epsilon.
    """
    L = smoothness_L(c)
    return {"iterations": 6.0 * L * c.delta / epsilon, "step": 0.5 / L, "batch": c.n}


def mapping_bound_on_bounded_set(c: Constants, N: float) -> float:
    """Return qu2018 theorem 1's squared gradient mapping bound after N steps on a bounded set.

    It is 192 L^2 D^2/(N^2 (N+1)) + 144 ell L M^2/N.
    """
    L = smoothness_L(c)
    return 192.0 * (L * c.D) ** 2 / (N**2 * (N + 1.0)) + 144.0 * c.ell * L * c.M**2 / N


def prox_rsag_schedule(epsilon: float, c: Constants) -> Printed:
    """Return the parameters of ProxRSAG: batch n, step 1/(2L), and the smallest N to reach epsilon.

    For this N, `mapping_bound_on_bounded_set` is at most epsilon.
    """
    N = smallest_horizon(partial(mapping_bound_on_bounded_set, c), epsilon)
    return {"iterations": N, "step": 0.5 / smoothness_L(c), "batch": c.n}


def natasha15_schedule(epsilon: float, c: Constants, sigma: float | None = None) -> Printed:
    """Return Natasha1.5's parameters: batch min(n, variance/epsilon^2), p sub-epochs, step, T.

    p = (sigma^2 B/L^2)^(1/3), alpha = sigma/(p^2 L^2), and T = L^(2/3) sigma^(1/3) h0
    B^(2/3)/epsilon^2. The source states only orders; the constants here are 1. sigma is the lower
    curvature, between epsilon L and L.
    """
    L = c.L_max
    sigma = sigma or min(L, max(c.ell, epsilon * L))
    B = min(c.n, max(1, round(np.ceil(c.sigma2 / epsilon**2 - 1e-9))))
    p = max(1, int((sigma**2 * B / L**2) ** (1.0 / 3.0) + 1e-9))
    return {
        "snapshot": B,
        "subepochs": min(p, B),
        "sigma": sigma,
        "step": sigma / (p * L) ** 2,
        "iterations": L ** (2 / 3) * sigma ** (1 / 3) * c.delta * B ** (2 / 3) / epsilon**2,
    }


projected_gradient_schedule = prox_gd_schedule
prox_svrg_schedule = projected_svrg_schedule = svrg_schedule
spiderboost_schedule = partial(schedule_of_spiderboosts, constant=4.0)
prox_spiderboost_schedule = partial(schedule_of_spiderboosts, constant=20.0)
# Theorem 3 of wang2019 states no constant of T; the 20 is that of Prox-SpiderBoost.
prox_spiderboost_m_schedule = partial(schedule_of_spiderboosts, constant=20.0, step=0.125)

REQUESTS = {
    "prox-svrg-plus": (*WANTED, *add_parameters_to_requests(online=True)),
    "prox-rsag": requests_at_jumps(mapping_bound_on_bounded_set, 4.0, 0.4),
    "natasha15": (*WANTED, *add_parameters_to_requests(sigma=2.5)),
}
"""Requests for which a schedule is compared, where they are not the usual ones."""
