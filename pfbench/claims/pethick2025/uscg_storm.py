"""uSCG along STORM's estimate: the mean of |grad f(x_k)|_* decreases as K^(-1/3).

The statement and its proof are pfbench's. Steps are rho_2 gamma long, and alpha = L_ms rho_2
gamma/sigma. With a first batch of one sample, the exact law of STORM's error gives sqrt(u_k) <=
sqrt(2 L_ms rho_2 gamma sigma) + (1 - alpha)^(k-1) sigma. Lemma D.1 of pethick2025 gives the other
terms of the bound. The step gamma minimises the sum of the first and the third term.
"""

import math

from pfbench.claims.pethick2025.descent import descent_bound
from pfbench.claims.pethick2025.parabolas import (
    make_linf_quadratic,
    make_spectral_least_squares,
    make_two_point_noise_parabola,
)
from pfbench.verification import Claim, make_instance
from pfbench.verification.statements.path_mean import Numbers, PathMeanBound, gradient_dual_norm
from pfbench.verification.units import GRADIENT, NUMBER, formula


def storm_step(K: float, L_ms: float, rho: float, zeta: float, sigma: float, delta: float) -> float:
    """Return the step size for which the bound of uSCG with STORM estimates is nearly smallest.

    It is gamma = (2 A/B)^(2/3), A = Delta/(rho K), B = 2 zeta sqrt(2 L_ms rho_2 sigma).
    """
    A = delta / (rho * K)
    B = 2.0 * zeta * math.sqrt(2.0 * L_ms * rho * zeta * sigma)
    return math.pow(2.0 * A / B, 2.0 / 3.0)


def storm_parameters(c: Numbers) -> Numbers:
    """Return the parameters of uSCG with STORM: the step gamma, alpha, and a first batch of one."""
    names = ("K", "L_ms", "rho", "zeta", "sigma", "delta")
    step = storm_step(**{name: c[name] for name in names})
    alpha = min(1.0, c["L_ms"] * c["rho"] * c["zeta"] * step / c["sigma"])
    return {"step": step, "alpha": alpha, "snapshot": 1}


def storm_bound(
    K: float, L: float, L_ms: float, rho: float, zeta: float, sigma: float, delta: float
) -> float:
    """Return the bound of the mean |grad f(x_k)|_* over K iterations of uSCG with STORM estimates.

    The bound is Delta/(rho gamma K) + L rho gamma/2 + 2 zeta [sqrt(2 L_ms s sigma) + sigma/(alpha
    K)] with s = rho_2 gamma. If alpha is capped at 1, the term of the error is at least sigma.
    """
    gamma = storm_step(K, L_ms, rho, zeta, sigma, delta)
    s = rho * zeta * gamma
    alpha = min(1.0, L_ms * s / sigma)
    error = math.sqrt(2.0 * L_ms * s * sigma) + sigma / (alpha * K)
    return descent_bound(K, gamma, L, rho, delta, zeta, error)


STORM = Claim(
    name="pethick2025-uscg-mvr",
    source="on uSCG of pethick2025 with the estimate of cutkosky2019; pfbench",
    statement=(
        "uSCG along STORM, alpha = L_ms rho_2 gamma/sigma, gamma = (2A/B)^(2/3): mean E|grad f|_* "
        "<= Delta/(rho gamma K) + L rho gamma/2 + 2 zeta sqrt(2 L_ms rho_2 gamma sigma) + 2 zeta "
        "sigma/(alpha K), of order K^(-1/3) (ours)"
    ),
    check=PathMeanBound(
        bounds={"ours": storm_bound}, quantity=gradient_dual_norm, parameters=storm_parameters
    ),
    instances=(
        make_instance(make_two_point_noise_parabola, K=1_000, size=1.63),
        make_instance(make_linf_quadratic, K=100),
        make_instance(make_spectral_least_squares, K=100),
    ),
    algorithm="uscg-mvr",
    assumptions=(
        "|grad f(x) - grad f(y)|_* <= L |x - y|",
        "the f_i smooth in mean square",
        "gradients of variance at most sigma^2",
    ),
    schedule="that of the statement, first batch of one",
    expected_seconds=(2.0, 2.0),
    formulas=(
        formula(storm_bound, GRADIENT, sigma=GRADIENT),
        formula(storm_step, NUMBER, sigma=GRADIENT),
    ),
)

CLAIMS = (STORM,)
