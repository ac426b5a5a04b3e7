"""Ten more right methods as strangers write them, and late faults that no generated operator makes.

Each is right as it stands; subclasses do something wrong late, rarely, or at size only.
"""

from collections import namedtuple
from statistics import median

import numba
import numpy as np
import scipy
from more_styles import Refreshing
from own_styles import InEpochs, Plain
from twisted import Twisted

from pfbench.algorithms import ALGORITHMS
from pfbench.base.protocols import State


class Spider:
    """SPIDER Frank-Wolfe: an epoch is a generator of its own; slots; convex combinations."""

    __slots__ = ("T", "b", "gamma", "output", "q")
    name, deterministic, assumes = "spider-epochs", False, frozenset()
    requires = frozenset({"gradient", "batch", "lo"})

    def __init__(self, iterations, step, batch, period, output="uniform"):
        self.T, self.gamma, self.b, self.q, self.output = iterations, step, batch, period, output

    def period(self, epoch):
        return self.q

    def run(self, ask, x, rng):
        done = epoch = 0
        while done < self.T:
            length = min(self.period(epoch), self.T - done)
            x = yield from self.epoch(ask, x, rng, length)
            done, epoch = done + length, epoch + 1

    def epoch(self, ask, x, rng, length):
        v, before = ask.gradient(x), x
        for j in range(length):
            if j:
                S = (rng.random(self.b) * ask.n).astype(np.int64)
                v = v - (ask.batch(S, before) - ask.batch(S, x))
            before, x = x, (1.0 - self.gamma) * x + self.gamma * ask.lo(v)
            yield State(x, before, v)
        return x


class LongerLate(Spider):
    """After the twentieth epoch each has a step more."""

    def period(self, epoch):
        return self.q + (epoch >= 20)


class Page(Refreshing):
    """PAGE Frank-Wolfe whose points are the columns of one Fortran array."""

    requires = frozenset({"gradient", "difference", "lo"})

    def before(self, X, t, age):
        return X[:, t - 1]

    def run(self, ask, x, rng):
        X = np.empty((x.size, self.T + 1), order="F")
        X[:, 0], age = x, 0
        for t in range(self.T):
            coin = None if t == 0 else rng.random() < self.p
            age = 0 if coin in (None, True) else age + 1
            if age == 0:
                g = ask.gradient(X[:, t])
            else:
                S = self.draw(rng, ask.n)
                g = g + ask.difference(S, X[:, t], self.before(X, t, age))
            X[:, t + 1] = X[:, t] + self.eta * (ask.lo(g) - X[:, t])
            yield State(X[:, t + 1], X[:, t], g, None, None if coin is None else bool(coin))


class StaleWhereOld(Page):
    """Compares with the point two before, once no full gradient was taken for sixty steps."""

    def before(self, X, t, age):
        return X[:, t - 1 - (age > 60)]


class Storm(Plain):
    """STORM Frank-Wolfe that keeps a list of its states; draws by `choice`."""

    requires = frozenset({"batch", "lo"})

    def __init__(self, iterations, step, batch, alpha, snapshot=None):
        self.T, self.gamma, self.b, self.alpha = iterations, step, batch, alpha
        self.b0 = batch if snapshot is None else snapshot

    def kept(self, t, new):
        return 1.0 - self.alpha

    def run(self, ask, x, rng):
        states = []
        for t in range(self.T):
            S = rng.choice(ask.n, self.b if t else self.b0)
            d = ask.batch(S, x)
            if t:
                last = states[-1]
                d = d + self.kept(t, d) * (last.estimate - ask.batch(S, last.at))
            states.append(State(x + self.gamma * (ask.lo(d) - x), x, d))
            x = states[-1].x
            yield states[-1]


class SlowerLate(Storm):
    """Its weight is halved from iteration 1200 on."""

    def kept(self, t, new):
        return 1.0 - self.alpha * (0.5 if t >= 1200 else 1.0)


class ForgetsLong(Storm):
    """Begins anew where a batch gradient is eight times as long as the median so far."""

    def run(self, ask, x, rng):
        self.norms = []
        yield from super().run(ask, x, rng)

    def kept(self, t, new):
        self.norms.append(np.linalg.norm(new))
        return 0.0 if self.norms[-1] > 8.0 * median(self.norms) else super().kept(t, new)


class ZeroSarah(Plain):
    """ZeroSARAH with an array for a table, its mean a running one, components one by one."""

    requires = frozenset({"batch", "prox"})

    def __init__(self, iterations, step, batch, table_weight):
        self.T, self.eta, self.b, self.lam = iterations, step, batch, table_weight

    def place(self, i):
        return i

    def run(self, ask, x, rng):
        def one(i, x):
            return ask.batch(np.array([i]), x)

        Y = np.array([one(i, x) for i in range(ask.n)])
        y = Y.mean(axis=0)
        g, before = y.copy(), x
        for t in range(self.T):
            if t:
                S = [int(i) for i in rng.integers(ask.n, size=self.b)]
                new, old = [one(i, x) for i in S], [one(i, before) for i in S]
                g = (1.0 - self.lam) * g + self.lam * y
                for i, a, b in zip(S, new, old, strict=True):
                    g = g + (a - b + self.lam * (b - Y[i])) / self.b
                for i, a in zip(S, new, strict=True):
                    k = self.place(i)
                    y, Y[k] = y + (a - Y[k]) / ask.n, a
            before, x = x, ask.prox(x, g, self.eta)
            yield State(x, before, g)


class HalfPrecision(ZeroSarah):
    """Finds the entry to renew by an index in half precision, which is exact up to 2048."""

    def place(self, i):
        return min(int(np.float16(i)), i)


Snapshot = namedtuple("Snapshot", "point gradient")


class Lsvrg(Refreshing):
    """L-SVRG Frank-Wolfe: its coin a binomial number, its batches from blocks drawn when due."""

    requires = frozenset({"gradient", "difference", "lo"})

    def block(self, rng, n, t):
        return rng.integers(n, size=(4, self.b))

    def moves(self, t, last):
        return True

    def run(self, ask, x, rng):
        rows, w, last = iter(()), Snapshot(x, ask.gradient(x)), 0
        for t in range(self.T):
            coin, g = (bool(rng.binomial(1, self.p)) if t else None), w.gradient
            if coin:
                g = ask.gradient(x)
                w, last = (Snapshot(x, g) if self.moves(t, last) else w), t
            elif t:
                S = next(rows, None)
                if S is None:
                    rows = iter(self.block(rng, ask.n, t))
                    S = next(rows)
                g = g + ask.difference(S, x, w.point)
            at, x = x, x - self.eta * (x - ask.lo(g))
            yield State(x, at, g, coin=coin)


class StaysSoonAfter(Lsvrg):
    """Does not move its snapshot where the coin fell heads at most four steps before."""

    def moves(self, t, last):
        return last == 0 or t - last > 4


class NoRepeats(Lsvrg):
    """Draws without replacement from iteration 900 on."""

    def block(self, rng, n, t):
        if t < 900:
            return super().block(rng, n, t)
        return [rng.choice(n, self.b, replace=False) for _ in range(4)]


class Away(Plain):
    """Away-step Frank-Wolfe with a dictionary of weights, its point moved along."""

    requires = frozenset({"gradient", "lo", "value", "polytope"})
    deterministic, output = True, "last"
    least = 1e-15

    def __init__(self, iterations, smoothness, step="short"):
        self.T, self.L, self.step = iterations, smoothness, step

    def run(self, ask, x, rng):
        self.searches = 0
        for t in range(self.T):
            g, at = ask.gradient(x), x
            v = ask.lo(g)
            if t == 0:
                x, weights = np.array(v), {tuple(v): 1.0}
            else:
                x = self.moved(ask, x, g, v, weights)
            yield State(x, at, g)

    def moved(self, ask, x, g, v, weights):
        a = max(weights, key=lambda one: np.dot(one, g))
        away = len(weights) > 1 and np.dot(g, x - v) < np.dot(a, g) - np.dot(g, x)
        d = x - a if away else v - x
        most = weights[a] / (1.0 - weights[a]) if away else 1.0
        gamma = self.length(ask, x, d, -np.dot(g, d), most)
        sign = -1.0 if away else 1.0
        for one in weights:
            weights[one] *= 1.0 - sign * gamma
        to = a if away else tuple(v)
        weights[to] = weights.get(to, 0.0) + sign * gamma
        for one in [one for one, weight in weights.items() if weight <= self.least]:
            del weights[one]
        return x + gamma * d

    def length(self, ask, x, d, slope, most):
        if slope <= 0.0:
            return 0.0
        if self.step == "short":
            return min(most, slope / (self.L * np.dot(d, d)))
        self.searches += 1
        return self.search(lambda gamma: ask.value(x + gamma * d), most)

    def search(self, value, most):
        found = scipy.optimize.minimize_scalar(
            value, bounds=(0.0, most), method="bounded", options={"xatol": 1e-11 * most}
        )
        return min((0.0, most, found.x), key=value)


class Prunes(Away):
    """Lets a vertex of a weight below a thousandth fall, and keeps the point."""

    least = 1e-3


class HalfSegment(Away):
    """After fifteen searches it looks at half of the segment."""

    def search(self, value, most):
        return super().search(value, most if self.searches <= 15 else 0.5 * most)


class Sliding(Plain):
    """Sliding of Lan and Zhou; condg is a generator of points, of which the last counts."""

    requires = frozenset({"gradient", "lo"})
    deterministic, output = True, "last"

    def __init__(self, iterations, smoothness, diameter):
        self.N, self.L, self.D = iterations, smoothness, diameter

    def tolerance(self, k):
        return self.L * self.D**2 / (k * (k + 1))

    def run(self, ask, x, rng):
        y = x
        for k in range(1, self.N + 1):
            gamma = 3.0 / (k + 2.0)
            z = (1.0 - gamma) * y + gamma * x
            g = ask.gradient(z)
            *_, x = self.condg(ask, g, x, 3.0 * self.L / (k + 1.0), self.tolerance(k))
            y = (1.0 - gamma) * y + gamma * x
            yield State(y, z, g)

    def condg(self, ask, g, u, beta, tolerance):
        p = u
        yield p
        while True:
            slope = g + beta * (p - u)
            v = ask.lo(slope)
            gap = np.dot(slope, p - v)
            if gap <= tolerance:
                return
            a = min(1.0, gap / (beta * np.dot(p - v, p - v)))
            p = (1.0 - a) * p + a * v
            yield p


class CoarserLate(Sliding):
    """Its tolerance no longer falls after sixty steps."""

    def tolerance(self, k):
        return super().tolerance(min(k, 60))


@numba.njit
def corrected(mean, new, old, out):
    for k in range(out.size):
        out.flat[k] = mean.flat[k] + (new.flat[k] - old.flat[k])


class Svrg(InEpochs):
    """Prox-SVRG in arrays made once; a compiled loop adds up, and copies are told."""

    requires = frozenset({"gradient", "batch", "prox"})

    def renews(self, epoch):
        return True

    def reference(self, epoch, g):
        return g

    def draw_at(self, t, rng, n):
        return rng.integers(0, n, size=self.b, dtype=np.uint32)

    def run(self, ask, x0, rng):
        x, w, mean, v = (np.array(x0) for _ in range(4))
        for t in range(self.T):
            epoch, k = divmod(t, self.m)
            if k == 0 and self.renews(epoch):
                w[:] = x
                mean[:] = self.reference(epoch, ask.gradient(w))
            S = self.draw_at(t, rng, ask.n)
            corrected(mean, ask.batch(S, x), ask.batch(S, w), v)
            at = x.copy()
            x[:] = ask.prox(x, v, self.eta)
            yield State(x.copy(), at, v.copy())


class SinglePrecision(Svrg):
    """Keeps the reference gradient in single precision from the fifteenth epoch on."""

    def reference(self, epoch, g):
        return g if epoch < 15 else g.astype(np.float32)


class SeldomerReferences(Svrg):
    """Keeps a reference gradient for two epochs, after the hundredth."""

    def renews(self, epoch):
        return epoch < 100 or epoch % 2 == 0


class PoolOfDraws(Svrg):
    """Draws so many indices as 64 passes need, once, and goes through them again and again."""

    def draw_at(self, t, rng, n):
        if t == 0:
            self.pool = rng.integers(n, size=(64 * n // self.b + 1, self.b))
        return self.pool[t % len(self.pool)]


class OneSample(Plain):
    """1-SFW with all that fades; indices from uniform numbers, cast."""

    requires = frozenset({"batch", "lo"})
    output = "last"

    def __init__(self, iterations, batch=1, alpha=None, step=None):
        self.T, self.b, self.alpha, self.gamma = iterations, batch, alpha, step

    def length(self, t):
        return 2.0 / (t + 2) if self.gamma is None else self.gamma

    def run(self, ask, x, rng):
        d = before = 0.0
        for t in range(self.T):
            S = np.floor(rng.uniform(0, ask.n, self.b)).astype("i4")
            keep = t / (t + 1.0) if self.alpha is None else 1.0 - self.alpha
            new = ask.batch(S, x)
            d = new + keep * (d - ask.batch(S, before)) if t else new
            before = x
            x = x + self.length(t) * (ask.lo(d) - x)
            yield State(x, before, d)


class FlooredStep(OneSample):
    """Its step never falls below 1/600."""

    def length(self, t):
        return super().length(t) if self.gamma else max(super().length(t), 1.0 / 600.0)


class Picks(Plain):
    """Mini-batch Frank-Wolfe; the output is a running pick, by whole numbers."""

    requires = frozenset({"batch", "lo"})

    def picks(self, rng, t):
        return rng.integers(t + 1) == 0

    def run(self, ask, x, rng):
        for t in range(self.T):
            pick = x if self.picks(rng, t) else pick  # noqa: F821
            g = ask.batch(self.draw(rng, ask.n), x)
            d = ask.lo(g) - x
            at, x = x, x + self.eta * d
            yield State(x, at, g, pick)


class NoLatePick(Picks):
    """Takes no point for its output after iteration 700."""

    def picks(self, rng, t):
        return super().picks(rng, t) and t <= 700


class AtMost512(Twisted):
    """Uses and pays the first 512 indices of a batch alone."""

    def difference(self, S, x, y):
        return self.ask.difference(S[:512], x, y)


class DoublesToADepth(ALGORITHMS["spider-fw-convex"]):
    """SPIDER-FW for convex f, whose batches have at most 512 indices."""

    def run(self, ask, x, rng):
        return super().run(AtMost512(ask), x, rng)


STYLES = (
    (Spider, "spider-fw"),
    (Page, "page-fw"),
    (Storm, "storm-fw"),
    (ZeroSarah, "zerosarah"),
    (Lsvrg, "lsvrg-fw"),
    (Away, "afw"),
    (Sliding, "cgs-convex"),
    (Svrg, "prox-svrg"),
    (OneSample, "one-sfw"),
    (Picks, "sfw"),
)
"""Each with the method that it is."""

FAULTS = (
    (LongerLate, "spider-fw"),
    (StaleWhereOld, "page-fw"),
    (SlowerLate, "storm-fw"),
    (ForgetsLong, "storm-fw"),
    (HalfPrecision, "zerosarah"),
    (StaysSoonAfter, "lsvrg-fw"),
    (NoRepeats, "lsvrg-fw"),
    (Prunes, "afw"),
    (HalfSegment, "afw"),
    (CoarserLate, "cgs-convex"),
    (SinglePrecision, "prox-svrg"),
    (FlooredStep, "one-sfw"),
    (NoLatePick, "sfw"),
    (PoolOfDraws, "prox-svrg"),
    (SeldomerReferences, "prox-svrg"),
    (DoublesToADepth, "spider-fw-convex"),
)
"""Faulty ones, each with its method."""
