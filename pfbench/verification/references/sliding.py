"""Reference implementations of conditional gradient sliding methods.

The sources are Qu, Li and Xu 2018 (qu2018), Li et al. 2019 (li2019), and Lan and Zhou 2016.
"""

from collections.abc import Iterator
from typing import Any

from pfbench.base.state import State
from pfbench.verification.references import estimates
from pfbench.verification.references.estimates import EstimateGenerator, steps_along


def ncgs(ask: Any, x: Any, rng: Any, s: Any) -> Iterator[State]:
    """Run NCGS, non-convex conditional gradient sliding (qu2018, algorithm 2), option 1 or 2."""
    beta, eta, theta, ag = 1.0 / (2.0 * s.smoothness), s.tolerance or 1.0 / s.iterations, x, x
    for k in range(1, s.iterations + 1):
        alpha = 2.0 / (k + 1.0)
        md = (1.0 - alpha) * ag + alpha * theta
        g = ask.gradient(md)
        lam = beta if s.option == 1 else k * beta / 2.0
        before, theta = theta, s.condg(ask, g, theta, lam, eta)
        option_1 = md - (beta / lam) * (before - theta)
        ag = option_1 if s.option == 1 else s.condg(ask, g, md, beta, eta)
        yield State(ag, md, g)


def ncgs_stochastic(ask: Any, x: Any, rng: Any, s: Any) -> Iterator[State]:
    """Run stochastic NCGS (qu2018, algorithm 3): non-convex sliding with growing batches.

    Batch k has k components, unless `batch` is set, and serves both calls of `condg`.
    """
    beta, eta, theta, ag = 1.0 / (2.0 * s.smoothness), s.tolerance or 1.0 / s.iterations, x, x
    for k in range(1, s.iterations + 1):
        alpha = 2.0 / (k + 1.0)
        md = (1.0 - alpha) * ag + alpha * theta
        G = ask.batch(rng.integers(ask.n, size=s.batch or k), md)
        theta = s.condg(ask, G, theta, k * beta / 2.0, eta)
        ag = s.condg(ask, G, md, beta, eta)
        yield State(ag, md, G)


def sliding_steps(
    ask: Any, x: Any, s: Any, estimate: EstimateGenerator, lam: float
) -> Iterator[State]:
    """Run conditional gradient sliding, whose steps are calls of the inner solver `condg`.

    The step is x_{t+1} = condg(v_t, x_t, lam, eta), where v_t is the gradient estimate at x_t.
    """
    eta = s.tolerance or 1.0 / s.iterations
    return steps_along(estimate, x, s, lambda x, v, t: s.condg(ask, v, x, lam, eta))


def ncgs_vr(ask: Any, x: Any, rng: Any, s: Any) -> Iterator[State]:
    """Run variance-reduced NCGS (qu2018, algorithm 4) with lambda = 1/(3L)."""
    return sliding_steps(
        ask, x, s, estimates.svrg_with_batch_at_snapshot(ask, rng, s), 1.0 / (3.0 * s.smoothness)
    )


def ncgs_spider(ask: Any, x: Any, rng: Any, s: Any) -> Iterator[State]:
    """Run conditional gradient sliding with SPIDER (Lan 2020, algorithm 7.12), lambda = 1/L."""
    uniform = s.sampling == "uniform"
    estimate = estimates.spider if uniform else estimates.spider_by_smoothness
    return sliding_steps(ask, x, s, estimate(ask, rng, s), 1.0 / s.smoothness)


def cgs(ask: Any, theta: Any, rng: Any, s: Any) -> Iterator[State]:
    """Run CGS with restarts (li2019, algorithm 1), or STORC (algorithm 2) if `batch` is set."""
    L, N, m = s.smoothness, s.period, getattr(s, "batch", None)
    for t in range(1, s.restarts + 1):
        D2 = 4.0 * s.delta * 2.0**-t / s.curvature
        x = y = theta
        mean = ask.gradient(theta) if m else None
        for k in range(1, N + 1):
            gamma, beta = 2.0 / (k + 1.0), 3.0 * L / k
            z = (1.0 - gamma) * y + gamma * x
            g = (
                ask.difference(rng.integers(ask.n, size=m), z, theta) + mean
                if m
                else ask.gradient(z)
            )
            x = s.condg(ask, g, x, 1.0 / beta, 2.0 * L * D2 / (N * k))
            y = (1.0 - gamma) * y + gamma * x
            yield State(y, z, g)
        theta = y


def cgs_convex(ask: Any, x: Any, rng: Any, s: Any) -> Iterator[State]:
    """Run conditional gradient sliding for convex f (Lan, Zhou 2016).

    The parameters are gamma_k = 3/(k+2) and beta_k = 3L/(k+1).
    """
    L, y = s.smoothness, x
    for k in range(1, s.iterations + 1):
        gamma, beta = 3.0 / (k + 2.0), 3.0 * L / (k + 1.0)
        z = (1.0 - gamma) * y + gamma * x
        g = ask.gradient(z)
        x = s.condg(ask, g, x, 1.0 / beta, L * s.diameter**2 / (k * (k + 1.0)))
        y = (1.0 - gamma) * y + gamma * x
        yield State(y, z, g)


REFERENCES = {
    "ncgs": ncgs,
    "ncgs-stochastic": ncgs_stochastic,
    "ncgs-vr": ncgs_vr,
    "ncgs-spider": ncgs_spider,
    "cgs": cgs,
    "storc": cgs,
    "cgs-convex": cgs_convex,
}
