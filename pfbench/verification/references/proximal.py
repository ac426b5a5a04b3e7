"""Reference implementations of proximal and gradient methods that use gradient estimates."""

import math
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from pfbench.base.state import State
from pfbench.verification.references import estimates
from pfbench.verification.references.estimates import Estimator, steps_along


def proximal_steps(ask: Any, x: Any, rng: Any, s: Any, *, estimator: Estimator) -> Iterator[State]:
    """Run x_{t+1} = prox_{eta h}(x_t - eta g_t) with the penalty h and gradient estimates g_t."""
    return steps_along(estimator(ask, rng, s), x, s, lambda x, g, t: ask.prox(x, g, s.step))


def zerosarah(ask: Any, x: Any, rng: Any, s: Any) -> Iterator[State]:
    """Run ZeroSARAH (Li et al. 2021, algorithm 2), with a gradient table that may start at 0."""
    is_full = s.table == "full"
    estimate = estimates.zerosarah if is_full else estimates.zerosarah_from_zeros
    return proximal_steps(ask, x, rng, s, estimator=estimate)


def storm(ask: Any, x: Any, rng: Any, s: Any) -> Iterator[State]:
    """Run STORM (Cutkosky, Orabona 2019, algorithm 1) with its adaptive step sizes.

    These are eta_t = step r, with a_{t+1} = alpha r^2 and r^3 = floor/(floor + sum of |G_i|^2 over
    i <= t) for the sampled gradients G_i.
    """
    w, total, a, d, before = s.floor, s.floor, 1.0, None, x
    for _ in range(s.iterations):
        i = rng.integers(ask.n, size=1)
        G = ask.batch(i, x)
        d = G if d is None else G + (1.0 - a) * (d - ask.batch(i, before))
        total = total + float(np.vdot(G, G))
        r = (w / total) ** (1 / 3)
        a = s.alpha * r**2
        before, x = x, ask.prox(x, d, s.step * r)
        yield State(x, before, d)


def sarah(ask: Any, x: Any, rng: Any, s: Any) -> Iterator[State]:
    """Run SARAH (Nguyen et al. 2017).

    Each outer loop starts at a random iterate of the preceding one.
    """
    goes_on = s.output == "last"
    chosen, before, done = None if goes_on else x, x, 0
    while done < s.iterations:
        t0 = int(rng.integers(s.period))
        v = None
        for t in range(min(s.period, s.iterations - done)):
            if t == t0 and not goes_on:
                chosen = x
            if t == 0:
                v = ask.gradient(x)
            else:
                v = v + ask.difference(rng.integers(ask.n, size=s.batch), x, before)
            before, x = x, ask.prox(x, v, s.step)
            done += 1
            yield State(x, before, v, chosen)
        x = x if goes_on else chosen


def spider(ask: Any, x: Any, rng: Any, s: Any) -> Iterator[State]:
    """Run SPIDER-SFO (Fang et al. 2018, algorithm 1), whose steps have bounded length."""
    before = x
    for k in range(s.iterations):
        if k % s.period == 0:
            v = ask.gradient(x)
        else:
            v = v + ask.difference(rng.integers(ask.n, size=s.batch), x, before)
        length = math.sqrt(float(np.vdot(v, v)))
        if s.option == 1 and length <= 2.0 * s.tolerance:
            if k == 0:
                yield State(x, x, v, x)
            return
        eta = s.step / length if length > 0.0 else 0.0
        if s.option == 2 and s.lam is not None:
            eta = min(eta, s.lam)
        before, x = x, ask.prox(x, v, eta)
        yield State(x, before, v, x if s.option == 1 else None)


def prox_spiderboost_m(ask: Any, x: Any, rng: Any, s: Any) -> Iterator[State]:
    """Run Prox-SpiderBoost with momentum (Wang et al. 2019, algorithm 3)."""
    y, before, beta = x, x, s.step
    for k in range(s.iterations):
        alpha = 2.0 / (math.ceil((k + 1) / s.period) + 1.0)
        lam = (1.0 + alpha) * beta
        z = (1.0 - alpha) * y + alpha * x
        if k % s.period == 0:
            v = ask.gradient(z)
        else:
            v = v + ask.difference(rng.integers(ask.n, size=s.batch), z, before)
        following = ask.prox(x, v, lam)
        y = z + (beta / lam) * (following - x)
        x, before = following, z
        yield State(y, z, v)


_ALONG = {
    **dict.fromkeys(("prox-gd", "projected-gradient"), estimates.full_gradient),
    "prox-sgd": estimates.sg,
    **dict.fromkeys(
        ("svrg", "prox-svrg", "projected-svrg", "prox-svrg-plus"),
        estimates.svrg_with_batch_at_snapshot,
    ),
    **dict.fromkeys(("saga", "prox-saga"), estimates.saga),
    "sag": estimates.sag,
    **dict.fromkeys(("spiderboost", "prox-spiderboost"), estimates.spider),
    **dict.fromkeys(("page", "prox-page"), estimates.page),
    "lsvrg": estimates.lsvrg,
    "mars": estimates.mars,
}
REFERENCES = {
    **{name: partial(proximal_steps, estimator=estimator) for name, estimator in _ALONG.items()},
    "zerosarah": zerosarah,
    "storm": storm,
    "sarah": sarah,
    "spider": spider,
    "prox-spiderboost-m": prox_spiderboost_m,
}
