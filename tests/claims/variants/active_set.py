"""Frank-Wolfe with away and pairwise steps, with weights in dictionaries and in lists."""

import numpy as np
from claims.variants.common import Certain

import pfbench as pf


class ByKey(Certain):
    """Weights by the bytes of a vertex; the point is moved, not computed anew."""

    requires = frozenset({"gradient", "lo", "polytope"})

    def __init__(self, iterations, smoothness, step="short"):
        self.T, self.L, self.searches = iterations, smoothness, step == "line-search"
        if self.searches:
            self.requires = self.requires | {"value"}

    def walk(self, ask, x, rng):
        g = ask.gradient(x)
        at, x = x, np.array(ask.lo(g))
        S = {x.tobytes(): (x.copy(), 1.0)}
        yield pf.State(x, at, g)
        for _ in range(self.T - 1):
            g = ask.gradient(x)
            w = ask.lo(g)
            self.along = lambda d, gamma, x=x: ask.value(x + gamma * d)
            S, d, gamma = self.turn(S, x, g, w)
            at, x = x, x + gamma * d
            S = {k: (v, m) for k, (v, m) in S.items() if m > 1e-14}
            yield pf.State(x, at, g)

    def length(self, g, d, most):
        if self.searches:  # by golden sections
            low, high, c = 0.0, most, (5**0.5 - 1) / 2
            while high - low > 1e-9 * most:
                a, b = high - c * (high - low), low + c * (high - low)
                low, high = (low, b) if self.along(d, a) < self.along(d, b) else (a, high)
            return min((most, 0.0, (low + high) / 2), key=lambda one: self.along(d, one))
        descent = max(0.0, -float(np.sum(g * d)))
        return min(most, descent / (self.L * np.sum(d * d))) if descent else 0.0

    def sorted(self, S, g):
        return sorted(S, key=lambda k: -float(np.sum(g * S[k][0])))

    def shifted(self, S, out, into, vertex, gamma):
        S = dict(S)
        S[out] = (S[out][0], S[out][1] - gamma)
        S[into] = (vertex, S.get(into, (vertex, 0.0))[1] + gamma)
        return S

    def toward(self, S, x, g, w):
        gamma = self.length(g, w - x, 1.0)
        S = {k: (v, (1 - gamma) * m) for k, (v, m) in S.items()}
        key = w.tobytes()
        S[key] = (w, S.get(key, (w, 0.0))[1] + gamma)
        return S, w - x, gamma


class AwayByKey(ByKey):
    """Away steps."""

    variant_of = "afw"
    run = ByKey.walk

    def turn(self, S, x, g, w):
        a = self.sorted(S, g)[0]
        v, m = S[a]
        if np.sum(g * (x - w)) >= np.sum(g * (v - x)):
            return self.toward(S, x, g, w)
        gamma = self.length(g, x - v, m / (1 - m))
        S = {k: (u, (1 + gamma) * c) for k, (u, c) in S.items()}
        S[a] = (v, S[a][1] - gamma)
        return S, x - v, gamma


class PairwiseByKey(ByKey):
    """Pairwise steps."""

    variant_of = "pfw"
    run = ByKey.walk

    def turn(self, S, x, g, w):
        a = self.sorted(S, g)[0]
        gamma = self.length(g, w - S[a][0], S[a][1])
        return self.shifted(S, a, w.tobytes(), w, gamma), w - S[a][0], gamma


class BlendedByKey(ByKey):
    """Blended pairwise steps."""

    variant_of = "bpfw"
    run = ByKey.walk

    def turn(self, S, x, g, w):
        first, *_, last = [*self.sorted(S, g), self.sorted(S, g)[-1]]
        d = S[last][0] - S[first][0]
        if -np.sum(g * d) >= np.sum(g * (x - w)):
            gamma = self.length(g, d, S[first][1])
            return self.shifted(S, first, last, S[last][0], gamma), d, gamma
        return self.toward(S, x, g, w)
