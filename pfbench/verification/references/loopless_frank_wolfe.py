"""Plain references of Frank-Wolfe along SPIDER, PAGE, L-SVRG, ZeroSARAH and STORM estimates."""

from collections.abc import Iterator
from types import MappingProxyType
from typing import Any

import numpy as np

from pfbench.base.state import State


def spider_fw(ask: Any, x: Any, rng: Any, s: Any) -> Iterator[State]:
    """SPIDER-FW; with sampling=importance i has the chance q_i = L_i/(sum of L_j)."""
    at = x
    if s.sampling == "importance":
        L = ask.component_smoothness()
        q = L / L.sum()
    for t in range(s.iterations):
        if t % s.period == 0:
            g = ask.gradient(x)
        elif s.sampling == "uniform":
            g = g + ask.difference(rng.integers(ask.n, size=s.batch), x, at)
        else:
            S = rng.choice(ask.n, size=s.batch, p=q)
            changes = (ask.difference(np.array([i]), x, at) / (ask.n * q[i]) for i in S)
            g = g + sum(changes) / s.batch
        v = ask.lo(g)
        at, x = x, x + s.step * (v - x)
        yield State(x, at, g)


REFERENCES = MappingProxyType({"spider-fw": spider_fw})
