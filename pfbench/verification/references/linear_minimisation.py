"""Reference implementations of methods that move along linear minimisers of gradient estimates."""

import math
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from pfbench.base.state import State
from pfbench.verification.references import estimates
from pfbench.verification.references.estimates import EstimateGenerator, Estimator, steps_along


def lmo_steps(
    ask: Any,
    x: Any,
    s: Any,
    estimate: EstimateGenerator,
    gamma: Callable[[int], float] | None = None,
    decay: float = 1.0,
) -> Iterator[State]:
    """Run steps of size gamma_t toward the v_t that minimises <g_t, v> over a set or a norm ball.

    The step is x_{t+1} = (1 - decay gamma_t) x_t + gamma_t v_t; g_t is the gradient estimate at
    x_t. In a set, decay is 1.
    """

    def move(x: Any, g: Any, t: int) -> Any:
        step = s.step if gamma is None else gamma(t)
        return (1.0 - decay * step) * x + step * ask.lo(g)

    return steps_along(estimate, x, s, move)


def constant_steps(ask: Any, x: Any, rng: Any, s: Any, *, estimator: Estimator) -> Iterator[State]:
    """Run Frank-Wolfe along gradient estimates with a constant step size gamma."""
    return lmo_steps(ask, x, s, estimator(ask, rng, s))


def spider_fw(ask: Any, x: Any, rng: Any, s: Any) -> Iterator[State]:
    """Run SPIDER-FW (Yurtsever et al. 2019), or its form with importance sampling (Lan 2020).

    The second form is in section 7.4 of Lan 2020.
    """
    uniform = s.sampling == "uniform"
    estimate = estimates.spider if uniform else estimates.spider_by_smoothness
    return lmo_steps(ask, x, s, estimate(ask, rng, s))


def _falling_step_sizes(s: Any, delay: float = 2.0) -> Callable[[int], float]:
    """Return the step size rule gamma_t = 2/(t + delay), or the constant `s.step` if it is set."""
    return lambda t: s.step or 2.0 / (t + delay)


def one_sfw(ask: Any, x: Any, rng: Any, s: Any) -> Iterator[State]:
    """Run 1-SFW (Zhang et al. 2020): Frank-Wolfe along STORM estimates.

    By default, alpha_t = 1/(t+1).
    """
    d = estimates.storm(ask, rng, s, lambda t: s.alpha or 1.0 / (t + 1))
    return lmo_steps(ask, x, s, d, _falling_step_sizes(s))


def momentum_sfw(ask: Any, x: Any, rng: Any, s: Any) -> Iterator[State]:
    """Run stochastic Frank-Wolfe with momentum weight (t+1)^(-2/3) (Mokhtari et al. 2020)."""
    d = estimates.heavy_ball(ask, rng, s, lambda t: s.alpha or (t + 1.0) ** (-2 / 3))
    return lmo_steps(ask, x, s, d, _falling_step_sizes(s))


def page_fw_convex(ask: Any, x: Any, rng: Any, s: Any) -> Iterator[State]:
    """Run Frank-Wolfe along PAGE estimates with step sizes gamma_t = 2/(t + s.delay)."""
    g = estimates.page(ask, rng, s)
    return lmo_steps(ask, x, s, g, _falling_step_sizes(s, s.delay))


def spider_fw_convex(ask: Any, x: Any, rng: Any, s: Any) -> Iterator[State]:
    """Run SPIDER-FW for convex f (Yurtsever et al. 2019), whose epochs and batches double."""
    g = estimates.doubling_spider(ask, rng, s)
    return lmo_steps(ask, x, s, g, _falling_step_sizes(s))


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
        for t, state in enumerate(lmo_steps(ask, start, s, estimator(ask, rng, s))):
            if t == t0:
                candidate = state.at
            if t == s.iterations - 1:
                candidate = state.x if t0 is None else candidate
                g = ask.gradient(candidate)
                gap = float(np.vdot(g, candidate) - np.vdot(g, ask.lo(g)))
                if gap < lower:
                    best, lower = candidate, gap
            yield state._replace(output=best)


# --- over a norm ball -----------------------------------------------------------------------------


def scg(ask: Any, x: Any, rng: Any, s: Any, *, is_constrained: bool) -> Iterator[State]:
    """Run SCG or uSCG (Pethick et al. 2025): steps along lmo(d_k) with averaged gradients d_k.

    The average is d_k = (1 - alpha_k) d_{k-1} + alpha_k g_k, for k = 1, 2, ...
    """

    def weights(t: int) -> tuple[float, float]:
        alpha = (t + 1) ** -0.5 if s.alpha is None else s.alpha
        alpha = 1.0 if t == 0 and s.begin == "gradient" else alpha
        return 1.0 - alpha, alpha

    decay = 1.0 if is_constrained else s.decay
    return lmo_steps(ask, x, s, estimates.averages(ask, rng, s, weights), decay=decay)


def uscg_along(ask: Any, x: Any, rng: Any, s: Any, *, estimator: Estimator) -> Iterator[State]:
    """Run uSCG along the gradient estimates of `estimator` instead of averaged gradients."""
    return lmo_steps(ask, x, s, estimator(ask, rng, s), decay=0.0)


def almond(ask: Any, x: Any, rng: Any, s: Any) -> Iterator[State]:
    """Run Almond (Pethick et al. 2025), whose steps go along a moving average of LMO answers.

    The average is d_k = (1 - alpha) d_{k-1} + alpha lmo(g_k), with d_1 = lmo(g_1).
    """
    d: Any = None
    for _ in range(s.iterations):
        g = ask.batch(rng.integers(ask.n, size=s.batch), x)
        v = ask.lo(g)
        d = v if d is None else (1.0 - s.alpha) * d + s.alpha * v
        point, x = x, x + s.step * d
        yield State(x, point, g)


def momentum_steps(
    ask: Any, x: Any, rng: Any, s: Any, *, starts_with_gradient: bool = False
) -> Iterator[State]:
    """Make steps along lmo(m_k) with the momentum m_k = beta m_{k-1} + (1 - beta) g_k.

    With `starts_with_gradient`, m_1 = g_1; otherwise m_0 = 0. Muon is the same: its M_k = beta
    M_{k-1} + g_k is m_k/(1 - beta), and the minimiser depends on a direction alone.
    """

    def weights(t: int) -> tuple[float, float]:
        return (0.0, 1.0) if t == 0 and starts_with_gradient else (s.beta, 1.0 - s.beta)

    return lmo_steps(ask, x, s, estimates.averages(ask, rng, s, weights), decay=s.decay)


def muon_nesterov(ask: Any, x: Any, rng: Any, s: Any) -> Iterator[State]:
    """Run Muon with Nesterov momentum: step along lmo(g_k + beta M_k), M_k = beta M_{k-1} + g_k."""
    M = 0.0
    for _ in range(s.iterations):
        g = ask.batch(rng.integers(ask.n, size=s.batch), x)
        M = s.beta * M + g
        d = g + s.beta * M
        point, x = x, (1.0 - s.step * s.decay) * x + s.step * ask.lo(d)
        yield State(x, point, (1.0 - s.beta) * d)


def normuon(ask: Any, x: Any, rng: Any, s: Any) -> Iterator[State]:
    """Run NorMuon, which normalises the rows of Muon's direction and then rescales the direction.

    A row of lmo(M_k) is divided by the root of the moving average of its mean square.
    """
    M, v = 0.0, 0.0
    for _ in range(s.iterations):
        M = s.beta * M + (1.0 - s.beta) * ask.batch(rng.integers(ask.n, size=s.batch), x)
        rows = np.atleast_2d(ask.lo(M))
        v = s.beta2 * v + (1.0 - s.beta2) * np.sum(rows**2, axis=1) / x.shape[-1]
        rows = np.array([row / np.sqrt(v[i]) if v[i] > 0.0 else row for i, row in enumerate(rows)])
        d = 0.2 * np.sqrt(x.size) * rows.reshape(x.shape) / (np.sqrt(np.sum(rows**2)) or 1.0)
        point, x = x, (1.0 - s.step * s.decay) * x + s.step * d
        yield State(x, point, M)


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

REFERENCES = {
    **{name: partial(constant_steps, estimator=e) for name, e in _CONSTANT.items()},
    **{f"nfwu-{name}": partial(nfwu, estimator=e) for name, e in _NORMALISED.items()},
    "spider-fw": spider_fw,
    "one-sfw": one_sfw,
    "momentum-sfw": momentum_sfw,
    "page-fw-convex": page_fw_convex,
    "spider-fw-convex": spider_fw_convex,
    "scg": partial(scg, is_constrained=True),
    "uscg": partial(scg, is_constrained=False),
    "uscg-mvr": partial(uscg_along, estimator=estimates.storm),
    "uscg-transport": partial(uscg_along, estimator=estimates.transport),
    "almond": almond,
    "muon": momentum_steps,
    "muon-nesterov": muon_nesterov,
    "normuon": normuon,
    "signum": momentum_steps,
    "normalised-sgd": partial(momentum_steps, starts_with_gradient=True),
}
