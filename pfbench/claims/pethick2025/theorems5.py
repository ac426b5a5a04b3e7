"""Lemma D.1 and theorems 5.4 to 5.7 of pethick2025: uSCG, and SCG over a ball.

Theorems 5.4 and 5.5 bound the mean of |grad f(x_k)|_* of uSCG, theorems 5.6 and 5.7 the mean of the
Frank-Wolfe gap of SCG. The "printed" bound is the one that we read in the paper, with the constants
of its proof. The "sharper" bound is pfbench's. The bounds use one constant zeta, where the paper
has rho_2/rho and zeta. D_2 = 2 rho zeta is the Euclidean diameter of the ball.
"""

import math
from functools import partial
from typing import Any

import numpy as np

from pfbench.claims.pethick2025 import parabolas
from pfbench.claims.pethick2025.descent import descent_bound, theorem_claim
from pfbench.verification import Claim, Instance, Trial, make_instance
from pfbench.verification.statements.each_instance import Parts, check_each_instance
from pfbench.verification.statements.path_mean import constants_with_norm, gap, gradient_dual_norm
from pfbench.verification.statistics import decide_inequality
from pfbench.verification.units import GRADIENT, VALUE, formula

ALPHA = 0.5
"""The constant momentum of theorem 5.4."""

# --- the bounds -----------------------------------------------------------------------------------


def constant_alpha_norm_bound_printed(
    K: int, alpha: float, L: float, L_f: float, rho: float, zeta: float, sigma: float, delta: float
) -> float:
    """Return pethick2025 theorem 5.4's bound of uSCG's mean |grad f(x_k)|_*, as printed.

    The step is gamma = K^(-1/2).
    """
    shrunk = math.sqrt(1.0 - alpha / 2.0)
    noise = (math.sqrt(alpha) + shrunk / (K * (1.0 - shrunk))) * sigma
    error = math.sqrt(2.0) * L_f * rho * zeta / (alpha * math.sqrt(K)) + noise
    return descent_bound(K, math.pow(K, -0.5), L, rho, delta, zeta, error)


def constant_alpha_norm_bound_sharper(
    K: int, alpha: float, L: float, L_f: float, rho: float, zeta: float, sigma: float, delta: float
) -> float:
    """Return pfbench's bound of uSCG's mean |grad f(x_k)|_* for a constant averaging weight alpha.

    It has separate terms for bias and noise.
    """
    noise = (math.sqrt(alpha / (2.0 - alpha)) + 1.0 / (alpha * K)) * sigma
    error = L_f * rho * zeta * (1.0 - alpha) / (alpha * math.sqrt(K)) + noise
    return descent_bound(K, math.pow(K, -0.5), L, rho, delta, zeta, error)


def vanishing_alpha_norm_bound_printed(
    K: int, L: float, L_f: float, rho: float, zeta: float, sigma: float, delta: float
) -> float:
    """Return pethick2025 theorem 5.5's bound of uSCG's mean |grad f(x_k)|_*, as printed.

    The bound holds for gamma from K^(-3/4)/2 to K^(-3/4), with alpha_k = k^(-1/2).
    """
    root = math.sqrt(4.0 * sigma**2 + 8.0 * (L_f * rho * zeta) ** 2)
    first = 2.0 * delta + 8.0 / 3.0 * (2.0 * rho * zeta) * root
    return first / (rho * math.pow(K, 0.25)) + L * rho / math.pow(K, 0.75)


def vanishing_alpha_norm_bound_sharper(
    K: int, L: float, L_f: float, rho: float, zeta: float, sigma: float, delta: float
) -> float:
    """Return pfbench's bound of uSCG's mean |grad f(x_k)|_* for averaging weights k^(-1/2).

    The errors satisfy sqrt(u_k) <= sigma k^(-1/4) + L_2 rho_2 gamma (sqrt(k) - 1), with gamma =
    K^(-3/4).
    """
    error = 4.0 / 3.0 * sigma + 2.0 / 3.0 * L_f * rho * zeta
    return (delta / rho + 2.0 * zeta * error) / math.pow(K, 0.25) + L * rho / (
        2.0 * math.pow(K, 0.75)
    )


# --- lemma D.1 ------------------------------------------------------------------------------------


@check_each_instance(repetitions=2)
def check_descent_lemma(trial: Trial, instance: Instance, problem: Any) -> Parts:
    """Test pethick2025's bounds D.1 of the mean |grad f(x_k)|_*, given the run's gradient errors.

    The error is lambda_k = d_k - grad f(x_k). The sharper bound has the mean of |lambda_k|_*, and
    the printed bound as tested has zeta times the mean of |lambda_k|_2. The paper has the root of
    a mean square instead, which is larger than both. So the bounds hold in each run, not only on
    average.
    """
    c, ratios = constants_with_norm(problem), dict[str, list[float]]()
    step = c["K"] ** -0.5
    for alpha in (1.0, 0.3):
        algorithm = trial.make(iterations=c["K"], batch=1, step=step, alpha=alpha)
        numbers = []
        for x, record in trial.follow_with_previous_point(problem, algorithm):
            error = record.estimate - problem.gradient(x)
            of_norms = problem.norm.dual_norm(error), float(np.linalg.norm(error))
            numbers.append((gradient_dual_norm(problem, x), *of_norms))
        measured, dual, plain = np.mean(numbers, axis=0)
        arguments = {key: c[key] for key in ("K", "L", "rho", "delta")}
        for label, zeta, error in (("printed", c["zeta"], plain), ("sharper", 1.0, dual)):
            bound = descent_bound(**arguments, gamma=step, zeta=zeta, error=float(error))
            ratios.setdefault(f"{label}, {instance.label}", []).append(float(measured) / bound)
    return {name: decide_inequality(some) for name, some in ratios.items()}


# --- the claims -----------------------------------------------------------------------------------

ASSUMED = (
    "|grad f(x) - grad f(y)|_* <= L |x - y|",
    "f >= min f",
    "gradients unbiased, of variance at most sigma^2",
)

LEMMA_1 = Claim(
    name="pethick2025-lemD.1",
    source="pethick2025 lemma D.1; sharper: pfbench",
    kind="bound",
    statement=(
        "uSCG: mean |grad f(x_k)|_* <= Delta/(rho gamma K) + L rho gamma/2 + 2 zeta mean sqrt(u_k)"
        "; "
        "sharper (ours), in each run: the last term 2 mean |lambda_k|_*"
    ),
    check=check_descent_lemma,
    instances=(
        make_instance(parabolas.make_distant_parabola, K=1_000, begin=1_000**0.5),
        make_instance(parabolas.make_oscillation_parabola, K=1_000, step=1_000**-0.5),
        make_instance(parabolas.make_linf_quadratic, K=100),
        make_instance(parabolas.make_spectral_least_squares, K=100),
    ),
    algorithm="uscg",
    assumptions=ASSUMED[:2],
    schedule="gamma = K^(-1/2), alpha = 1 and 0.3",
    expected_seconds=(0.8, 0.8),
    formulas=(formula(descent_bound, GRADIENT, gamma=(0, 0), error=GRADIENT),),
)

_theorem = partial(
    theorem_claim, quantity=gradient_dual_norm, unit=GRADIENT, algorithm="uscg", assumptions=ASSUMED
)

CONSTANT = _theorem(
    "5.4",
    constant_alpha_norm_bound_printed,
    constant_alpha_norm_bound_sharper,
    statement=(
        "uSCG, alpha constant, gamma = K^(-1/2): E |grad f|_* <= Delta/(rho sqrt(K)) + L rho/"
        "(2 sqrt(K)) + 2 zeta [sqrt(2) L_2 rho_2/(alpha sqrt(K)) + (sqrt(alpha) + s/(K(1-s))) "
        "sigma], s = sqrt(1-alpha/2); sharper (ours): [L_2 rho_2 (1-alpha)/(alpha sqrt(K)) + "
        "(sqrt(alpha/(2-alpha)) + 1/(alpha K)) sigma]"
    ),
    alpha=ALPHA,
    instances=(
        make_instance(parabolas.make_distant_parabola, K=1_000, begin=1_000**0.5),
        make_instance(parabolas.make_linf_quadratic, K=100),
        make_instance(parabolas.make_spectral_least_squares, K=100),
    ),
    expected_seconds=(2.0, 2.0),
)

VANISHING = _theorem(
    "5.5",
    vanishing_alpha_norm_bound_printed,
    vanishing_alpha_norm_bound_sharper,
    statement=(
        "uSCG, alpha_k = k^(-1/2), gamma = K^(-3/4): E |grad f|_* <= [2 Delta + (8/3)(2 rho_2) "
        "sqrt(4 sigma^2 + 8 L_2^2 rho_2^2)]/(rho K^(1/4)) + L rho/K^(3/4); sharper (ours): "
        "[Delta/rho + 2 zeta ((4/3) sigma + (2/3) L_2 rho_2)] K^(-1/4) + L rho/(2 K^(3/4))"
    ),
    instances=(
        *(
            make_instance(parabolas.make_distant_parabola, K=K, begin=math.pow(K, 0.25))
            for K in (100, 1_000, 10_000, 100_000)
        ),
        make_instance(
            parabolas.make_distant_parabola, K=10_000, begin=10_000**0.25 / 4.0
        ).with_title("returns"),
        make_instance(parabolas.make_two_point_noise_parabola, K=1_000, size=1.63),
        make_instance(parabolas.make_linf_quadratic, K=100),
        make_instance(parabolas.make_spectral_least_squares, K=100),
    ),
    expected_seconds=(4.0, 10.0),
)


SCG_ALPHA = 1.0
"""The constant momentum of theorem 5.6; with exact gradients the bound is tightest at 1."""

# --- SCG over a ball ------------------------------------------------------------------------------


def constant_alpha_gap_bound_printed(
    K: int, alpha: float, L: float, L_f: float, rho: float, zeta: float, sigma: float, delta: float
) -> float:
    """Return pethick2025 theorem 5.6's bound of SCG's mean Frank-Wolfe gap, as printed.

    The step is gamma = K^(-1/2).
    """
    shrunk, D = math.sqrt(1.0 - alpha / 2.0), 2.0 * rho * zeta
    noise = (math.sqrt(2.0 * alpha) + shrunk / (K * (1.0 - shrunk))) * sigma
    error = 2.0 * L_f * D / (alpha * math.sqrt(K)) + noise
    return (delta + 2.0 * L * rho**2) / math.sqrt(K) + D * error


def constant_alpha_gap_bound_sharper(
    K: int, alpha: float, L: float, L_f: float, rho: float, zeta: float, sigma: float, delta: float
) -> float:
    """Return pfbench's bound of SCG's mean Frank-Wolfe gap for a constant averaging weight alpha.

    It has separate terms for bias and noise.
    """
    D = 2.0 * rho * zeta
    noise = (math.sqrt(alpha / (2.0 - alpha)) + 1.0 / (alpha * K)) * sigma
    error = L_f * D * (1.0 - alpha) / (alpha * math.sqrt(K)) + noise
    return (delta + 2.0 * L * rho**2) / math.sqrt(K) + D * error


def vanishing_alpha_gap_bound_printed(
    K: int, L: float, L_f: float, rho: float, zeta: float, sigma: float, delta: float
) -> float:
    """Return pethick2025 theorem 5.7's bound of SCG's mean Frank-Wolfe gap, as printed."""
    D = 2.0 * rho * zeta
    root = math.sqrt(4.0 * sigma**2 + 8.0 * (L_f * D) ** 2)
    return (2.0 * delta + 4.0 / 3.0 * D * root) / math.pow(K, 0.25) + 2.0 * L * rho**2 / math.pow(
        K, 0.75
    )


def vanishing_alpha_gap_bound_sharper(
    K: int, L: float, L_f: float, rho: float, zeta: float, sigma: float, delta: float
) -> float:
    """Return pfbench's bound of SCG's mean Frank-Wolfe gap for averaging weights k^(-1/2).

    The errors satisfy sqrt(u_k) <= sigma k^(-1/4) + L_2 D_2 gamma (sqrt(k) - 1).
    """
    D = 2.0 * rho * zeta
    error = 4.0 / 3.0 * sigma + 2.0 / 3.0 * L_f * D
    return (delta + D * error) / math.pow(K, 0.25) + 2.0 * L * rho**2 / math.pow(K, 0.75)


# --- the claims on SCG ----------------------------------------------------------------------------

SCG_ASSUMED = (
    "|grad f(x) - grad f(y)|_* <= L |x - y|",
    "x_1 in the ball",
    "gradients unbiased, of variance at most sigma^2",
)

_scg_theorem = partial(
    theorem_claim,
    quantity=gap,
    unit=VALUE,
    instances=(
        make_instance(parabolas.line_instance, K=10_000),
        make_instance(parabolas.noisy_cube_instance, K=100),
    ),
    algorithm="scg",
    assumptions=SCG_ASSUMED,
    expected_seconds=(0.8, 0.8),
)

SCG_CONSTANT = _scg_theorem(
    "5.6",
    constant_alpha_gap_bound_printed,
    constant_alpha_gap_bound_sharper,
    statement=(
        "SCG, alpha constant, gamma = K^(-1/2): E V <= (Delta + 2 L rho^2)/sqrt(K) + D_2 [2 L_2 "
        "D_2/(alpha sqrt(K)) + (sqrt(2 alpha) + s/(K(1-s))) sigma], s = sqrt(1-alpha/2); sharper "
        "(ours): D_2 [L_2 D_2 (1-alpha)/(alpha sqrt(K)) + (sqrt(alpha/(2-alpha)) + 1/(alpha K)) "
        "sigma]"
    ),
    alpha=SCG_ALPHA,
)

SCG_VANISHING = _scg_theorem(
    "5.7",
    vanishing_alpha_gap_bound_printed,
    vanishing_alpha_gap_bound_sharper,
    statement=(
        "SCG, alpha_k = k^(-1/2), gamma = K^(-3/4): E V <= [2 Delta + (4/3) D_2 sqrt(4 sigma^2 + "
        "8 L_2^2 D_2^2)]/K^(1/4) + 2 L rho^2/K^(3/4); sharper (ours): [Delta + D_2 ((4/3) sigma + "
        "(2/3) L_2 D_2)]/K^(1/4) + 2 L rho^2/K^(3/4)"
    ),
)
