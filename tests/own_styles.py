"""Methods as strangers write them: plain classes, own draws, own rounding, little told.

Each is right as it stands; `fault` names what a subclass does wrong.
"""

import math

import numpy as np

from pfbench.base.protocols import State
from pfbench.points import keep


class Plain:
    """What a method needs beside `run`, without a dataclass."""

    name = "plain"
    requires = frozenset({"gradient", "batch", "difference", "lo"})
    assumes = frozenset()
    deterministic = False
    output = "uniform"

    def __init__(self, iterations, step, batch):
        self.T, self.eta, self.b = iterations, step, batch

    def draw(self, rng, n):
        return rng.integers(n, size=self.b)


class InEpochs(Plain):
    """A plain method with epochs."""

    def __init__(self, iterations, step, batch, period):
        super().__init__(iterations, step, batch)
        self.m = period


class SpiderFW(InEpochs):
    """SPIDER Frank-Wolfe: an epoch's samples at once, differences of two batches, no `at`."""

    def reference_at(self, path):
        return path[-1]

    def sample(self, drawn, j):
        return drawn[j]

    def run(self, ask, x, rng):
        path = [x]
        for t in range(self.T):
            j = t % self.m
            if j == 0:
                everyone = np.arange(ask.n)
                v = ask.batch(everyone, self.reference_at(path))
                drawn = rng.integers(0, ask.n, size=(self.m, self.b))
            else:
                S = self.sample(drawn, j)
                v = v + ask.batch(S, path[-1]) - ask.batch(S, path[-2])
            x = x + self.eta * (ask.lo(v) - x)
            path.append(x)
            yield State(x)


class ReferenceBefore(SpiderFW):
    """The reference gradient is that of x_{t-1}."""

    def reference_at(self, path):
        return path[-2] if len(path) > 1 else path[-1]


class ReferenceAtStart(SpiderFW):
    """The reference gradient is always that of x_0."""

    def reference_at(self, path):
        return path[0]


class SameBatch(SpiderFW):
    """The epoch's first batch is used throughout."""

    def sample(self, drawn, j):
        return drawn[1]


class Boost(InEpochs):
    """Prox-SpiderBoost that moves one array in place; samples by `choice`."""

    requires = frozenset({"gradient", "batch", "difference", "prox"})

    def __init__(self, iterations, step, batch, period, snapshot=None):
        super().__init__(iterations, step, batch, period)
        self.B = snapshot

    def reference_at(self, start, before, now):
        return now

    def run(self, ask, x, rng):
        start, before, now, v = x.copy(), x.copy(), x.copy(), None
        for k in range(self.T):
            if k % self.m:
                S = rng.choice(ask.n, self.b)
                v += ask.difference(S, now, before)
            elif self.B in (None, ask.n):
                v = ask.gradient(self.reference_at(start, before, now)).copy()
            else:
                S = rng.choice(ask.n, self.B, replace=True)
                v = ask.batch(S, self.reference_at(start, before, now))
            before[:] = now
            now[:] = ask.prox(now, v, self.eta)
            yield State(now, before, v)


class BoostReferenceBefore(Boost):
    """The reference gradient is that of x_{t-1}."""

    def reference_at(self, start, before, now):
        return before


class BoostReferenceAtStart(Boost):
    """The reference gradient is always that of x_0."""

    def reference_at(self, start, before, now):
        return start


class OwnTable(Plain):
    """Prox-SAGA with a table of its own, filled and renewed by single component gradients."""

    requires = frozenset({"batch", "prox"})
    renews = True
    stored = np.array

    def draw(self, rng, n):
        return rng.integers(n, size=(2, self.b), dtype=np.int32)

    def run(self, ask, x, rng):
        table = np.array([ask.batch(np.array([i]), x) for i in range(ask.n)])
        for _ in range(self.T):
            used, drawn = self.draw(rng, ask.n)
            v = ask.batch(used, x) - table[used].mean(axis=0) + table.mean(axis=0)
            J = self.stored(drawn)
            fresh = [ask.batch(np.array([j]), x) for j in J]
            if self.renews:
                table[J] = fresh
            before, x = x, ask.prox(x, v, self.eta)
            yield State(x, before, v)


class TableKept(OwnTable):
    """The table stays as it was filled."""

    renews = False


class Once(OwnTable):
    """Asks each component that is stored anew once."""

    stored = staticmethod(np.unique)


class NeverZero(Once):
    """Does so, and never draws the first component of the second batch."""

    def draw(self, rng, n):
        used, drawn = super().draw(rng, n)
        return used, np.maximum(drawn, n // 10)


class Floor(Plain):
    """NFWU with mini-batches drawn as floors of uniform numbers, which nobody can enumerate."""

    requires = frozenset({"batch", "lo"})

    def draw(self, rng, n):
        return (rng.random(self.b) * n).astype(int)

    def run(self, ask, x, rng):
        for _ in range(self.T):
            v = ask.lo(ask.batch(self.draw(rng, ask.n), x))
            x = (1 - self.eta) * x + self.eta * v
            yield State(x)


class FloorOfFewer(Floor):
    """Never draws the last component."""

    def draw(self, rng, n):
        return (rng.random(self.b) * (n - 1)).astype(int)


class FloorOfOne(Floor):
    """Pays S components, uses one."""

    def draw(self, rng, n):
        return np.repeat((rng.random(1) * n).astype(int), self.b)


class Restarted(Plain):
    """The best of k runs of mini-batch NFWU; the output is told at the end of each run."""

    requires = frozenset({"batch", "lo", "gradient"})
    sign = 1.0

    def __init__(self, iterations, step, batch, restarts=1):
        super().__init__(iterations, step, batch)
        self.restarts = restarts

    def run(self, ask, x0, rng):
        candidates = []
        for _ in range(self.restarts):
            x, chosen = x0.copy(), rng.permutation(self.T)[0] if self.restarts > 1 else None
            for t in range(self.T):
                g = ask.batch(self.draw(rng, ask.n), x)
                if t == chosen:
                    candidate = x.copy()
                at, x = x, x + self.eta * (ask.lo(g) - x)
                if chosen is not None and t == self.T - 1:
                    full = ask.gradient(candidate)
                    gap = full @ (candidate - ask.lo(full))
                    candidates.append((self.sign * gap, candidate))
                best = min(candidates, key=lambda one: one[0])[1] if candidates else None
                yield State(x, at, g, best)


class WorstOfRuns(Restarted):
    """The output is the candidate with the largest gap."""

    sign = -1.0


class RightHalf(Floor):
    """Draws its output itself, uniformly."""

    def run(self, ask, x, rng):
        chosen, output = rng.integers(self.first_of(self.T), self.T), None
        for t in range(self.T):
            if t == chosen:
                output = keep(x)
            g = ask.batch(rng.integers(ask.n, size=self.b), x)
            at, x = x, x + self.eta * (ask.lo(g) - x)
            yield State(x, at, g, output)

    def first_of(self, T):
        return 0


class SecondHalf(RightHalf):
    """Draws its output among the second half."""

    def first_of(self, T):
        return T // 2


class SlidingVR(Plain):
    """NCGS-VR: condg written anew, the vertex moved towards in other words."""

    def __init__(self, iterations, smoothness, batch, period, tolerance=None, output="uniform"):
        self.T, self.L, self.b, self.m = iterations, smoothness, batch, period
        self.eta, self.output = tolerance or 1.0 / iterations, output

    @property
    def inner(self):
        return self.eta

    def run(self, ask, x, rng):
        for t in range(self.T):
            if t % self.m == 0:
                s, mean = x, ask.gradient(x)
            v = mean + ask.difference(self.draw(rng, ask.n), x, s)
            at, x = x, self.condg(ask, v, x)
            yield State(x, at, v)

    def draw(self, rng, n):
        return rng.integers(0, n - 1, size=self.b, endpoint=True)

    def condg(self, ask, v, u):
        z = np.zeros_like(u)  # from u
        while True:
            slope = v + 3.0 * self.L * z
            w = ask.lo(slope) - (u + z)
            if -slope @ w <= self.inner:
                return u + z
            z = z + min(1.0, -(slope @ w) / (3.0 * self.L * (w @ w))) * w


class SlidingVRCoarse(SlidingVR):
    """The inner tolerance is 1/sqrt T."""

    @property
    def inner(self):
        return math.sqrt(self.eta)


class SlidingVROneUsed(SlidingVR):
    """Pays b, uses one."""

    def draw(self, rng, n):
        return np.full(self.b, rng.integers(n))


class Golden(Plain):
    """Frank-Wolfe with golden section on a grid's best interval."""

    requires = frozenset({"gradient", "lo", "value"})
    deterministic, output = True, "last"
    width = 1e-9

    def __init__(self, iterations, step):
        if step not in ("open-loop", "line-search"):
            raise ValueError(step)
        self.T, self.step = iterations, step

    def run(self, ask, x, rng):
        for t in range(self.T):
            g = ask.gradient(x)
            d = ask.lo(g) - x
            gamma = 2 / (t + 2) if self.step == "open-loop" else self.search(ask, x, d)
            x = x + gamma * d
            yield State(x, estimate=g)

    def search(self, ask, x, d):
        grid = np.linspace(0, 1, 21)
        best = int(np.argmin([ask.value(x + one * d) for one in grid]))
        a, b = grid[max(best - 1, 0)], grid[min(best + 1, 20)]
        ratio = (math.sqrt(5) - 1) / 2
        while b - a > self.width:
            c, e = b - ratio * (b - a), a + ratio * (b - a)
            a, b = (a, e) if ask.value(x + c * d) <= ask.value(x + e * d) else (c, b)
        return min((a, b, (a + b) / 2, 1.0), key=lambda one: ask.value(x + one * d))


class Coarse(Golden):
    """Takes the best of the grid alone."""

    width = 1.0


class Outer(InEpochs):
    """SARAH whose outer loop chooses by `choice`, unconstrained, without `prox`."""

    requires = frozenset({"gradient", "difference"})

    def choose(self, rng, xs):
        return xs[rng.choice(len(xs))]

    def run(self, ask, x, rng):
        done, v = 0, None
        while done < self.T:
            xs = [x]
            for t in range(min(self.m, self.T - done)):
                change = self.change(ask, rng, xs) if t else ask.gradient(x)
                v = v + change if t else change
                xs.append(x := x - self.eta * v)
                done += 1
                x_out = None if done < self.T else self.choose(rng, xs[:-1])
                yield State(x, xs[-2], v, x_out)
            x = self.choose(rng, xs[:-1]) if done < self.T else x

    def change(self, ask, rng, xs):
        return ask.difference(self.draw(rng, ask.n), xs[-1], xs[-2])


class OuterFromEnd(Outer):
    """Goes on from the second half of the loop."""

    def choose(self, rng, xs):
        return xs[rng.integers(len(xs) // 2, len(xs))]


RIGHT = {
    "nfwu-spiderg": SpiderFW,
    "prox-spiderboost": Boost,
    "prox-saga": OwnTable,
    "nfwu-sg": Restarted,
    "sfw": RightHalf,
    "ncgs-vr": SlidingVR,
    "frank-wolfe": Golden,
    "sarah": Outer,
}
"""Right methods in other styles, by what they are."""

FAULTS = (
    ("nfwu-spiderg", ReferenceBefore),
    ("nfwu-spiderg", ReferenceAtStart),
    ("nfwu-spiderg", SameBatch),
    ("prox-spiderboost", BoostReferenceBefore),
    ("prox-spiderboost", BoostReferenceAtStart),
    ("prox-saga", TableKept),
    ("prox-saga", NeverZero),
    ("sfw", FloorOfFewer),
    ("sfw", FloorOfOne),
    ("nfwu-sg", WorstOfRuns),
    ("sfw", SecondHalf),
    ("ncgs-vr", SlidingVRCoarse),
    ("ncgs-vr", SlidingVROneUsed),
    ("frank-wolfe", Coarse),
    ("sarah", OuterFromEnd),
)
"""Faulty ones: the method and the class."""
