"""The summed decrease of uSCG's steps: lemma D.1 of pethick2025, and claims of theorems."""

from collections.abc import Callable
from functools import partial
from typing import Any

from pfbench.verification import Claim
from pfbench.verification.statements.path_mean import IterateMeanBound, Numbers
from pfbench.verification.units import GRADIENT, Unit, formula


def descent_bound(
    K: float, gamma: float, L: float, rho: float, delta: float, zeta: float, error: float
) -> float:
    """Return pethick2025 lemma D.1's bound of the mean |grad f(x_k)|_*, given a gradient error.

    It is Delta/(rho gamma K) + L rho gamma/2 + 2 zeta error.
    """
    return delta / (rho * gamma * K) + L * rho * gamma / 2.0 + 2.0 * zeta * error


def constant_alpha_parameters(c: Numbers, alpha: float) -> Numbers:
    """Return the step K^(-1/2) and the constant alpha of theorems 5.4 and 5.6 of pethick2025."""
    return {"alpha": alpha, "step": c["K"] ** -0.5}


def vanishing_alpha_parameters(c: Numbers) -> Numbers:
    """Return the step K^(-3/4) of pethick2025's theorems 5.5 and 5.7; alpha_k has its default."""
    return {"step": c["K"] ** -0.75}


def theorem_claim(
    number: str,
    *bounds: Callable[..., float],
    quantity: Any,
    unit: Unit,
    alpha: float = 0.0,
    **report: Any,
) -> Claim:
    """Return the claim of a theorem of pethick2025, with its bound as printed and a sharper bound.

    Both bounds are on the mean of `quantity`, whose unit is `unit`. `alpha` is the constant
    momentum; 0 stands for alpha_k = k^(-1/2). `report` has further arguments of `Claim`.
    """
    fixed, vanishing = {"alpha": alpha} if alpha else {}, "alpha_k = k^(-1/2), gamma = K^(-3/4)"
    return Claim(
        name=f"pethick2025-thm{number}",
        source=f"pethick2025 theorem {number}; sharper: pfbench",
        check=IterateMeanBound(
            bounds=dict(zip(("printed", "sharper"), bounds, strict=True)),
            quantity=quantity,
            parameters=partial(constant_alpha_parameters, alpha=alpha)
            if alpha
            else vanishing_alpha_parameters,
        ),
        schedule=f"alpha = {alpha:g}, gamma = K^(-1/2)" if alpha else vanishing,
        admits={} if alpha else {"step": (0.5, 1.0)},
        formulas=tuple(formula(bound, unit, fixed, sigma=GRADIENT) for bound in bounds),
        **report,
    )
