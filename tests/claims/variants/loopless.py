"""Steps along estimates with a coin, a table or momentum, as many people would write them."""

from dataclasses import dataclass

import numpy as np
from claims.variants.common import EPOCHS, PROXIMAL, Options, Own, epochs

import pfbench as pf

_SMOOTH = PROXIMAL | {"smooth"}


class Coined(Own):
    """A class with common parameters."""

    def __init__(self, iterations, step, batch, refresh):
        self.T, self.eta, self.b, self.p = iterations, step, batch, refresh


class PageInPlace(Coined):
    """PAGE by hand, in the same arrays."""

    variant_of = "page"
    requires = _SMOOTH

    def run(self, ask, x, rng):
        x, old, coin = x.copy(), x.copy(), None
        g = np.array(ask.gradient(x))
        for t in range(self.T):
            if t > 0:
                coin = rng.random() < self.p
                S = rng.integers(ask.n, size=self.b)
                g[:] = ask.gradient(x) if coin else g + ask.difference(S, x, old)
            old[:] = x
            x -= self.eta * g
            yield pf.State(x, old, g, coin=coin)


class ProxPageBatches(Options, Own):
    """Asks batches alone, and flips a coin by `choice`; it does not tell how that fell."""

    variant_of = "prox-page"
    requires = frozenset({"batch", "prox"})
    untold = {"methods-count-prox-page": "coin"}  # noqa: RUF012
    not_for = ("methods-count-prox-page",)

    def run(self, ask, x, rng):
        everyone, g, before = np.arange(ask.n), None, None
        for _ in range(self.iterations):
            if g is None or rng.choice(2, p=[1 - self.refresh, self.refresh]):
                g = ask.batch(everyone, x)
            else:
                S = rng.choice(ask.n, self.batch)
                g = g + (ask.batch(S, x) - ask.batch(S, before))
            before, x = x, ask.prox(x, g, self.step)
            yield pf.State(x, before, g)


class LsvrgEpochs(Coined):
    """L-SVRG whose geometric epochs are drawn coin by coin, around a snapshot."""

    variant_of = "lsvrg"
    requires = _SMOOTH

    def run(self, ask, x, rng):
        t, coin = 0, None
        while t < self.T:
            w, mu = np.copy(x), ask.gradient(x)
            g = mu
            while True:
                at, x = x, x - self.eta * g
                yield pf.State(x, at, g, coin=coin)
                t, coin = t + 1, None if t + 1 == self.T else bool(rng.random() < self.p)
                if coin is not False:
                    break
                g = mu + ask.difference(rng.integers(ask.n, size=self.b), x, w)


@dataclass
class ZeroSarahByHand(Own):
    """Keeps its own table of gradients, each asked as a batch of one."""

    iterations: int
    step: float
    batch: int
    table_weight: float
    table: str = "full"

    variant_of = "zerosarah"
    requires = frozenset({"batch", "smooth"})

    def run(self, ask, x, rng):
        def at_each(S, x):
            return np.array([ask.batch(np.array([i]), x) for i in S])

        lam, y = self.table_weight, np.zeros((ask.n, *x.shape))
        zero = self.table == "zero"
        for t in range(self.iterations):
            if t == 0:
                S = rng.integers(ask.n, size=self.batch) if zero else np.arange(ask.n)
                fresh = at_each(S, x)
                g = fresh.mean(axis=0)
            else:
                S = rng.integers(ask.n, size=self.batch)
                fresh, old = at_each(S, x), at_each(S, before)  # noqa: F821
                pulled = y.mean(axis=0) + (old - y[S]).mean(axis=0)
                g = (1 - lam) * g + lam * pulled + (fresh - old).mean(axis=0)
            y[S] = fresh
            before, x = x, x - self.step * g
            yield pf.State(x, before, g)


class StormBySymbols(Own):
    """By the symbols of the source: k, w, c."""

    variant_of = "storm"
    requires = frozenset({"batch", "smooth"})

    def __init__(self, iterations, step, alpha, floor):
        self.T, self.w = iterations, floor
        self.k, self.c = step * floor ** (1 / 3), alpha / step**2

    def run(self, ask, x, rng):
        total, eta, d = self.w, 0.0, 0.0
        old, kept = x, 0.0
        for _ in range(self.T):
            xi = rng.choice(ask.n, 1)
            fresh = ask.batch(xi, x)
            d = fresh + kept * (d - ask.batch(xi, old)) if eta else fresh
            total += np.vdot(fresh, fresh)
            eta = self.k * total ** (-1 / 3)
            old, x, kept = x, x - eta * d, 1 - self.c * eta**2
            yield pf.State(x, old, d)


# --- Frank-Wolfe ----------------------------------------------------------------------------------


def moved(ask, x, g, gamma):
    """Return x + gamma (LO(g) - x)."""
    return x + gamma * (ask.lo(g) - x)


class SpiderFwNested(Own):
    """Two loops; the samples of an epoch at once, and one component after the other."""

    variant_of = "spider-fw"
    requires = EPOCHS | {"batch"}

    def __init__(self, iterations, step, batch, period, sampling="uniform"):
        self.T, self.gamma, self.b, self.q = iterations, step, batch, period
        self.p = sampling == "importance"

    @property
    def asks(self):
        return self.requires | ({"component_smoothness"} if self.p else set())

    def run(self, ask, x, rng):
        p = np.ones(ask.n)
        if self.p:
            p = ask.component_smoothness()
        p = p / p.sum()
        for length in epochs(self.T, self.q):
            g, shape = ask.gradient(x), (length, self.b)
            samples = rng.choice(ask.n, shape, p=p) if self.p else rng.integers(ask.n, size=shape)
            for k in range(length):
                for i in samples[k] if k > 0 else ():
                    change = ask.batch(np.array([i]), x) - ask.batch(np.array([i]), before)  # noqa: F821
                    g = g + change / (self.b * ask.n * p[i])
                before, x = x, moved(ask, x, g, self.gamma)
                yield pf.State(x, before, g)
