"""Theorem 3.1 of peng2026, one matrix, L_1 = 0: the mean of |grad f(W_t)|_*, and a smaller bound.

pfbench derives its bound for any O with <N, O> >= lo |N|_* and |O| <= hi. Let e_t = N_t - grad
f(W_t). Then

    f(W_{t+1}) <= f(W_t) - eta lo |grad f(W_t)|_* + eta (lo + hi) |e_t|_* + L eta^2 hi^2/2,

as <grad f, O> = <N, O> - <e, O> >= lo (|grad f|_* - |e|_*) - hi |e|_*. By the recursions

    e_t = -beta1^t beta2 grad f(W_1) + (1 - beta1 beta2) z_t
          + beta2 (1 - beta1) sum_{k<t} beta1^(t-k) z_k
          + beta2 sum_{k=2}^t beta1^(t-k+1) (grad f(W_{k-1}) - grad f(W_k)),

z_k = g_k - grad f(W_k). The first term has the sum beta1 beta2 |grad f(W_1)|_*/(1 - beta1) over t
at most, the last is beta1 beta2 L eta hi/(1 - beta1) at most. The z_k are orthogonal in the mean,
so that their term is at most sqrt(V r) sigma, where sigma^2 is the variance of a batch. The bound
follows by a sum over t.
"""

import math
from functools import partial
from typing import Any

import numpy as np

from pfbench.sets.norms import LmoQuality
from pfbench.verification import Claim, make_instance
from pfbench.verification.instruments.normed_quadratics import least_squares, parabola
from pfbench.verification.statements import path_mean
from pfbench.verification.units import GRADIENT, LENGTH, NUMBER, formula

BETAS = (0.0, 0.5, 0.9)
"""Values of beta1 = beta2 = beta, the parameter of the method; with noise the last alone."""

EXACT = LmoQuality(1.0, 1.0)

# --- the schedule and the bounds ------------------------------------------------------------------


def limit_of_squared_weights(beta1: float, beta2: float) -> float:
    """Return the limit of the sum of squared weights with which past noise enters the estimate.

    The error e_t = N_t - grad f(W_t) contains a weighted sum of the gradient errors z_k.
    """
    return (1.0 - beta1 * beta2) ** 2 + (beta1 * beta2) ** 2 * (1.0 - beta1) / (1.0 + beta1)


def noiseless_best_step(K: float, L: float, delta: float, beta1: float, beta2: float) -> float:
    """Return the step size that minimises `norm_bound_sharper` for exact gradients and lmo."""
    return math.sqrt(2.0 * delta / (K * L * (1.0 + 4.0 * beta1 * beta2 / (1.0 - beta1))))


def norm_bound_sharper(
    K: float,
    L: float,
    delta: float,
    initial: float,
    noise: float,
    eta: float,
    beta1: float,
    beta2: float,
    quality: LmoQuality,
) -> float:
    """Return pfbench's bound of the mean |grad f|_* over K steps of Muon with Nesterov's momentum.

    The initial |grad f(W_1)|_* is `initial`, sqrt(r) sigma is `noise`, and (lo, hi) is `quality`.
    """
    lo, hi = quality
    bias = beta1 * beta2 * (L * eta * hi + initial / K) / (1.0 - beta1)
    error = bias + math.sqrt(limit_of_squared_weights(beta1, beta2)) * noise
    return (delta / (K * eta) + L * eta * hi**2 / 2.0 + (lo + hi) * error) / lo


def norm_bound_printed(
    K: float,
    r: float,
    L_f: float,
    sigma: float,
    delta: float,
    initial: float,
    eta: float,
    beta1: float,
    beta2: float,
) -> float:
    """Return peng2026's bound (5), as printed, of Muon's mean |grad f|_*, for exact polar factors.

    The Frobenius norm of grad f(W_1) is `initial`.
    """
    weight = math.sqrt(1.0 - beta1) + math.sqrt(2.0 * beta1 * (1.0 - beta1 * beta2) * (1.0 - beta2))
    start = 2.0 * beta2 * math.sqrt(r) * initial / (K * (1.0 - beta1))
    drift = eta * L_f * r * (2.0 * beta2 / (1.0 - beta1) + 0.5)
    return delta / (K * eta) + start + 2.0 * weight * math.sqrt(r) * sigma + drift


# --- the check ------------------------------------------------------------------------------------


def nesterov_parameters(c: path_mean.Numbers, beta: float) -> path_mean.Numbers:
    """Return beta, and the step gamma = eta/rho of the smallest bound without noise."""
    eta = noiseless_best_step(c["K"], c["L"], c["delta"], beta, beta)
    return {"step": eta / c["rho"], "beta": beta}


def run_bound_sharper(problem: Any, *, beta: float, step: float, lo: float, hi: float) -> float:
    """Return `norm_bound_sharper` for a problem; infinity for noise and a beta below the last."""
    c, r = path_mean.constants_with_norm(problem), min(problem.shape)
    if problem.n > 1 and beta < max(BETAS):
        return math.inf
    initial, noise = path_mean.gradient_dual_norm(problem, problem.start()), math.sqrt(r)
    numbers = (c["K"], c["L"], c["delta"], initial, noise * c["sigma"], step * c["rho"])
    return norm_bound_sharper(*numbers, beta, beta, LmoQuality(lo, hi))


def run_bound_printed(problem: Any, *, beta: float, step: float) -> float:
    """Return `norm_bound_printed` for a problem; infinity where the other one is, or inexact."""
    c, r = path_mean.constants_with_norm(problem), min(problem.shape)
    if problem.norm.lmo != "exact" or (problem.n > 1 and beta < max(BETAS)):
        return math.inf
    initial = float(np.linalg.norm(problem.gradient(problem.start())))
    numbers = (c["K"], r, c["L_f"], c["sigma"], c["delta"], initial, step * c["rho"])
    return norm_bound_printed(*numbers, beta, beta)


_BETAS = {"beta1": 0.9, "beta2": 0.8}
_UNITS = {"eta": LENGTH, "initial": GRADIENT}

THEOREM = Claim(
    name="peng2026-thm3.1",
    source="peng2026 theorem 3.1, L_1 = 0, one matrix; the smaller bound: pfbench",
    kind="bound",
    statement=(
        "Muon with Nesterov's momentum: mean E|grad f(W_t)|_* <= (1/lo)[Delta/(K eta) + L eta "
        "hi^2/2 + (lo+hi)(beta1 beta2 L eta hi/(1-beta1) + sqrt(V r) sigma + beta1 beta2 "
        "|grad f(W_1)|_*/(K (1-beta1)))], V = (1-beta1 beta2)^2 + (beta1 beta2)^2 (1-beta1)/"
        "(1+beta1), for any orthogonaliser O with <N, O> >= lo |N|_* and |O| <= hi (pfbench); for "
        "the polar factor the printed bound (5) holds, too"
    ),
    check=path_mean.IterateMeanBound(
        bounds={"pfbench's": run_bound_sharper, "printed": run_bound_printed},
        parameters={f"beta = {beta:g}": partial(nesterov_parameters, beta=beta) for beta in BETAS},
    ),
    instances=(
        make_instance(parabola, K=100),
        make_instance(least_squares, K=200, sigma=0.0),
        make_instance(least_squares, K=200, sigma=0.0, lmo="quintic"),
        make_instance(least_squares, K=50, sigma=3.0),
        make_instance(least_squares, K=30, sigma=3.0, lmo="quintic"),
    ),
    algorithm="muon-nesterov",
    assumptions=(
        "|grad f(W) - grad f(V)|_* <= L |W - V|; the printed bound: with Frobenius norms",
        "gradients unbiased, of variance at most sigma^2",
    ),
    schedule="beta1 = beta2 = beta, eta of the smallest bound",
    expected_seconds=(2.0, 2.0),
    formulas=(
        formula(noiseless_best_step, LENGTH, _BETAS),
        formula(
            norm_bound_sharper,
            GRADIENT,
            {**_BETAS, "quality": LmoQuality(0.9, 1.05)},
            noise=GRADIENT,
            **_UNITS,
        ),
        formula(norm_bound_printed, GRADIENT, _BETAS, r=NUMBER, sigma=GRADIENT, **_UNITS),
    ),
)
