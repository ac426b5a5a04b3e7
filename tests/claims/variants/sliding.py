"""Sliding methods, as many people would write them."""

import numpy as np
from claims.variants.common import Options, Own

import pfbench as pf
from pfbench.base.sample import Sample

_ASKS = frozenset({"gradient", "lo"})


def slide(ask, slope, centre, lam, tolerance):
    """Minimise <slope, x> + |x - centre|^2/(2 lam) by Frank-Wolfe, arrays only."""
    x = centre.copy()
    while True:
        direction = slope + (x - centre) / lam
        vertex = ask.lo(direction)
        towards = np.asarray(vertex if isinstance(vertex, np.ndarray) else vertex.matrix()) - x
        gap = -np.vdot(direction, towards)
        if gap <= tolerance:
            return x
        x += min(1.0, lam * gap / np.vdot(towards, towards)) * towards


class NcgsInPlace(Own):
    """Option 1 alone; three arrays that move."""

    variant_of = "ncgs"
    requires = _ASKS
    deterministic = True
    judged_by = ("qu2018-thm1-I", "qu2018-cor1")

    def __init__(self, iterations, smoothness, tolerance=None):
        self.N, self.L, self.eta = iterations, smoothness, tolerance or 1.0 / iterations

    def run(self, ask, x, rng):
        theta, ag, md = x.copy(), x.copy(), x.copy()
        for k in range(self.N):
            md[:] = ag
            md += 2.0 / (k + 2.0) * (theta - ag)
            g = ask.gradient(md)
            ag[:] = md
            ag -= theta
            theta[:] = slide(ask, g, theta, 0.5 / self.L, self.eta)
            ag += theta
            yield pf.State(ag, md, g)


class NcgsRecursive(Options, Own):
    """Two loops, with batches at both points."""

    variant_of = "ncgs-spider"
    requires = frozenset({"batch", "gradient", "lo"})
    untold = {"relatives-importance-ncgs-spider": "has no parameter sampling"}  # noqa: RUF012

    def run(self, ask, x, rng):
        t = 0
        while t < self.iterations:
            G = ask.gradient(x)
            for k in range(min(self.period, self.iterations - t)):
                if k > 0:
                    S = rng.integers(ask.n, size=self.batch)
                    G = G + ask.batch(S, x) - ask.batch(S, at)  # noqa: F821
                at, x = x, slide(ask, G, x, 1.0 / self.smoothness, self.tolerance)
                yield pf.State(x, at, G)
            t += self.period


class CgsLoops(Own):
    """Restarted sliding; an outer iteration is a generator."""

    variant_of = "cgs"
    requires = _ASKS
    deterministic = True
    output = "last"

    def __init__(self, period, smoothness, curvature, delta, restarts=1):
        self.N, self.L, self.outer = period, smoothness, restarts
        self.squares = [4.0 * delta / curvature * 0.5**t for t in range(1, restarts + 1)]

    def estimate(self, ask, z, start, full, rng):
        return ask.gradient(z)

    def reference(self, ask, start):
        return None

    def restart(self, ask, theta, square, rng):
        x = y = theta
        full = self.reference(ask, theta)
        for k in range(1, self.N + 1):
            gamma = 2.0 / (k + 1.0)
            z = pf.combine(pf.keep(y), x, gamma)
            g = self.estimate(ask, z, theta, full, rng)
            x = inner_loop(ask, g, x, k / (3.0 * self.L), 2.0 * self.L * square / (self.N * k))
            y = pf.combine(pf.keep(y), x, gamma)
            yield pf.State(y, z, g)

    def run(self, ask, x, rng):
        for square in self.squares:
            for state in self.restart(ask, x, square, rng):
                x = state.x
                yield state


def inner_loop(ask, slope, centre, lam, tolerance):
    """As `slide`, with pfbench's operations, for matrices too."""
    x = pf.keep(centre)
    while True:
        direction = pf.tilt(slope, x, centre, 1.0 / lam)
        vertex = ask.lo(direction)
        gap = pf.inner(direction, x) - pf.inner(direction, vertex)
        if gap <= tolerance:
            return x
        x = pf.combine(x, vertex, min(1.0, gap * lam / pf.distance(vertex, x) ** 2))


class StorcCounts(CgsLoops):
    """Draws how often each component is taken; the snapshot's gradient is a batch of all."""

    variant_of = "storc"
    requires = frozenset({"batch", "difference", "lo"})
    deterministic = False

    def __init__(self, period, smoothness, curvature, delta, batch, restarts=1):
        super().__init__(period, smoothness, curvature, delta, restarts)
        self.batch = batch

    def often(self, n, rng):
        return rng.multinomial(self.batch, np.ones(n) / n)

    def reference(self, ask, start):
        return ask.batch(np.arange(ask.n), start)

    def estimate(self, ask, z, start, full, rng):
        often = self.often(ask.n, rng)
        (drawn,) = np.nonzero(often)
        return ask.difference(Sample(drawn, often[drawn]), z, start) + full


class StorcBinomials(StorcCounts):
    """Draws how often each is taken, given how often those before it were."""

    def often(self, n, rng):
        found, left = [], self.batch
        for i in range(n):
            found.append(rng.binomial(left, 1.0 / (n - i)))
            left -= found[-1]
        return np.array(found)
