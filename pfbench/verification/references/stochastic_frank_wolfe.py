"""Reference implementations of Frank-Wolfe methods that use gradient estimates."""

import math
from collections.abc import Callable, Iterator
from functools import partial
from types import MappingProxyType
from typing import Any

import numpy as np

from pfbench.base.state import State
from pfbench.verification.references import estimates
from pfbench.verification.references.estimates import EstimateGenerator, Estimator, steps_along


def frank_wolfe_moves(
    ask: Any,
    x: Any,
    s: Any,
    estimate: EstimateGenerator,
    gamma: Callable[[int], float] | None = None,
) -> Iterator[State]:
    """Run Frank-Wolfe: step by gamma_t toward the point v_t of the set that minimises <g_t, v>.

    The step is x_{t+1} = (1 - gamma_t) x_t + gamma_t v_t; g_t is the gradient estimate at x_t.
    """

    def move(x: Any, g: Any, t: int) -> Any:
        step = s.step if gamma is None else gamma(t)
        return (1.0 - step) * x + step * ask.lo(g)

    return steps_along(estimate, x, s, move)


def constant_steps(ask: Any, x: Any, rng: Any, s: Any, *, estimator: Estimator) -> Iterator[State]:
    """Run Frank-Wolfe along gradient estimates with a constant step size gamma."""
    return frank_wolfe_moves(ask, x, s, estimator(ask, rng, s))


def spider_fw(ask: Any, x: Any, rng: Any, s: Any) -> Iterator[State]:
    """Run SPIDER-FW (Yurtsever et al. 2019), or its form with importance sampling (Lan 2020).

    The second form is in section 7.4 of Lan 2020.
    """
    uniform = s.sampling == "uniform"
    estimate = estimates.spider if uniform else estimates.spider_by_smoothness
    return frank_wolfe_moves(ask, x, s, estimate(ask, rng, s))


def _falling_step_sizes(s: Any, delay: float = 2.0) -> Callable[[int], float]:
    """Return the step size rule gamma_t = 2/(t + delay), or the constant `s.step` if it is set."""
    return lambda t: s.step or 2.0 / (t + delay)


def one_sfw(ask: Any, x: Any, rng: Any, s: Any) -> Iterator[State]:
    """Run 1-SFW (Zhang et al. 2020): Frank-Wolfe along STORM estimates.

    By default, alpha_t = 1/(t+1).
    """
    d = estimates.storm(ask, rng, s, lambda t: s.alpha or 1.0 / (t + 1))
    return frank_wolfe_moves(ask, x, s, d, _falling_step_sizes(s))


def momentum_sfw(ask: Any, x: Any, rng: Any, s: Any) -> Iterator[State]:
    """Run stochastic Frank-Wolfe with momentum weight (t+1)^(-2/3) (Mokhtari et al. 2020)."""
    d = estimates.heavy_ball(ask, rng, s, lambda t: s.alpha or (t + 1.0) ** (-2 / 3))
    return frank_wolfe_moves(ask, x, s, d, _falling_step_sizes(s))


def page_fw_convex(ask: Any, x: Any, rng: Any, s: Any) -> Iterator[State]:
    """Run Frank-Wolfe along PAGE estimates with step sizes gamma_t = 2/(t + s.delay)."""
    g = estimates.page(ask, rng, s)
    return frank_wolfe_moves(ask, x, s, g, _falling_step_sizes(s, s.delay))


def spider_fw_convex(ask: Any, x: Any, rng: Any, s: Any) -> Iterator[State]:
    """Run SPIDER-FW for convex f (Yurtsever et al. 2019), whose epochs and batches double."""
    g = estimates.doubling_spider(ask, rng, s)
    return frank_wolfe_moves(ask, x, s, g, _falling_step_sizes(s))


def nfwu(ask: Any, x: Any, rng: Any, s: Any, *, estimator: Estimator) -> Iterator[State]:
    """Run NFWU (shen2019, algorithm 1): Frank-Wolfe with a constant step size.

    The step is x_{t+1} = x_t + (eta/D)(v_t - x_t).

    With restarts, run NFWU several times and keep the best output.
    """
    k = s.restarts or 1
    if s.probability is not None:
        k = math.ceil(math.log2(1.0 / s.probability) * (1.0 - 1e-12))
    if k == 1:
        yield from constant_steps(ask, x, rng, s, estimator=estimator)
    else:
        yield from repeat_runs_keeping_best(ask, x, rng, s, k, estimator)


def repeat_runs_keeping_best(
    ask: Any, start: Any, rng: Any, s: Any, runs: int, estimator: Estimator
) -> Iterator[State]:
    """Yield the states of repeated runs from one start, each with the best output candidate so far.

    Each run has one candidate for the output; the best one so far has the smallest Frank-Wolfe gap.
    """
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


_CONSTANT = {
    "sfw": estimates.sg,
    "svfw": estimates.svrg_with_batch_at_snapshot,
    "sagafw": estimates.saga,
    "page-fw": estimates.page,
    "lsvrg-fw": estimates.lsvrg,
    "zerosarah-fw": estimates.zerosarah,
    "storm-fw": estimates.storm,
}
_NORMALISED = {
    "sg": estimates.sg,
    "svrg": estimates.svrg,
    "spiderg": estimates.spider,
    "casvrg": estimates.curvature_aided_svrg,
    "caspiderg": estimates.curvature_aided_spider,
    "page": estimates.page,
    "lsvrg": estimates.lsvrg,
    "storm": estimates.storm,
}

REFERENCES = MappingProxyType(
    {
        **{name: partial(constant_steps, estimator=e) for name, e in _CONSTANT.items()},
        **{f"nfwu-{name}": partial(nfwu, estimator=e) for name, e in _NORMALISED.items()},
        "spider-fw": spider_fw,
        "one-sfw": one_sfw,
        "momentum-sfw": momentum_sfw,
        "page-fw-convex": page_fw_convex,
        "spider-fw-convex": spider_fw_convex,
    }
)
