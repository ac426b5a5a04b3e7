"""Conversion of iteration complexities between stationarity criteria.

V is the Frank-Wolfe gap over a compact set of diameter D, and G is the gradient mapping with step
lambda. The inequality of the projection implies two relations:

1. |G|^2 <= V/lambda, so V <= lambda eps gives |G|^2 <= eps;
2. V <= (D + lambda |grad f|) |G|, so |G| <= eps/(D + lambda sup|grad f|) gives V <= eps.

A complexity eps^-a n^b under one criterion thus implies one under every other criterion: `_FACTORS`
multiplies the power of eps. A direct proof may give a smaller complexity.
"""

from collections.abc import Mapping
from dataclasses import dataclass

GAP, MAPPING_SQ, MAPPING = CRITERIA = ("V <= eps", "|G|^2 <= eps", "|G| <= eps")
"""Criteria of stationarity in the papers."""

EXCESS = "f - min f <= eps"
"""Criterion for convex f; no link leads to it."""

_FACTORS: Mapping[tuple[str, str], float] = {
    ("V <= eps", "|G|^2 <= eps"): 1.0,
    ("V <= eps", "|G| <= eps"): 2.0,
    ("|G|^2 <= eps", "V <= eps"): 2.0,
    ("|G|^2 <= eps", "|G| <= eps"): 2.0,
    ("|G| <= eps", "V <= eps"): 1.0,
    ("|G| <= eps", "|G|^2 <= eps"): 0.5,
}


@dataclass(frozen=True)
class ComplexityOrder:
    """Order of growth eps^-a n^b of oracle calls, where the field `eps` is a and `n` is b.

    Attributes
    ----------
    eps
        Power a of 1/eps; 0 stands for log(1/eps).
    n
        Power b of n.
    """

    eps: float
    n: float = 0.0

    def __str__(self) -> str:
        n = f"n^{self.n:.3g} " if self.n else ""
        return f"{n}eps^-{self.eps:.3g}" if self.eps else f"{n}log(1/eps)"


@dataclass(frozen=True)
class Complexity:
    """Orders of a method's oracle calls to reach accuracy eps under a stationarity criterion."""

    method: str
    criterion: str
    orders: Mapping[str, ComplexityOrder]

    def is_known_under(self, criterion: str) -> bool:
        """Return whether the complexity is known, or can be derived, under another criterion."""
        return criterion == self.criterion or (self.criterion, criterion) in _FACTORS

    def convert(self, criterion: str) -> "Complexity":
        """Convert the numbers of oracle calls to another stationarity criterion."""
        factor = 1.0 if criterion == self.criterion else _FACTORS[self.criterion, criterion]
        orders = {kind: ComplexityOrder(o.eps * factor, o.n) for kind, o in self.orders.items()}
        return Complexity(self.method, criterion, orders)


def complexity(method: str, criterion: str, **orders: tuple[float, float] | float) -> Complexity:
    """Return a complexity from the power of 1/eps, or the powers of 1/eps and n, per oracle kind.

    The powers are keyword arguments, one for each oracle kind.
    """
    pairs = {k: o if isinstance(o, tuple) else (o, 0.0) for k, o in orders.items()}
    return Complexity(method, criterion, {k: ComplexityOrder(*pair) for k, pair in pairs.items()})
