"""Normalised Frank-Wolfe updates with mini-batches, and all the ways to draw one."""

from dataclasses import dataclass

import numpy as np
from claims.variants.common import Options, Own

import pfbench as pf
from pfbench.base.sample import Sample


class MiniBatch(Own):
    """NFWU with GE 1 as a plain class; a subclass says how it draws."""

    variant_of = "nfwu-sg"
    requires = frozenset({"batch", "lo"})

    def __init__(self, iterations, step, batch):
        self.T, self.weight, self.S = iterations, step, batch

    def draw(self, n, rng):
        return rng.integers(low=0, high=n - 1, size=(self.S,), dtype=np.int32, endpoint=True)

    def run(self, ask, x, rng):
        for _ in range(self.T):
            g = ask.batch(self.draw(ask.n, rng), x)
            before = x
            x = pf.combine(x, ask.lo(g), self.weight)
            yield pf.State(x, before, g)


class ByChoice(MiniBatch):
    """Draws by choice."""

    def draw(self, n, rng):
        return rng.choice(n, self.S)


class OneByOne(MiniBatch):
    """Draws one index after the other."""

    def draw(self, n, rng):
        return np.array([rng.integers(n) for _ in range(self.S)])


class WithoutReplacement(MiniBatch):
    """Takes the head of a permutation, of more than one where S > n; the variance is smaller."""

    def draw(self, n, rng):
        passes = [rng.permutation(n) for _ in range(-(-self.S // n))]
        return np.concatenate(passes)[: self.S]


class ByFloats(MiniBatch):
    """Rounds numbers in [0, 1)."""

    def draw(self, n, rng):
        return (n * rng.random(self.S)).astype(int)


class ByCounts(MiniBatch):
    """Draws how often each component is in the batch."""

    def draw(self, n, rng):
        often = rng.multinomial(self.S, [1.0 / n] * n)
        (there,) = np.nonzero(often)
        return Sample(there, often[there])


class ByChances(MiniBatch):
    """Gives the chances, all equal."""

    def draw(self, n, rng):
        return rng.choice(np.arange(n), size=self.S, p=np.full(n, 1.0 / n))


class AllAtOnce(Options, Own):
    """Draws the samples of all iterations before the first, and tells of no estimate."""

    variant_of = "nfwu-sg"
    requires = frozenset({"batch", "lo"})

    def run(self, ask, x, rng):
        samples = rng.integers(ask.n, size=(self.iterations, self.batch))
        weights = np.full(self.iterations, self.step)
        for sample, weight in zip(samples, weights, strict=True):
            at, x = x, pf.combine(x, ask.lo(ask.batch(sample, x)), weight)
            yield pf.State(x, at)


@dataclass
class TwoHalves(Own):
    """Averages two parts of the batch, from streams of their own."""

    iterations: int
    step: float
    batch: int

    variant_of = "nfwu-sg"
    requires = frozenset({"batch", "lo"})

    def run(self, ask, x, rng):
        sizes = [self.batch // 2, self.batch - self.batch // 2]
        streams = rng.spawn(2)
        for _ in range(self.iterations):
            g = sum(
                size / self.batch * ask.batch(stream.integers(ask.n, size=size), x)
                for size, stream in zip(sizes, streams, strict=True)
                if size > 0
            )
            v, at = ask.lo(g), x
            x = pf.combine(x, v, self.step)
            yield pf.State(x, at, g)
