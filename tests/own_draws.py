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
