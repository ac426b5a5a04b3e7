"""Plain references of normalised Frank-Wolfe updates (shen2019, algorithm 1)."""

import math
from collections.abc import Callable, Iterator
from functools import partial
from types import MappingProxyType
from typing import Any

import numpy as np

from pfbench.base.state import State
from pfbench.verification.references import estimates
from pfbench.verification.references.estimates import EstimateGenerator
from pfbench.verification.references.moves import frank_wolfe_moves


def nfwu(
    ask: Any, x: Any, rng: Any, s: Any, *, estimator: Callable[..., EstimateGenerator]
) -> Iterator[State]:
    """x_{t+1} = x_t + (eta/D)(v_t - x_t), v_t = argmin over C of <g_t, v>, g_t = GE(x_t)."""
    k = s.restarts or 1
    if s.probability is not None:
        k = math.ceil(math.log2(1.0 / s.probability) * (1.0 - 1e-12))
    if k == 1:
        yield from frank_wolfe_moves(ask, x, s, estimator(ask, rng, s))
    else:
        yield from repeat_runs_keeping_best(ask, x, rng, s, k, estimator)


def repeat_runs_keeping_best(
    ask: Any, start: Any, rng: Any, s: Any, runs: int, estimator: Callable[..., EstimateGenerator]
) -> Iterator[State]:
    """Yield the states of several runs; the output is the candidate with the least gap so far."""
    best, lower = start, math.inf
    for _ in range(runs):
        t0 = int(rng.integers(s.iterations)) if s.output == "uniform" else None
        for t, state in enumerate(frank_wolfe_moves(ask, start, s, estimator(ask, rng, s))):
            if t == t0:
                candidate = state.at
            if t == s.iterations - 1:
                candidate = state.x if t0 is None else candidate
                g = ask.gradient(candidate)
                gap = float(np.vdot(g, candidate) - np.vdot(g, ask.lo(g)))
                if gap < lower:
                    best, lower = candidate, gap
            yield state._replace(output=best)


def _storm(ask: Any, rng: Any, s: Any) -> EstimateGenerator:
    """Yield STORM's estimates with a constant weight."""
    return estimates.storm(ask, rng, s, lambda t: s.alpha)


REFERENCES = MappingProxyType(
    {
        f"nfwu-{name}": partial(nfwu, estimator=estimator)
        for name, estimator in (
            ("sg", estimates.sg),
            ("svrg", estimates.svrg),
            ("spiderg", estimates.spider),
            ("casvrg", estimates.casvrg),
            ("caspiderg", estimates.caspider),
            ("page", estimates.page),
            ("lsvrg", estimates.lsvrg),
            ("storm", _storm),
        )
    }
)
