"""Proximal and gradient steps along estimates, as many people would write them."""

import numpy as np
from claims.variants.common import Own

import pfbench as pf


class Plain(Own):
    """A class with common parameters."""

    def __init__(self, iterations, step, batch=2, period=3):
        self.iterations, self.eta, self.S, self.q = iterations, step, batch, period


class BoostWithoutReplacement(Plain):
    """Different components in each batch; the reference gradient is a batch of all."""

    variant_of = "prox-spiderboost"
    requires = frozenset({"batch", "difference", "prox"})

    def run(self, ask, x, rng):
        v, at = None, None
        for k in range(self.iterations):
            if k % self.q == 0:
                v = ask.batch(np.arange(ask.n), x)
            else:
                S = np.concatenate([rng.permutation(ask.n) for _ in range(-(-self.S // ask.n))])
                v = v + ask.difference(S[: self.S], x, at)
            at = x
            x = ask.prox(at, v, self.eta)
            yield pf.State(x, at, v)


class SagAsChange(Plain):
    """The mean is kept by the method, which adds what a replacement changes."""

    variant_of = "sag"
    requires = frozenset({"table", "smooth"})

    def run(self, ask, x, rng):
        table = ask.table(x)
        for S in rng.choice(ask.n, (self.iterations, self.S)):
            for i in np.unique(S):  # one by one, each once
                table.replace(np.array([i] * (i == S).sum()), x)
            at, g = x, np.array(table.mean)
            x = at - self.eta * g
            yield pf.State(x, at, g)


class GradientAsBatch(Plain):
    """The gradient as a batch of all components."""

    variant_of = "prox-gd"
    requires = frozenset({"batch", "prox"})
    deterministic = True
    output = "last"

    def run(self, ask, x, rng):
        everyone = np.arange(ask.n)
        for _ in range(self.iterations):
            g = ask.batch(everyone, x)
            at, x = x, ask.prox(x, g, self.eta)
            yield pf.State(x, at, g)


class ProjectedByHand(GradientAsBatch):
    """The projection of the point where the gradient leads."""

    variant_of = "projected-gradient"
    requires = frozenset({"gradient", "prox", "set"})

    def run(self, ask, x, rng):
        for _ in range(self.iterations):
            g = ask.gradient(x)
            at = x
            x = ask.prox(x - self.eta * g, np.zeros_like(g), 1.0)
            yield pf.State(x, at, g)
