"""Constants of a problem used by schedules and bounds, each with its derivation."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Self

from pfbench.base.checks import unwrap_scalar
from pfbench.base.errors import RefusedError
from pfbench.base.names import unknown_name_error

MEANING = {
    "n": "number of components",
    "D": "Euclidean diameter of the feasible set",
    "L_f": "Lipschitz constant of the gradient of f",
    "L_ms": "mean-squared smoothness: E_i|grad f_i(x)-grad f_i(y)|^2 <= L_ms^2 |x-y|^2",
    "L_max": "every gradient of f_i is L_max-Lipschitz",
    "L_mean": "mean of the L_i, where the gradient of f_i is L_i-Lipschitz",
    "L2_ms": "mean-squared smoothness of the Hessians",
    "sigma2": "largest variance of a component gradient over the set",
    "delta": "f(start) minus a lower bound of f on the set",
    "M": "largest Euclidean norm of a point of the set",
    "sigma_hat": "effective strong convexity (li2019: sigma - 16 tau phi^2)",
    "ell": "lower smoothness: f(y) >= f(x)+<grad f(x),y-x>-(ell/2)|y-x|^2",
    "L_norm": "smoothness in the problem's norm: |grad f(x)-grad f(y)|_* <= L_norm |x-y|",
    "rho": "radius of the norm's ball",
    "zeta": "largest |x|_*/|x|_2; rho zeta is the largest Euclidean norm in the ball",
    "omega": "largest |x|/|x|_2",
}


@dataclass(frozen=True)
class Constants:
    """Constants of one problem and start point; a constant that is not stated is infinite.

    Attributes
    ----------
    n, D, L_f, L_ms, L_max, L_mean, L2_ms, sigma2, delta, M, sigma_hat, ell
        See `MEANING`.
    L_norm, rho, zeta, omega
        See `MEANING`. Gradients have the units of f per unit of x.
    derivations
        For each stated constant, one sentence on where it comes from.
    """

    n: int = math.inf  # type: ignore[assignment]
    D: float = math.inf
    L_f: float = math.inf
    L_ms: float = math.inf
    L_max: float = math.inf
    L_mean: float = math.inf
    L2_ms: float = math.inf
    sigma2: float = math.inf
    delta: float = math.inf
    M: float = math.inf
    sigma_hat: float = math.inf
    ell: float = math.inf
    L_norm: float = math.inf
    rho: float = math.inf
    zeta: float = math.inf
    omega: float = math.inf
    derivations: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))

    def __post_init__(self) -> None:
        for name in MEANING:
            object.__setattr__(self, name, unwrap_scalar(name, getattr(self, name)))

    def __getattr__(self, name: str) -> float:
        """Raise for an unknown constant, with the nearest name."""
        if name.startswith("_"):
            raise AttributeError(name)
        raise AttributeError(str(unknown_name_error("constant", name, (*MEANING, "L"))))

    @classmethod
    def from_derivations(cls, **statement: tuple[float, str]) -> Self:
        """Return constants from pairs of value and derivation, without the infinite ones."""
        scalars = {
            name: unwrap_scalar(name, statement[name][0]) for name in MEANING if name in statement
        }
        numbers: dict[str, Any] = {k: value for k, value in scalars.items() if math.isfinite(value)}
        words = MappingProxyType({name: statement[name][1] for name in numbers})
        return cls(**numbers, derivations=words)

    def require(self, name: str, purpose: str) -> float:
        """Return the constant `name`.

        Raises
        ------
        RefusedError
            If the constant is not finite; the message names it and the `purpose`.
        """
        value = float(getattr(self, name))
        if not math.isfinite(value):
            raise RefusedError(
                f"{purpose} needs the constant {name} ({MEANING[name]}), which this problem does "
                "not state: give the parameters explicitly instead of epsilon."
            )
        return value

    def smoothness(self, purpose: str) -> float:
        """Return max(L_f, L_ms), the L of stochastic methods; raise if either is not stated."""
        return max(self.require("L_f", purpose), self.require("L_ms", purpose))

    @property
    def L(self) -> float:
        """Smoothness constant L of stochastic methods: max(L_f, L_ms)."""
        return max(self.L_f, self.L_ms)
