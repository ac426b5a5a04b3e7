"""Published parameter schedules of Frank-Wolfe, of its stochastic variants, and of NFWU."""

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import product

from pfbench.base.constants import Constants
from pfbench.claims.methods.schedule_formulas import (
    add_parameters_to_requests,
    constant_step_schedule,
    loopless_probability,
    page_sizes,
    requests_at_jumps,
    round_up,
    smallest_horizon,
    smoothness_L,
    zerosarah_sizes,
)
from pfbench.verification.schedules import SMALLEST, USUAL, WANTED, Printed, ScheduleRequest


def frank_wolfe_schedule(
    epsilon: float,
    c: Constants,
    step: str = "adaptive",
    curvature: float | None = None,
    smoothness: float | None = None,
) -> Printed:
    """Return Frank-Wolfe's parameters: the step rule, and T iterations to a gap of epsilon.

    The source is (6) of Lacoste-Julien 2016, where C = L_f D^2 by default. With backtracking, max(2
    L_f, M_{-1}) replaces L_f, as no estimate exceeds it. With the short step, the parameter L
    replaces L_f.
    """
    L = smoothness if step == "short" and smoothness is not None else c.L_f
    if step == "backtracking":
        L = max(2.0 * c.L_f, smoothness or 0.0)
    C = L * c.D**2 if curvature is None else curvature
    T = {"iterations": max(1.0, (max(2.0 * c.delta, C) / epsilon) ** 2 - 1.0)}
    further: Printed = {} if step == "backtracking" else {"curvature": C}
    return {**T, **({"smoothness": L} if step == "short" else further)}


def heavy_ball_or_optimistic_schedule(epsilon: float, c: Constants, *, constant: float) -> Printed:
    """Return the iterations T of heavy-ball or optimistic Frank-Wolfe to the accuracy epsilon."""
    return {"iterations": max(1.0, constant * c.L_f * c.D**2 / epsilon - 1.0)}


def local_lmo_schedule(epsilon: float, c: Constants, diameter: float | None = None) -> Printed:
    """Return the diameter R, and T local linear minimisations with 2 L_f R^2/(T+2) <= epsilon."""
    R = diameter or c.D
    return {"iterations": max(1.0, 2.0 * c.L_f * R**2 / epsilon - 2.0), "diameter": R}


def sfw_schedule(epsilon: float, c: Constants) -> Printed:
    """Return the parameters of SFW: T iterations for accuracy epsilon, batch T and the step size.

    The step size is sqrt(2 h0/(T L D^2)), at most 1, where h0 = f(x_0) - min f.
    The mean gap is at most (sqrt(2 h0 L D^2) + D sigma)/sqrt T <= epsilon.
    """
    curvature = smoothness_L(c) * c.D**2
    accurate = (math.sqrt(2.0 * c.delta * curvature) + c.D * math.sqrt(c.sigma2)) ** 2 / epsilon**2
    T = round_up(max(1.0, accurate, 2.0 * c.delta / curvature))
    step = min(1.0, math.sqrt(2.0 * c.delta / (T * curvature)))
    return {"iterations": T, "batch": T, "step": step}


def svfw_schedule(epsilon: float, c: Constants) -> Printed:
    """Return the parameters of SVFW: period m = n^(1/3), rounded up, and batch b = m^2.

    The gradient errors are at most L gamma D.
    """
    m = round_up(c.n ** (1.0 / 3.0))
    steps = constant_step_schedule(epsilon, c, smoothness_L(c), 1.5)
    return {**steps, "period": m, "batch": m * m}


def sagafw_schedule(epsilon: float, c: Constants, option: str = "") -> Printed:
    """Return the parameters of SAGAFW: batch b = n^(2/3), or n^(1/3) with option=claimed.

    The gradient error is at most sqrt 2 L gamma D n/b^(3/2).
    """
    b = round_up(c.n ** ((1.0 if option == "claimed" else 2.0) / 3.0))
    error = 1.5 if option == "claimed" else 0.5 + math.sqrt(2.0) * c.n * b**-1.5
    return {**constant_step_schedule(epsilon, c, c.L_max, error), "batch": b}


def spider_fw_schedule(epsilon: float, c: Constants, sampling: str = "uniform") -> Printed:
    """Return the parameters of SPIDER-FW: batch and period sqrt n.

    The gradient errors are at most L gamma D.
    """
    root, L = math.sqrt(c.n), c.L_mean if sampling == "importance" else smoothness_L(c)
    return {"batch": root, "period": root, **constant_step_schedule(epsilon, c, L, 1.5)}


def _schedule_by_balance(epsilon: float, c: Constants, error: float, **sizes: float) -> Printed:
    """Return the step gamma and the iterations T whose mean-gap bound is at most epsilon.

    The bound is h0/(T gamma) + (1/2 + error) L D^2 gamma, where gamma <= 1.
    """
    return {**sizes, **constant_step_schedule(epsilon, c, smoothness_L(c), 0.5 + error)}


def page_fw_schedule(epsilon: float, c: Constants) -> Printed:
    """Return the parameters of PAGE-FW: batch b = sqrt n and probability p = b/(n + b)."""
    b, p = page_sizes(c.n)
    return _schedule_by_balance(epsilon, c, 1.0, batch=b, refresh=p)


def lsvrg_fw_schedule(epsilon: float, c: Constants) -> Printed:
    """Return L-SVRG-FW's parameters: batch n^(2/3)/2, snapshot probability min(1, 2 n^(-1/3)).

    The constant of the gradient errors follows from the mean square of the snapshot's age.
    """
    b, p = round_up(c.n ** (2.0 / 3.0) / 2.0), loopless_probability(c.n)
    age = (1.0 - p) * (2.0 - p) / p**2
    return _schedule_by_balance(epsilon, c, math.sqrt(age / b), batch=b, refresh=p)


def zerosarah_fw_schedule(epsilon: float, c: Constants) -> Printed:
    """Return the parameters of ZeroSARAH-FW: batch sqrt n, the table's weight, T and step gamma.

    The weight is q/2, where q = 1 - (1 - 1/n)^b is the probability that a step replaces a given
    table entry. The gradient errors have the constant c^2 = 4/(ab) with a = q - q^2/4.
    """
    b, q = zerosarah_sizes(c.n)
    error = 2.0 / math.sqrt((q - q * q / 4.0) * b)
    return _schedule_by_balance(epsilon, c, error, batch=b, table_weight=q / 2.0)


def storm_fw_schedule(epsilon: float, c: Constants) -> Printed:
    """Return STORM-FW's parameters: step gamma, weight alpha = L gamma D/sigma, and T iterations.

    The first batch has the size 1/alpha. T is the smallest number of iterations for which the bound
    is at most epsilon.
    """
    L, sigma = smoothness_L(c), math.sqrt(c.sigma2)

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


def one_sfw_schedule(epsilon: float, c: Constants) -> Printed:
    """Return 1-SFW's smallest T for which the bound of f(x_T) - min f is at most epsilon.

    The bound is (4/3) D sqrt(2 sigma^2 + 8 L^2 D^2)/sqrt T + 2 L D^2/(T+1).
    """
    L = smoothness_L(c)
    size = math.sqrt(32.0 * c.D**2 * (c.sigma2 + 4.0 * (L * c.D) ** 2) / 9.0)
    return _compute_least_iterations(
        lambda T: size / math.sqrt(T) + 2.0 * L * c.D**2 / (T + 1.0), epsilon
    )


def momentum_sfw_schedule(epsilon: float, c: Constants) -> Printed:
    """Return momentum SFW's smallest T for which the bound of f(x_T) - min f is at most epsilon.

    The bound is (6/5) D (sigma + 2.06 L_f D) T^(-1/3) + 2 L_f D^2/(T+1).
    """
    size = 1.2 * c.D * (math.sqrt(c.sigma2) + 2.06 * c.L_f * c.D)
    return _compute_least_iterations(
        lambda T: size / T ** (1 / 3) + 2.0 * c.L_f * c.D**2 / (T + 1.0), epsilon
    )


def spider_fw_convex_schedule(epsilon: float, c: Constants) -> Printed:
    """Return SPIDER-FW's smallest number T of iterations with 10 L D^2/(T+1) <= epsilon."""
    size = 10.0 * smoothness_L(c) * c.D**2
    return _compute_least_iterations(lambda T: size / (T + 1.0), epsilon)


def page_convex_batch_chance_delay(c: Constants) -> tuple[int, float, int]:
    """Return PAGE-FW's batch b = sqrt n, chance p = b/(n + b), and s = 5/p for steps 2/(t+s)."""
    b, p = page_sizes(c.n)
    return b, p, round_up(5.0 / p)


def page_convex_bound(c: Constants, T: float) -> float:
    """Return the bound on f(x_T) - min f of PAGE-FW for convex f.

    It is ((s-1)(s-2) h0 + 4 C T)/((T+s-1)(T+s-2)). Here C = L D^2 (1/2 + sqrt((2-p)/(pb))).
    """
    b, p, s = page_convex_batch_chance_delay(c)
    C = smoothness_L(c) * c.D**2 * (0.5 + math.sqrt((2.0 / p - 1.0) / b))
    return (c.delta * (s - 1) * (s - 2) + 4.0 * C * T) / ((T + s - 1) * (T + s - 2))


def page_fw_convex_schedule(epsilon: float, c: Constants) -> Printed:
    """Return PAGE-FW's batch, chance of a full gradient, step delay and number of iterations.

    The number T of iterations is the smallest with a bound of at most epsilon.
    """
    b, p, s = page_convex_batch_chance_delay(c)
    T = _compute_least_iterations(partial(page_convex_bound, c), epsilon)
    return {**T, "batch": b, "refresh": p, "delay": s}


# --- NFWU -----------------------------------------------------------------------------------------


def nfwu_schedule(epsilon: float, c: Constants, **sizes: float) -> Printed:
    """Return NFWU's parameters: the given `sizes`, the step epsilon/(L D), and the iterations.

    T and the step are those of theorem 3.1 of shen2019. In table 1, the batch S is multiplied by a
    factor, so that condition (9) holds: 1, 4, 4, 1 and 4/3 for the estimators GE 1 to 5.
    """
    L = smoothness_L(c)
    return {"iterations": L * c.delta / epsilon**2, "step": epsilon / (L * c.D), **sizes}


def nfwu_sg_schedule(epsilon: float, c: Constants) -> Printed:
    """Return the parameters of NFWU with SG, shen2019's estimator 1: batch 4 sigma^2/epsilon^2."""
    return nfwu_schedule(epsilon, c, batch=4.0 * c.sigma2 / epsilon**2)


def nfwu_svrg_schedule(epsilon: float, c: Constants) -> Printed:
    """Return the parameters of NFWU with SVRG: batch 4 n^(2/3) and period n^(1/3)."""
    return nfwu_schedule(epsilon, c, batch=4.0 * c.n ** (2.0 / 3.0), period=c.n ** (1.0 / 3.0))


def nfwu_spiderg_schedule(epsilon: float, c: Constants) -> Printed:
    """Return the parameters of NFWU with SPIDERG: batch 4 sqrt n and period sqrt n."""
    return nfwu_schedule(epsilon, c, batch=4.0 * math.sqrt(c.n), period=math.sqrt(c.n))


def nfwu_casvrg_schedule(epsilon: float, c: Constants) -> Printed:
    """Return the parameters of NFWU with CASVRG, by one of two formulas, depending on epsilon."""
    L, n = smoothness_L(c), c.n
    if n * n * c.L2_ms * epsilon <= L * L:
        return nfwu_schedule(epsilon, c, batch=1, period=L / math.sqrt(c.L2_ms * epsilon))
    p = L**0.8 * n**0.2 / (c.L2_ms * epsilon) ** 0.4
    return nfwu_schedule(epsilon, c, batch=n / math.floor(p), period=p)


def nfwu_caspiderg_schedule(epsilon: float, c: Constants) -> Printed:
    """Return the parameters of NFWU with CASPIDERG, by one of two formulas, depending on epsilon.

    Where table 1 has S = 1, S is 2, the smallest integer above 4/3.
    """
    L, n = smoothness_L(c), c.n
    ratio = L * L / (c.L2_ms * epsilon)
    if n**1.5 * c.L2_ms * epsilon <= L * L:
        return nfwu_schedule(epsilon, c, batch=2, period=ratio ** (2.0 / 3.0))
    p = math.sqrt(ratio) * n**0.25
    return nfwu_schedule(epsilon, c, batch=4.0 * n / (3.0 * math.floor(p)), period=p)


def nfwu_page_schedule(epsilon: float, c: Constants) -> Printed:
    """Return NFWU-PAGE's chance of a full gradient, q = min(1, sqrt(8/n)), and batch 4(1-q)/q."""
    q = min(1.0, (8.0 / c.n) ** 0.5)
    return nfwu_schedule(epsilon, c, refresh=q, batch=4.0 / q - 4.0)


def nfwu_lsvrg_schedule(epsilon: float, c: Constants) -> Printed:
    """Return the parameters of NFWU with loopless SVRG: snapshot probability q and batch S.

    They are q = min(1, (32/n)^(1/3)) and S = 4(1-q)(2-q)/q^2.
    """
    q = min(1.0, math.cbrt(32.0 / c.n))
    return nfwu_schedule(epsilon, c, refresh=q, batch=4.0 * (1.0 / q - 1.0) * (2.0 / q - 1.0))


def nfwu_storm_schedule(epsilon: float, c: Constants) -> Printed:
    """Return the parameters of NFWU with STORM: weight alpha, batch S and first batch b0.

    They are alpha = min(1, epsilon/sigma), S = 8 sigma/epsilon and b0 = 4 sigma^2/epsilon^2.
    """
    sigma, first = math.sqrt(c.sigma2), 4.0 * c.sigma2 / epsilon**2
    alpha = min(1.0, epsilon / sigma)
    return nfwu_schedule(epsilon, c, alpha=alpha, batch=8.0 * sigma / epsilon, snapshot=first)


def _compute_least_iterations(bound: Callable[[float], float], epsilon: float) -> Printed:
    return {"iterations": smallest_horizon(bound, epsilon)}


heavy_ball_fw_schedule = partial(heavy_ball_or_optimistic_schedule, constant=2.0)
optimistic_fw_schedule = partial(heavy_ball_or_optimistic_schedule, constant=4.0)

_SEARCHES = tuple(
    ScheduleRequest(epsilon, c, parameters)
    for epsilon, c in (
        *product((0.4, 0.03), (USUAL[0], replace(USUAL[0], delta=20.0))),
        (40.0, SMALLEST[0]),
    )
    for parameters in (
        {},
        {"step": "open-loop"},
        {"step": "adaptive", "curvature": 7.0},
        {"step": "short"},
        {"step": "short", "smoothness": 2.0},
        {"step": "backtracking"},
        {"step": "backtracking", "smoothness": 9.0},
    )
)

_DRAWN = tuple(
    ScheduleRequest(epsilon, c, {"sampling": "importance"})
    for epsilon in (0.4, 0.03)
    for c in USUAL
)
"""Requests in which components are drawn in proportion to their L_i."""

_COARSE = tuple(request for request in WANTED if request.epsilon > 0.1)
"""Accuracies for which T, proportional to the cube of 1/epsilon, is an exact float."""

_L, _C = smoothness_L(USUAL[1]), USUAL[1]
_SIZES_SWITCH = (_L * _L / (_C.L2_ms * _C.n**2), _L * _L / (_C.L2_ms * _C.n**1.5))
"""Accuracies below which GE 4 and GE 5 have other formulas."""

_NFWU = (
    *(ScheduleRequest(epsilon, c) for epsilon in (0.4, 0.03, 0.002) for c in USUAL),
    *(ScheduleRequest(near * switch, _C) for switch in _SIZES_SWITCH for near in (0.6, 1.7)),
    *(ScheduleRequest(0.4, c) for c in SMALLEST),
)

REQUESTS = {
    "frank-wolfe": _SEARCHES,
    "sagafw": (*WANTED, *add_parameters_to_requests(option="claimed")),
    "spider-fw": (*WANTED, *_DRAWN),
    **dict.fromkeys(("storm-fw", "one-sfw", "momentum-sfw"), _COARSE),
    # For some accuracies, a small error in a term of the bound gives another T.
    "page-fw-convex": (*_COARSE, *requests_at_jumps(page_convex_bound)),
    **dict.fromkeys((f"nfwu-{name}" for name in ("sg", "svrg", "spiderg")), _NFWU),
    **dict.fromkeys(("nfwu-casvrg", "nfwu-caspiderg"), _NFWU),
}
"""Requests for which a schedule is compared, where they are not the usual ones."""
