"""Algorithms as a user would bring them: a right one, and wrong ones."""

from dataclasses import dataclass

import numpy as np

import pfbench as pf


@dataclass(frozen=True)
class MySpider:
    """SPIDER-type Frank-Wolfe, written by somebody else."""

    iterations: int
    step: float
    batch: int
    period: int

    name = "my-spider"
    requires = frozenset({"gradient", "difference", "lo"})
    assumes = frozenset()
    deterministic = False
    output = "uniform"
    claims = ("shen2019-mse-spiderg", "shen2019-unbiased-spiderg")

    def refresh(self, t):
        return t % self.period == 0

    def scaled(self, ask, difference):
        return difference

    def run(self, ask, x, rng):
        g = previous = None
        for t in range(self.iterations):
            if self.refresh(t):
                g = ask.gradient(x)
            else:
                S = rng.integers(ask.n, size=self.batch)
                g = g + self.scaled(ask, ask.difference(S, x, previous))
            v = ask.lo(g)
            previous, x = x, pf.combine(x, v, self.step)
            yield pf.State(x, previous, g)


class NeverRefreshed(MySpider):
    """The reference gradient is taken once."""

    def refresh(self, t):
        return t == 0


class DividedByN(MySpider):
    """The difference is divided by n instead of S."""

    def scaled(self, ask, difference):
        return difference * self.batch / ask.n


class Claimless(MySpider):
    """It names no claim."""

    claims = ()


class Stream:
    """Draws in a way that cannot be enumerated; a share of each batch."""

    def __init__(self, rng, share=1.0):
        self.rng, self.share = rng, share

    def integers(self, n, size):
        return (self.rng.random(max(1, int(size * self.share))) * n).astype(np.int64)


class Unenumerable(MySpider):
    """Right, but its batches cannot be enumerated."""

    share = 1.0

    def run(self, ask, x, rng):
        yield from super().run(ask, x, Stream(rng, self.share))


class OwnStream(MySpider):
    """Right, but it draws from a generator that it seeds by chance."""

    def run(self, ask, x, rng):
        yield from super().run(ask, x, np.random.default_rng())


class OwnStreamQuarter(MySpider):
    """The same with a quarter of the batch."""

    def run(self, ask, x, rng):
        yield from super().run(ask, x, Stream(np.random.default_rng(), 0.25))


class OwnSeed(MySpider):
    """Draws the same in every run, whatever its rng: a stream of its own with a seed of its own."""

    def run(self, ask, x, rng):
        yield from super().run(ask, x, _stream())


def _stream():
    return np.random.default_rng(3)


class FirstComponents(MySpider):
    """Draws nothing: its batch is always that of the first components. It is deterministic."""

    def run(self, ask, x, rng):
        yield from super().run(ask, x, First())


class First:
    def integers(self, n, size):
        return np.arange(size) % n


class Seeded(MySpider):
    """A generator of its own, seeded by rng: its runs can be repeated, and are sampled."""

    def run(self, ask, x, rng):
        yield from super().run(ask, x, np.random.default_rng(rng.integers(2**60)))


class UnenumerableQuarter(Unenumerable):
    """The same with a quarter of the batch."""

    share = 0.25


class Leaves(MySpider):
    """Leaves the feasible set."""

    def run(self, ask, x, rng):
        for state in super().run(ask, x, rng):
            yield state._replace(x=100.0 + state.x)
