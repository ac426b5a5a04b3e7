"""Accelerated methods and Natasha1.5, as many people would write them."""

import math

import numpy as np
from claims.variants.common import PROXIMAL, Options, Own

import pfbench as pf

_SMOOTH = PROXIMAL | {"smooth"}


class AsvrgSums(Options, Own):
    """Averages by sums, each epoch's samples at once."""

    variant_of = "prox-asvrg"
    requires = PROXIMAL
    output = "last"
    smoothness = None

    def step_of(self, ask, y, g, size):
        return ask.prox(y, g, size)

    def run(self, ask, x, rng):
        n, b = ask.n, self.batch
        product = min(1.0 / 3.0, math.inf if not self.smoothness else self.smoothness * self.step)
        w = 1.0 - max(n - b, 0) / (b * max(n - 1, 1)) * product / (1.0 - product)
        reference, y, left = x.copy(), x.copy(), self.iterations
        while left > 0:
            full, total = ask.gradient(reference), np.zeros_like(x)
            x = (1.0 - w) * reference + w * y
            for j in range(min(self.period, left)):
                S = rng.integers(n, size=b)
                g = full + ask.difference(S, x, reference)
                y = self.step_of(ask, y, g, self.step / w)
                at, x = x, reference + w * (y - reference)
                total += x
                done = j + 1 == self.period
                yield pf.State(x, at, g, total / self.period if done else reference)
            left -= self.period
            reference = total / self.period
            w = 0.5 * (math.sqrt(w**4 + 4.0 * w**2) - w * w)


class AsvrgSmooth(AsvrgSums):
    """Without set and penalty there is no map to ask."""

    variant_of = "asvrg"
    requires = _SMOOTH

    def step_of(self, ask, y, g, size):
        return y - size * g


class KatyushaWritten(Options, Own):
    """Both options; the three sequences written out."""

    variant_of = "prox-katyusha-ns"
    requires = PROXIMAL
    output = "last"
    option = 1

    def run(self, ask, x, rng):
        snapshot, y, z, ys = x.copy(), x.copy(), x.copy(), []
        for t in range(self.iterations):
            s, j = t // self.period, t % self.period
            tau1 = 2.0 / (s + 4.0)
            if j == 0:
                full, ys = ask.gradient(snapshot), []
            x = tau1 * z + 0.5 * snapshot + (0.5 - tau1) * y
            g = full + ask.difference(rng.choice(ask.n, self.batch), x, snapshot)
            new = ask.prox(z, g, self.step / tau1)
            y = ask.prox(x, g, self.step) if self.option == 1 else x + tau1 * (new - z)
            z = new
            ys.append(y)
            done = len(ys) == self.period
            if done:
                snapshot = np.mean(ys, axis=0)
            yield pf.State(y, x, g, snapshot)


class KatyushaSmooth(KatyushaWritten):
    """The same where there is neither set nor penalty."""

    variant_of = "katyusha-ns"
    requires = _SMOOTH


class RsagTwoPoints(Options, Own):
    """Both forms of momentum."""

    variant_of = "prox-rsag"
    requires = frozenset({"batch", "prox"})
    output = "last"
    momentum = "nonconvex"

    def output_weight(self, k):
        return k * (k + 1)

    def run(self, ask, x, rng):
        ag, beta = np.array(x), self.step
        for k in range(1, self.iterations + 1):
            alpha = 2.0 / (k + 1.0)
            md = alpha * x + (1.0 - alpha) * ag
            if self.batch == ask.n:
                G = ask.batch(np.arange(ask.n), md)
            else:
                G = ask.batch(rng.integers(0, ask.n, (self.batch,)), md)
            lam = beta * (1.0 + 0.25 * alpha) if self.momentum == "nonconvex" else 0.5 * k * beta
            x, ag = ask.prox(x, G, lam), ask.prox(md, G, beta)
            yield pf.State(ag, md, G)


class RsagSmooth(RsagTwoPoints):
    """The same where there is neither set nor penalty."""

    variant_of = "rsag"
    requires = frozenset({"batch", "prox", "smooth"})


class NatashaLoops(Options, Own):
    """Three loops; averages by sums."""

    variant_of = "natasha15"
    requires = frozenset({"gradient", "batch", "difference", "prox"})
    output = "last"
    batch = 1

    def run(self, ask, x, rng):
        B, centre, left = self.snapshot, x.copy(), self.iterations
        m = max(1, B // (self.subepochs * self.batch))
        while left > 0:
            reference = centre
            if ask.n == B:
                mu = ask.gradient(reference)
            else:
                mu = ask.batch(rng.permutation(ask.n)[:B], reference)
            for _ in range(self.subepochs):
                x, total, output = centre, np.zeros_like(centre), centre
                for done in range(1, min(m, left) + 1):
                    total = total + x
                    S = rng.integers(ask.n, size=self.batch)
                    g = mu + ask.difference(S, x, reference) + 2.0 * self.sigma * (x - centre)
                    at, x, left = x, ask.prox(x, g, self.step), left - 1
                    output = total / m if done == m else centre
                    yield pf.State(x, at, g, output)
                centre = output
