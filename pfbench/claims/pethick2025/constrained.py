"""Theorems 5.6 and 5.7 of pethick2025: SCG over a ball, by the mean of the Frank-Wolfe gap.

The "printed" bound is the one that we read in the paper, with the constants of its proof. The
"sharper" bound is pfbench's. D_2 = 2 rho zeta is the Euclidean diameter of the ball.
"""

import math
from functools import partial

from pfbench.claims.pethick2025.descent import theorem_claim
from pfbench.claims.pethick2025.parabolas import line_instance, noisy_cube_instance
from pfbench.verification import make_instance
from pfbench.verification.statements.path_mean import gap
from pfbench.verification.units import VALUE

ALPHA = 1.0
"""The constant momentum of theorem 5.6; with exact gradients the bound is tightest at 1."""

# --- the bounds -----------------------------------------------------------------------------------


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


# --- the claims -----------------------------------------------------------------------------------

ASSUMED = (
    "|grad f(x) - grad f(y)|_* <= L |x - y|",
    "x_1 in the ball",
    "gradients unbiased, of variance at most sigma^2",
)

_theorem = partial(
    theorem_claim,
    quantity=gap,
    unit=VALUE,
    instances=(make_instance(line_instance, K=10_000), make_instance(noisy_cube_instance, K=100)),
    algorithm="scg",
    assumptions=ASSUMED,
    expected_seconds=(0.8, 0.8),
)

CONSTANT = _theorem(
    "5.6",
    constant_alpha_gap_bound_printed,
    constant_alpha_gap_bound_sharper,
    statement=(
        "SCG, alpha constant, gamma = K^(-1/2): E V <= (Delta + 2 L rho^2)/sqrt(K) + D_2 [2 L_2 "
        "D_2/(alpha sqrt(K)) + (sqrt(2 alpha) + s/(K(1-s))) sigma], s = sqrt(1-alpha/2); sharper "
        "(ours): D_2 [L_2 D_2 (1-alpha)/(alpha sqrt(K)) + (sqrt(alpha/(2-alpha)) + 1/(alpha K)) "
        "sigma]"
    ),
    alpha=ALPHA,
)

VANISHING = _theorem(
    "5.7",
    vanishing_alpha_gap_bound_printed,
    vanishing_alpha_gap_bound_sharper,
    statement=(
        "SCG, alpha_k = k^(-1/2), gamma = K^(-3/4): E V <= [2 Delta + (4/3) D_2 sqrt(4 sigma^2 + "
        "8 L_2^2 D_2^2)]/K^(1/4) + 2 L rho^2/K^(3/4); sharper (ours): [Delta + D_2 ((4/3) sigma + "
        "(2/3) L_2 D_2)]/K^(1/4) + 2 L rho^2/K^(3/4)"
    ),
)

CLAIMS = (CONSTANT, VANISHING)
