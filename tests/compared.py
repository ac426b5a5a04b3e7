"""A small suite, and methods of a user to be compared on it."""

SUITE = """
title = "Two problems"
seeds = 2
measures = "fw_gap"
budget = "sfo=4000,lo=60,po=60"
targets = ["fw_gap=0.3", "fw_gap=0.1"]

[problems]
cosh = "log-cosh[rows=60,columns=6,seed={seed}]"
easy = "quadratic[rows=60,columns=6,radius=5]"

[algorithms]
frank-wolfe = "frank-wolfe[step=open-loop]"
sfw = "sfw[epsilon=0.1]"

[tune]
trials = 2
seeds = [100]
methods.sfw = { selector = "sfw[iterations=1000,step={step},batch=8]", step = [0.3, 0.1] }

[candidate]
iterations = 1000
step = [0.3, 0.1]
batch = 8
"""
METHODS = """
from dataclasses import dataclass

import pfbench as pf
from pfbench.algorithms import ALGORITHMS, Algorithm
from pfbench.points import combine


@dataclass(frozen=True, kw_only=True)
class Steps(Algorithm):
    requires = frozenset({"batch", "lo"})

    iterations: int
    step: float
    batch: int = 4

    def run(self, ask, x, rng):
        for _ in range(self.iterations):
            g = ask.batch(rng.integers(ask.n, size=self.batch), x)
            at, x = x, combine(x, ask.lo(g), self.step)
            yield pf.State(x, at, g)


@dataclass(frozen=True, kw_only=True)
class Epochs(Steps):
    period: int


@dataclass(frozen=True, kw_only=True)
class Alone(Algorithm):
    requires = frozenset({"lo"})

    step: float
    period: int

    def run(self, ask, x, rng):
        yield pf.State(x)


class Copy(ALGORITHMS["sfw"]):
    name = "copy"


class Idle(Steps):
    def run(self, ask, x, rng):
        for _ in range(self.iterations):
            ask.batch(rng.integers(ask.n, size=self.batch), x)
            yield pf.State(x)


class Elsewhere(Steps):
    requires = frozenset({"smooth"})
"""
