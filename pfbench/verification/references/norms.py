"""Reference implementations of methods that step along linear minimisers over a norm ball."""

from collections.abc import Iterator
from functools import partial
from types import MappingProxyType
from typing import Any

import numpy as np

from pfbench.base.state import State
from pfbench.verification.references import estimates
from pfbench.verification.references.estimates import EstimateGenerator, Estimator, steps_along


def lmo_steps(
    ask: Any, x: Any, s: Any, estimate: EstimateGenerator, decay: float = 0.0
) -> Iterator[State]:
    """Run x_{k+1} = (1 - c decay) x_k + c lmo(d_k) for gradient estimates d_k and step size c."""

    def move(x: Any, d: Any, k: int) -> Any:
        return (1.0 - s.step * decay) * x + s.step * ask.lo(d)

    return steps_along(estimate, x, s, move)


def scg(ask: Any, x: Any, rng: Any, s: Any, *, is_constrained: bool) -> Iterator[State]:
    """Run SCG or uSCG (Pethick et al. 2025): steps along lmo(d_k) with averaged gradients d_k.

    The average is d_k = (1 - alpha_k) d_{k-1} + alpha_k g_k, for k = 1, 2, ...
    """

    def weights(t: int) -> tuple[float, float]:
        alpha = (t + 1) ** -0.5 if s.alpha is None else s.alpha
        alpha = 1.0 if t == 0 and s.begin == "gradient" else alpha
        return 1.0 - alpha, alpha

    decay = 1.0 if is_constrained else s.decay
    return lmo_steps(ask, x, s, estimates.averages(ask, rng, s, weights), decay)


def uscg_along(ask: Any, x: Any, rng: Any, s: Any, *, estimator: Estimator) -> Iterator[State]:
    """Run uSCG along the gradient estimates of `estimator` instead of averaged gradients."""
    return lmo_steps(ask, x, s, estimator(ask, rng, s))


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

    return lmo_steps(ask, x, s, estimates.averages(ask, rng, s, weights), s.decay)


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


REFERENCES = MappingProxyType(
    {
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
)
