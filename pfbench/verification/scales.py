"""One scale: complexities under each criterion of stationarity, by the links between them.

V is the Frank-Wolfe gap, G the gradient mapping at lambda (THEORY section 3), C compact:

1. |G|^2 <= V/lambda, so V <= lambda eps gives |G|^2 <= eps;
2. V <= (D + lambda |grad f|) |G|, so |G| <= eps/(D + lambda sup|grad f|) gives V <= eps.

A complexity eps^-a n^b under one criterion is then one under every other: the power of eps is
multiplied by `_FACTORS`. It is what is provable by the links; a method may do better directly.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

GAP, MAPPING_SQ, MAPPING = CRITERIA = ("V <= eps", "|G|^2 <= eps", "|G| <= eps")
"""The criteria of the papers."""

_FACTORS: Mapping[tuple[str, str], float] = MappingProxyType(
    {
        ("V <= eps", "|G|^2 <= eps"): 1.0,
        ("V <= eps", "|G| <= eps"): 2.0,
        ("|G|^2 <= eps", "V <= eps"): 2.0,
        ("|G|^2 <= eps", "|G| <= eps"): 2.0,
        ("|G| <= eps", "V <= eps"): 1.0,
        ("|G| <= eps", "|G|^2 <= eps"): 0.5,
    }
)


@dataclass(frozen=True)
class Order:
    """eps^-a n^b, the leading term of a complexity.

    Attributes
    ----------
    eps
        a, the power of 1/eps.
    n
        b, the power of n.
    """

    eps: float
    n: float = 0.0

    def __str__(self) -> str:
        n = f"n^{self.n:.3g} " if self.n else ""
        return f"{n}eps^-{self.eps:.3g}"


@dataclass(frozen=True)
class Complexity:
    """The complexity of a method by the oracles it counts, under its paper's criterion."""

    method: str
    criterion: str
    orders: Mapping[str, Order]

    def under(self, criterion: str) -> "Complexity":
        """Return what follows under another criterion by the links."""
        factor = 1.0 if criterion == self.criterion else _FACTORS[self.criterion, criterion]
        orders = {kind: Order(o.eps * factor, o.n) for kind, o in self.orders.items()}
        return Complexity(self.method, criterion, orders)


def complexity(method: str, criterion: str, **orders: tuple[float, float] | float) -> Complexity:
    """Return a complexity from powers of 1/eps, or pairs of these with powers of n, by oracle."""
    pairs = {k: o if isinstance(o, tuple) else (o, 0.0) for k, o in orders.items()}
    return Complexity(method, criterion, {k: Order(*pair) for k, pair in pairs.items()})


COMPLEXITIES: Mapping[str, Complexity] = MappingProxyType(
    {
        "lacoste2016-rate": complexity("frank-wolfe", GAP, FO=2.0, LO=2.0),
        "shen2019-table1-sg": complexity("sfw", GAP, SFO=4.0, LO=2.0),
        "shen2019-table1-svrg": complexity("svfw", GAP, SFO=(2.0, 2 / 3), LO=2.0),
        "shen2019-table1-spiderg": complexity("nfwu-spiderg", GAP, SFO=(2.0, 1 / 2), LO=2.0),
        "shen2019-table1-casvrg": complexity("nfwu-casvrg", GAP, SFO=(1.6, 0.8), LO=2.0),
        "shen2019-table1-caspiderg": complexity("nfwu-caspiderg", GAP, SFO=(1.5, 0.75), LO=2.0),
        "shen2019-sagafw": complexity("sagafw", GAP, SFO=(2.0, 1 / 3), LO=2.0),
        "qu2018-cor1": complexity("ncgs", MAPPING_SQ, FO=1.0, LO=2.0),
        "qu2018-cor2": complexity("ncgs-stochastic", MAPPING_SQ, SFO=2.0, LO=2.0),
        "qu2018-cor3": complexity("ncgs-vr", MAPPING_SQ, SFO=(1.0, 2 / 3), LO=2.0),
        "wang2019-thm3": complexity("prox-spiderboost-m", MAPPING, SFO=(2.0, 1 / 2), PO=2.0),
        "wang2019-table1-prox-gd": complexity("prox-gd", MAPPING, SFO=(2.0, 1.0), PO=2.0),
        "wang2019-table1-prox-sgd": complexity("prox-sgd", MAPPING, SFO=4.0, PO=2.0),
        "wang2019-table1-prox-svrg": complexity("prox-svrg", MAPPING, SFO=(2.0, 2 / 3), PO=2.0),
        "wang2019-table1-prox-saga": complexity("prox-saga", MAPPING, SFO=(2.0, 2 / 3), PO=2.0),
        "wang2019-table1-prox-svrg-plus": complexity(
            "prox-svrg-plus", MAPPING, SFO=(2.0, 2 / 3), PO=2.0
        ),
        "wang2019-table1-natasha15": complexity("natasha15", MAPPING, SFO=10 / 3, PO=10 / 3),
        "wang2019-table1-prox-spiderboost": complexity(
            "prox-spiderboost", MAPPING, SFO=(2.0, 1 / 2), PO=2.0
        ),
        "wang2019-table1-prox-spiderboost-online": complexity(
            "prox-spiderboost", MAPPING, SFO=3.0, PO=2.0
        ),
    }
)
"""What each rate claim says, as orders under its paper's criterion."""

PUBLISHED = (
    ("qu2018 table 1", "qu2018-cor1", "lacoste2016-rate"),
    ("qu2018 table 2", "qu2018-cor2", "shen2019-table1-sg"),
    ("qu2018 table 3", "qu2018-cor3", "shen2019-table1-svrg"),
)
"""Published comparisons of complexities under different criteria."""


@dataclass(frozen=True)
class Change:
    """A published comparison that ends otherwise under another criterion.

    Attributes
    ----------
    comparison, count
        Where it was published, and the oracle that is counted.
    as_published
        The winner as printed, each method under its own criterion.
    under
        The winner under each criterion, both methods under the same one.
    """

    comparison: str
    count: str
    as_published: str
    under: Mapping[str, str]


def changes() -> list[Change]:
    """Return the published comparisons whose winner depends on the criterion."""
    found = []
    for comparison, one, other in PUBLISHED:
        a, b = COMPLEXITIES[one], COMPLEXITIES[other]
        for count in a.orders:
            printed = _winner(a, b, count)
            under = {c: _winner(a.under(c), b.under(c), count) for c in CRITERIA[:2]}
            if {printed, *under.values()} != {printed}:
                found.append(Change(comparison, count, printed, under))
    return found


def _winner(a: Complexity, b: Complexity, count: str) -> str:
    """Return the method whose order is lower: first in eps, then in n."""
    one, other = a.orders[count], b.orders[count]
    if one == other:
        return "equal"
    return a.method if (one.eps, one.n) < (other.eps, other.n) else b.method
