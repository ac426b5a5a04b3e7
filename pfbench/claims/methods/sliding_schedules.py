"""Published parameter schedules of conditional gradient sliding, with and without restarts."""

import math
from dataclasses import replace
from functools import partial

from pfbench.base.constants import Constants
from pfbench.claims.methods.schedule_formulas import (
    SLIDING,
    requests_at_jumps,
    round_up,
    smallest_horizon,
    smoothness_L,
)
from pfbench.verification.schedules import Printed


def option2_bound(c: Constants, N: float) -> float:
    """Return qu2018 theorem 1's bound of the squared gradient mapping after N steps, option 2.

    It is 192 L^2 D^2/(N^2 (N+1)) + (144 ell L M^2 + 96 L)/N.
    """
    L = c.L_f
    return 192.0 * (L * c.D) ** 2 / (N**2 * (N + 1.0)) + (144.0 * c.ell * c.M**2 + 96.0) * L / N


def ncgs_schedule(epsilon: float, c: Constants, option: int = 1) -> Printed:
    """Return the parameters of NCGS from theorem 1 of qu2018, for option 1 or option 2.

    For option 1, the number of iterations N satisfies (12 L Delta + 16 L)/N <= epsilon. For option
    2, `option2_bound` replaces the left side.
    """
    if option == 1:
        return {"iterations": (12.0 * c.delta + 16.0) * c.L_f / epsilon, "smoothness": c.L_f}
    N = smallest_horizon(partial(option2_bound, c), epsilon)
    return {"iterations": N, "smoothness": c.L_f, "tolerance": None}


def stochastic_ncgs_mapping_bound(c: Constants, N: float) -> float:
    """Return qu2018 theorem 2's bound of the squared gradient mapping after N iterations.

    Its four terms stem from the set's size, the lower curvature, the inner loop and the noise.
    """
    L = smoothness_L(c)
    size = 384.0 * (L * c.D) ** 2 / (N * (N + 1.0) * (N + 2.0))
    lower = 192.0 * L * c.ell * c.M**2 / (N + 2.0)
    inner = 96.0 * L / (N * (N + 2.0)) + 36.0 * L / N
    noise = 48.0 * c.sigma2 * (N + 3.0) / ((N + 1.0) * (N + 2.0))
    return size + lower + inner + noise


def ncgs_stochastic_schedule(epsilon: float, c: Constants) -> Printed:
    """Return the parameters of stochastic NCGS from theorem 2 of qu2018, as corrected by pfbench.

    They include eta = 1/N and batches of m_k = k components.
    """
    N = smallest_horizon(partial(stochastic_ncgs_mapping_bound, c), epsilon)
    return {"iterations": N, "smoothness": smoothness_L(c), "tolerance": None, "batch": None}


def ncgs_vr_schedule(epsilon: float, c: Constants) -> Printed:
    """Return the parameters of NCGS-VR: period n^(1/3), batch n^(2/3), and the iterations T.

    The tolerance is eta = 1/T. T is 18 L (Delta+1)/epsilon, rounded up to a multiple of m.
    """
    L, m = smoothness_L(c), round(c.n ** (1.0 / 3.0))
    return {
        "iterations": m * round_up(18.0 * L * (c.delta + 1.0) / epsilon / m),
        "period": m,
        "batch": c.n ** (2.0 / 3.0),
        "smoothness": L,
        "tolerance": None,
    }


def convex_bound(c: Constants, N: float) -> float:
    """Return 15 L D^2/(2(N+1)(N+2)), the bound of f(y_N) - min f for gradient sliding, f convex."""
    return float(15.0 * c.L_f * c.D**2 / (2.0 * (N * N + 3.0 * N + 2.0)))


def cgs_convex_schedule(epsilon: float, c: Constants) -> Printed:
    """Return the parameters of gradient sliding for convex f: L_f, D and the iterations N."""
    N = smallest_horizon(partial(convex_bound, c), epsilon)
    return {"iterations": N, "smoothness": c.L_f, "diameter": c.D}


def ncgs_spider_schedule(epsilon: float, c: Constants, sampling: str = "uniform") -> Printed:
    """Return the parameters of sliding with SPIDER: period T = sqrt n and batch b = 10 T.

    N = 32 L Delta/epsilon and eta = epsilon/(48L). If components are drawn in proportion to their
    L_i, L is the mean of the L_i, as in the source.
    """
    L, T = c.L_mean if sampling == "importance" else smoothness_L(c), round_up(math.sqrt(c.n))
    return {
        "iterations": max(1.0, 32.0 * L * c.delta / epsilon),
        "smoothness": L,
        "tolerance": epsilon / (48.0 * L),
        "period": T,
        "batch": 10 * T,
    }


def cgs_schedule(epsilon: float, c: Constants) -> Printed:
    """Return the parameters of CGS: the number of restarts, and of inner iterations in each.

    They are log2(delta0/epsilon), at least 1, and 8 sqrt(L/sigma_hat).
    """
    return {
        "restarts": math.log2(c.delta / epsilon) if c.delta > 2.0 * epsilon else 1,
        "period": round_up(8.0 * math.sqrt(c.L_f / c.sigma_hat)),
        "smoothness": c.L_f,
        "curvature": c.sigma_hat,
        "delta": c.delta,
    }


def storc_schedule(epsilon: float, c: Constants, *, is_practical: bool = False) -> Printed:
    """Return the parameters of STORC from li2019 theorem 2, or practical ones with batch n^(2/3).

    The theorem's batch size m is 5200 N L_max/sigma_hat for convex f_i. Otherwise it is 8000 N
    L~/sigma_hat, where L~ = (L_max + ell)(1 + ell/sigma_hat). Both are far above n.
    """
    printed = cgs_schedule(epsilon, c)
    N = float(printed["period"] or 0.0)
    if is_practical:
        m = c.n ** (2.0 / 3.0)
    elif c.ell == 0.0:
        m = 5200.0 * N * c.L_max / c.sigma_hat
    else:
        m = 8000.0 * N * ((c.L_max + c.ell) * (1.0 + c.ell / c.sigma_hat)) / c.sigma_hat
    return {**printed, "batch": m}


_JUMPS = requests_at_jumps(option2_bound)
_CONVEX = tuple(
    replace(request, constants=replace(request.constants, ell=0.0)) for request in SLIDING
)

REQUESTS = {
    **dict.fromkeys(("ncgs-vr", "cgs"), SLIDING),
    "ncgs": (
        *SLIDING,
        *(replace(request, parameters={"option": 2}) for request in (*SLIDING, *_JUMPS)),
    ),
    "ncgs-stochastic": (*SLIDING, *requests_at_jumps(stochastic_ncgs_mapping_bound)),
    "cgs-convex": (*SLIDING, *requests_at_jumps(convex_bound)),
    "ncgs-spider": (
        *SLIDING,
        *(replace(request, parameters={"sampling": "importance"}) for request in SLIDING[:6]),
    ),
    "storc": (*SLIDING, *_CONVEX, *(replace(request, is_practical=True) for request in SLIDING)),
}
"""Requests for which a schedule is compared."""
