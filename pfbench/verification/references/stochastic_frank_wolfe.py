"""Plain references of the stochastic Frank-Wolfe methods of Reddi et al. 2016 (Allerton)."""

from collections.abc import Iterator
from types import MappingProxyType
from typing import Any

from pfbench.base.state import State


def sfw(ask: Any, x: Any, rng: Any, s: Any) -> Iterator[State]:
    """SFW: g_t is the mean over a fresh batch of b."""
    for _ in range(s.iterations):
        S = rng.integers(ask.n, size=s.batch)
        g = ask.batch(S, x)
        v = ask.lo(g)
        at, x = x, x + s.step * (v - x)
        yield State(x, at, g)


REFERENCES = MappingProxyType({"sfw": sfw})
