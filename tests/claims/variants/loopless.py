"""Steps along estimates with a coin, and along a table's, as many people would write them."""

from dataclasses import dataclass

import numpy as np
from claims.variants.common import PROXIMAL, Options, Own

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
