"""Frank-Wolfe methods, with and without samples, as many people would write them."""

import itertools

import numpy as np
from claims.variants.common import Certain

import pfbench as pf


class OpenLoop(Certain):
    """Nothing but x += 2/(t+2) (v - x), for ever."""

    variant_of = "frank-wolfe"
    requires = frozenset({"gradient", "lo"})
    judged_by = ("jaggi2013-thm1",)

    def run(self, ask, x, rng):
        x = x.copy()
        for t in itertools.count(2):
            g, at = ask.gradient(x), x.copy()
            x += 2.0 / t * (ask.lo(g) - x)
            yield pf.State(x, at, g)


class ShortStep(Certain):
    """The step gap/C; it stops where there is no gap."""

    variant_of = "frank-wolfe"
    requires = frozenset({"batch", "lo"})
    judged_by = ("lacoste2016-descent", "lacoste2016-thm1", "lacoste2016-affine")

    def __init__(self, curvature=1.0, iterations=100):
        self.C, self.T = curvature, iterations

    def run(self, ask, x, rng):
        for _ in range(self.T):
            g = ask.batch(np.arange(ask.n), x)
            v = ask.lo(g)
            gap = np.dot(g, x - v)
            if gap <= 0.0:
                return
            at, x = x, x + min(1.0, gap / self.C) * (v - x)
            yield pf.State(x, at, g)


class Parabola(Certain):
    """The least value of the parabola with f(x), f(v) and the slope at x."""

    variant_of = "frank-wolfe"
    requires = frozenset({"gradient", "lo", "value"})
    judged_by = ("lacoste2016-local", "lacoste2016-descent", "lacoste2016-thm1")

    def __init__(self, iterations=100):
        self.T = iterations

    def run(self, ask, x, rng):
        for _ in range(self.T):
            g = ask.gradient(x)
            v = ask.lo(g)
            gap = g @ (x - v)
            curved = ask.value(v) - ask.value(x) + gap
            gamma = min(1.0, gap / (2.0 * curved)) if curved > 0.0 else 1.0
            at, x = x, (1.0 - gamma) * x + gamma * v
            yield pf.State(x, at, g)


class FollowTheLeader(Certain):
    """Optimistic, as a game: the answer to all past gradients, the last one counted twice."""

    variant_of = "optimistic-fw"
    requires = frozenset({"gradient", "lo"})

    def __init__(self, iterations):
        self.T = iterations

    def run(self, ask, x, rng):
        past, vertices = [], []
        for t in range(1, self.T + 1):
            g = ask.gradient(x)
            guess = sum(i * h for i, h in past) if past else 0.0
            past.append((t - 1, g))
            vertices.append(ask.lo(guess + (2 * t - 1) * g))
            if len(past) > 50:  # a long run adds up what is old
                past = [(1, sum(i * h for i, h in past))]
            old, x = x, ((t - 1) * x + 2 * vertices.pop()) / (t + 1)
            yield pf.State(x, old, g)


class ShrinkingBalls(Certain):
    """Local LMO that scales the gradient, and keeps the radius instead of computing it anew."""

    variant_of = "local-lmo"
    requires = frozenset({"batch", "local_lo"})

    def __init__(self, iterations, diameter):
        self.T, self.R = iterations, diameter

    def run(self, ask, x, rng):
        radius = self.R
        for k in range(self.T):
            g = ask.batch(np.arange(ask.n), x)
            old, x = x, ask.local_lo(x, 3.0 * g, radius)
            radius *= (k + 2) / (k + 3)
            yield pf.State(x, old, g)
