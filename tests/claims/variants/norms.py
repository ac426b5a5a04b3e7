"""Methods for norm balls as many people would write them: in place, by lists, by velocities."""

import itertools

import numpy as np
from claims.variants.common import Options, Own

import pfbench as pf

BALL = frozenset({"batch", "lo", "norm"})


class ScgMokhtari(Own):
    """Moves by the difference to the vertex; weights of the newest gradient in a list."""

    variant_of = "scg"
    requires = frozenset({"batch", "lo"})

    def __init__(self, iterations, step, batch, alpha=None, begin="gradient"):
        weights = [k**-0.5 if alpha is None else alpha for k in range(1, iterations + 1)]
        if begin == "gradient":
            weights[0] = 1.0
        self.weights, self.step, self.batch = weights, step, batch

    def run(self, ask, x, rng):
        d = None
        for weight in self.weights:
            g = ask.batch(rng.integers(ask.n, size=self.batch), x)
            d = weight * g if d is None else d + weight * (g - d)
            at, x = x, pf.combine(x, ask.lo(d), self.step)
            yield pf.State(x, at, d)


class Scion(Own):
    """All draws at once, and the point moved in place."""

    variant_of = "uscg"
    requires = BALL

    def __init__(self, iterations, step, batch, alpha=None, begin="gradient", decay=0.0):
        self.K, self.step, self.b, self.decay = iterations, step, batch, decay
        self.alpha, self.cold = alpha, begin == "zero"

    def run(self, ask, x, rng):
        x, d = x.copy(), np.zeros_like(x)
        for k, S in enumerate(rng.integers(ask.n, size=(self.K, self.b)), 1):
            g, at = ask.batch(S, x), x.copy()
            alpha = self.alpha or 1.0 / np.sqrt(k)
            d = g if k == 1 and not self.cold else (1.0 - alpha) * d + alpha * g
            v = ask.lo(d)
            x *= 1.0 - self.step * self.decay
            x += self.step * v
            yield pf.State(x, at, d)


class Storming(Options, Own):
    """STORM's estimate written as in its paper."""

    variant_of = "uscg-mvr"
    requires = BALL
    snapshot = None

    def run(self, ask, x, rng):
        d, old = 0.0, None
        for k in range(self.iterations):
            size = self.batch if k else self.snapshot or self.batch
            S = rng.choice(ask.n, size)
            if k:
                d = d - ask.batch(S, old)
                d = ask.batch(S, x) + (1.0 - self.alpha) * d
            else:
                d = ask.batch(S, x)
            old, x = x, x + self.step * ask.lo(d)
            yield pf.State(x, old, d)


class Transporting(Options, Own):
    """Asks at a point ahead, written by the last move."""

    variant_of = "uscg-transport"
    requires = BALL
    snapshot = None

    def run(self, ask, x, rng):
        x, d, move = np.array(x), 0.0, 0.0
        for k in range(self.iterations):
            size = self.batch if k else self.snapshot or self.batch
            g = ask.batch(rng.choice(ask.n, size), x + (1 / self.alpha - 1) * move)
            d = d + self.alpha * (g - d) if k else g
            move, at = self.step * ask.lo(d), x
            x = x + move
            yield pf.State(x, at, d)


class AlmondVelocity(Options, Own):
    """An average of vertices as a velocity."""

    variant_of = "almond"
    requires = BALL

    def run(self, ask, x, rng):
        velocity = 0.0
        for k in range(self.iterations):
            g = ask.batch(rng.integers(0, ask.n, self.batch), x)
            weight = self.alpha if k else 1.0
            velocity = velocity + weight * (ask.lo(g) - velocity)
            at, x = x, x + self.step * velocity
            yield pf.State(x, at, g)


class MuonLerped(Options, Own):
    """Momentum as an average from zero, as torch has it."""

    variant_of = "muon"
    requires = BALL | {"norm spectral"}
    decay = 0.0
    nesterov = False

    def run(self, ask, x, rng):
        average = np.zeros_like(x)
        for _ in itertools.repeat(None, self.iterations):
            g = ask.batch(rng.integers(ask.n, size=self.batch), x)
            average = average + (1.0 - self.beta) * (g - average)
            update = g + self.beta * (average - g) if self.nesterov else average
            at = x
            x = x - self.step * self.decay * x
            x = x + self.step * ask.lo(update)
            yield pf.State(x, at, update)


class MuonNesterovLerped(MuonLerped):
    """The same with the gradient drawn ahead; its update is (1 - beta) g + beta average."""

    variant_of = "muon-nesterov"
    nesterov = True


class NorMuonByRows(Options, Own):
    """Unit rows by their own averages, one row after the other."""

    variant_of = "normuon"
    requires = BALL | {"norm spectral"}
    decay, beta2 = 0.0, 0.95

    def run(self, ask, x, rng):
        average, squares = np.zeros_like(x), np.zeros(len(np.atleast_2d(x)))
        for _ in range(self.iterations):
            g = ask.batch(rng.integers(ask.n, size=self.batch), x)
            average = average + (1.0 - self.beta) * (g - average)
            v = np.atleast_2d(np.array(ask.lo(average)))
            squares = squares + (1.0 - self.beta2) * ((v**2).mean(axis=1) - squares)
            for row, square in zip(v, squares, strict=True):
                if square > 0.0:
                    row /= np.sqrt(square)
            at, x = x, x - self.step * self.decay * x
            x = x + self.step * 0.2 * np.sqrt(v.size) * v.reshape(x.shape) / np.linalg.norm(v)
            yield pf.State(x, at, average)


class SignumLerped(MuonLerped):
    """The same over another norm."""

    variant_of = "signum"
    requires = BALL | {"norm linf"}


class Normalised(Options, Own):
    """A momentum that is not an average, scaled where it is told."""

    variant_of = "normalised-sgd"
    requires = BALL | {"norm l2"}
    decay = 0.0

    def run(self, ask, x, rng):
        u = ask.batch(rng.integers(ask.n, size=self.batch), x) / (1.0 - self.beta)
        for k in range(self.iterations):
            if k:
                u = self.beta * u + ask.batch(rng.integers(ask.n, size=self.batch), x)
            at, x = x, (1.0 - self.step * self.decay) * x + self.step * ask.lo(u)
            yield pf.State(x, at, (1.0 - self.beta) * u)
