"""Reference implementations of ASVRG, Katyusha^ns, RSAG and Natasha1.5."""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from pfbench.base.state import State


def asvrg(ask: Any, x: Any, rng: Any, s: Any) -> Iterator[State]:
    """Run ASVRG (Shang et al. 2018, algorithm 2), whose output averages the last complete epoch."""
    n, b, eta = ask.n, s.batch, s.step
    product = min((s.smoothness or math.inf) * eta, 1 / 3)
    w = 1.0 - max(n - b, 0) / (b * max(n - 1, 1)) * product / (1.0 - product)
    anchor = y = x
    done = 0
    while done < s.iterations:
        mu, xs = ask.gradient(anchor), []
        x = anchor + w * (y - anchor)
        for _ in range(min(s.period, s.iterations - done)):
            g = ask.difference(rng.integers(n, size=b), x, anchor) + mu
            y = ask.prox(y, g, eta / w)
            point, x = x, anchor + w * (y - anchor)
            xs.append(x)
            done += 1
            yield State(x, point, g, np.mean(xs, axis=0) if len(xs) == s.period else anchor)
        anchor = np.mean(xs, axis=0)
        w = (math.sqrt(w**4 + 4.0 * w**2) - w**2) / 2.0


def katyusha_ns(ask: Any, x: Any, rng: Any, s: Any) -> Iterator[State]:
    """Run Katyusha^ns (Allen-Zhu 2018), option I or II."""
    anchor = y = z = x
    for epoch in range(math.ceil(s.iterations / s.period)):
        tau1, tau2, mu, ys = 2.0 / (epoch + 4.0), 0.5, ask.gradient(anchor), []
        for _ in range(min(s.period, s.iterations - epoch * s.period)):
            x = tau1 * z + tau2 * anchor + (1.0 - tau1 - tau2) * y
            g = mu + ask.difference(rng.integers(ask.n, size=s.batch), x, anchor)
            before, z = z, ask.prox(z, g, s.step / tau1)
            y = ask.prox(x, g, s.step) if s.option == 1 else x + tau1 * (z - before)
            ys.append(y)
            yield State(y, x, g, np.mean(ys, axis=0) if len(ys) == s.period else anchor)
        anchor = np.mean(ys, axis=0)


def rsag(ask: Any, x: Any, rng: Any, s: Any) -> Iterator[State]:
    """Run RSAG (Ghadimi, Lan 2016) with batches of constant size.

    A batch of size n contains each component once.
    """
    ag, beta = x, s.step
    for k in range(1, s.iterations + 1):
        alpha = 2.0 / (k + 1.0)
        md = (1.0 - alpha) * ag + alpha * x
        S = np.arange(ask.n) if s.batch == ask.n else rng.integers(ask.n, size=s.batch)
        G = ask.batch(S, md)
        lam = k * beta / 2.0 if s.momentum == "convex" else (1.0 + alpha / 4.0) * beta
        x = ask.prox(x, G, lam)
        ag = ask.prox(md, G, beta)
        yield State(ag, md, G)


def natasha15(ask: Any, x: Any, rng: Any, s: Any) -> Iterator[State]:
    """Run Natasha1.5 (Allen-Zhu 2018), whose epochs consist of sub-epochs with new centres."""
    B, p, n = s.snapshot, s.subepochs, ask.n
    m = max(1, B // (p * s.batch))
    centre = x
    for k in range(s.iterations):
        if k % (p * m) == 0:
            anchor = centre
            is_full = n == B
            S = None if is_full else rng.choice(n, size=B, replace=False)
            mu = ask.gradient(anchor) if is_full else ask.batch(S, anchor)
        if k % m == 0:
            x, xs = centre, []
        xs.append(x)
        g = ask.difference(rng.integers(n, size=s.batch), x, anchor) + mu
        g = g + 2.0 * s.sigma * (x - centre)
        point, x = x, ask.prox(x, g, s.step)
        if len(xs) == m:
            centre = np.mean(xs, axis=0)
        yield State(x, point, g, centre)


REFERENCES = {
    **dict.fromkeys(("asvrg", "prox-asvrg"), asvrg),
    **dict.fromkeys(("katyusha-ns", "prox-katyusha-ns"), katyusha_ns),
    **dict.fromkeys(("rsag", "prox-rsag"), rsag),
    "natasha15": natasha15,
}
