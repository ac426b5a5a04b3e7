"""Right methods whose draws are told otherwise than most do, and faults of draws that act late."""

from dataclasses import dataclass

import numpy as np

import pfbench as pf
from pfbench.base.protocols import State


@dataclass(frozen=True, kw_only=True)
class Step(pf.Algorithm):
    """A proximal step along an estimate."""

    requires = frozenset({"gradient", "batch", "difference", "prox"})

    output: str = "uniform"
    iterations: int
    step: float
    batch: int

    def moved(self, ask, x, g, coin=None):
        there = ask.prox(x, g, self.step)
        return there, State(there, x, g, coin=coin)


class Once(Step):
    """ProxSAGA with an own table; each component that is stored anew is asked once."""

    def drawn(self, rng, n, t):
        return rng.integers(n, size=self.batch)

    def run(self, ask, x, rng):
        rows = np.array([ask.batch(np.array([i]), x) for i in range(ask.n)])
        for t in range(self.iterations):
            I, J = self.drawn(rng, ask.n, t), self.drawn(rng, ask.n, t)  # noqa: E741
            g = ask.batch(I, x) - rows[I].mean(axis=0) + rows.mean(axis=0)
            for j in np.unique(J):
                rows[j] = ask.batch(np.array([j]), x)
            x, state = self.moved(ask, x, g)
            yield state


class NeverZero(Once):
    """Does so, and never draws the first component of the second batch."""

    def drawn(self, rng, n, t):
        return np.maximum(super().drawn(rng, n, t), n // 10)


@dataclass(frozen=True, kw_only=True)
class Lengths(Step):
    """PAGE with proximal steps; lengths of epochs are drawn, and no coin is told."""

    refresh: float

    def chance(self, t):
        return self.refresh

    def full(self, ask, x):
        return ask.gradient(x)

    def run(self, ask, x, rng):
        left, before = 0, x
        for t in range(self.iterations):
            if left == 0:
                g, left = self.full(ask, x), int(rng.geometric(self.chance(t)))
            else:
                g = g + ask.difference(rng.integers(ask.n, size=self.batch), x, before)
            before, left = x, left - 1
            x, state = self.moved(ask, x, g)
            yield state


class FullByBatch(Lengths):
    """Asks the full gradient as a batch of all."""

    def full(self, ask, x):
        return ask.batch(np.arange(ask.n), x)


class OftenLate(Lengths):
    """Epochs are a fourth as long after iteration 300."""

    def chance(self, t):
        return self.refresh if t < 300 else min(1.0, 4.0 * self.refresh)


class SeldomLate(Lengths):
    """Epochs are twice as long after iteration 300."""

    def chance(self, t):
        return self.refresh if t < 300 else self.refresh / 2.0


@dataclass(frozen=True, kw_only=True)
class Epochs(Step):
    """ProxSVRG."""

    period: int

    def reference(self, ask, x, t):
        return ask.gradient(x), x

    def indices(self, rng, n, t):
        return rng.integers(n, size=self.batch)

    def run(self, ask, x, rng):
        for t in range(self.iterations):
            if t % self.period == 0:
                mean, s = self.reference(ask, x, t)
            g = mean + ask.difference(self.indices(rng, ask.n, t), x, s)
            x, state = self.moved(ask, x, g)
            yield state


class PoolOfDraws(Epochs):
    """Draws so many indices as 64 passes need, once, and goes through them again and again."""

    def run(self, ask, x, rng):
        object.__setattr__(
            self, "pool", rng.integers(ask.n, size=(64 * ask.n // self.batch + 1, self.batch))
        )
        yield from super().run(ask, x, rng)

    def indices(self, rng, n, t):
        return self.pool[t % len(self.pool)]


class SeldomerReferences(Epochs):
    """Keeps a reference gradient for two epochs, after the hundredth."""

    def reference(self, ask, x, t):
        if t < 100 * self.period or t // self.period % 2 == 0:
            object.__setattr__(self, "kept", (ask.gradient(x), x))
        return self.kept


class SeededAnew(Step):
    """RSPG; each pass over the data begins with the stream of the first."""

    def run(self, ask, x, rng):
        first = rng.bit_generator.state
        for t in range(self.iterations):
            if t % max(2, ask.n // self.batch) == 0:
                rng.bit_generator.state = first
            g = ask.batch(rng.integers(ask.n, size=self.batch), x)
            x, state = self.moved(ask, x, g)
            yield state


@dataclass(frozen=True, kw_only=True)
class DoublesToADepth(pf.Algorithm):
    """SPIDER-FW for convex f, whose batches have at most 512 indices."""

    requires = frozenset({"gradient", "difference", "lo"})

    output: str = "last"
    iterations: int
    step: float | None = None

    def run(self, ask, x, rng):
        before = x
        for t in range(self.iterations):
            size = 1 << ((t + 1).bit_length() - 1)
            if t + 1 == size:
                g = ask.gradient(x)
            else:
                g = g + ask.difference(rng.integers(ask.n, size=min(size, 512)), x, before)
            before, x = x, pf.combine(x, ask.lo(g), self.step or 2.0 / (t + 2.0))
            yield State(x, before, g)


class InTwo(FullByBatch):
    """Asks two means for a difference, too."""

    requires = frozenset({"batch", "prox"})

    def run(self, ask, x, rng):
        before = x
        for t in range(self.iterations):
            if t == 0 or rng.random() <= self.refresh:
                g = self.full(ask, x)
            else:
                S = rng.integers(ask.n, size=self.batch)
                g = g + ask.batch(S, x) - ask.batch(S, before)
            before = x
            x, state = self.moved(ask, x, g)
            yield state
