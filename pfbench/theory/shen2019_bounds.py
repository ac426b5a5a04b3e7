"""Formulas of shen2019 (THEORY section 5): exact counts, error laws, least cost.

Symbols: n components, S the batch, p the epoch length, T iterations, j = t mod p, eta the step,
L = L_ms, L2 = L2_ms.
"""

import math
from dataclasses import dataclass

from pfbench.base.counts import Counts

CURVATURE_AIDED = frozenset({"casvrg", "caspiderg"})
"""The estimators that use component Hessians."""

RECURSIVE = frozenset({"spiderg", "caspiderg"})
"""The estimators that add to the estimate before."""


def exact_counts(estimator: str, *, n: int, S: int, p: int, T: int) -> Counts:
    """Return the exact counts of T iterations; component Hessians are kept for an epoch."""
    if estimator == "sg":
        return Counts(sfo=S * T, lo=T)
    epochs = -(-T // p)
    between = T - epochs
    sfo = n * epochs + 2 * S * between
    if estimator not in CURVATURE_AIDED:
        return Counts(fo=epochs, sfo=sfo, lo=T)
    return Counts(fo=epochs, sfo=sfo, sso=n * epochs, hvp=(n + S) * between, lo=T)


def error_law(
    estimator: str, j: float, eta: float, S: float, *, L: float, L2: float, sigma2: float
) -> float:
    """Return the bound of E|g - grad f|^2 at distance j from the snapshot, j >= 1."""
    laws = {
        "sg": sigma2,
        "svrg": L**2 * (j * eta) ** 2,
        "spiderg": L**2 * j * eta**2,
        "casvrg": L2**2 * (j * eta) ** 4 / 4.0,
        "caspiderg": L2**2 * eta**4 * j * (4.0 * j**2 - 1.0) / 12.0,
    }
    return laws[estimator] / S


EXPONENTS = {
    "sg": (0.0, 0.0),
    "svrg": (2.0, 2.0),
    "spiderg": (1.0, 2.0),
    "casvrg": (4.0, 4.0),
    "caspiderg": (3.0, 4.0),
}
"""Exponents of the error laws in j and in eta."""


@dataclass(frozen=True)
class LeastCost:
    """The least SFO an iteration for which (9) holds on the worst path.

    Attributes
    ----------
    cost
        n/p + 2S(p-1)/p; S for SG.
    S, p
        Where it is attained, integers.
    """

    cost: float
    S: int
    p: int


def least_cost(
    estimator: str, n: int, epsilon: float, *, L: float = 1.0, L2: float = 1.0, sigma2: float = 1.0
) -> LeastCost:
    """Return the least SFO an iteration, over S and p, for which E|g - grad f|^2 <= epsilon^2/4.

    eta = epsilon/L; the error is largest at j = p-1. The cost falls and then grows with p, up to
    the rounding of S; a fine geometric grid of p, refined around its best, finds it.
    """
    if estimator == "sg":
        S = math.ceil(4.0 * sigma2 / epsilon**2)
        return LeastCost(float(S), S, 1)

    def at(p: int) -> LeastCost:
        law = error_law(estimator, p - 1, epsilon / L, 1.0, L=L, L2=L2, sigma2=sigma2)
        S = max(1, math.ceil(4.0 * law / epsilon**2 * (1.0 - 1e-12)))
        return LeastCost((n + 2.0 * S * (p - 1)) / p, S, p)

    def best(periods: set[int]) -> LeastCost:
        return min((at(p) for p in periods if 2 <= p <= n), key=lambda found: found.cost)

    grid = {round(2.0 * 1.05**k) for k in range(math.ceil(math.log(n) / math.log(1.05)))}
    coarse = best(grid)
    around = range(int(coarse.p / 1.1), math.ceil(coarse.p * 1.1) + 1)
    step = max(1, len(around) // 400)
    return best({*around[::step], coarse.p})


CROSSOVERS = {"casvrg": (15.4, -0.75), "caspiderg": (6.4, -0.5)}
"""Below epsilon = factor (L^2/L2) n^power the estimator needs fewer SFO than SPIDERG."""
