"""More right methods in styles of strangers: how they draw, keep, loop and divide the work."""

import itertools
import math
import random
from collections import deque
from dataclasses import dataclass, field

import numpy as np
from own_styles import InEpochs, Plain, SlidingVR

from pfbench.algorithms import ALGORITHMS as OURS
from pfbench.algorithms.base import Algorithm
from pfbench.base.protocols import State


class Sgd(Plain):
    """RSPG; a subclass says how it draws."""

    requires = frozenset({"batch", "prox"})

    def run(self, ask, x, rng):
        for _ in range(self.T):
            g = ask.batch(self.draw(rng, ask.n), x)
            at, x = x, ask.prox(x, g, self.eta)
            yield State(x, at, g)


# --- draws ----------------------------------------------------------------------------------------


class Legacy(Sgd):
    """numpy's old generator, seeded from the stream."""

    def run(self, ask, x, rng):
        yield from super().run(ask, x, np.random.RandomState(rng.integers(2**31)))

    def draw(self, rng, n):
        return rng.randint(0, n, self.b)


class Standard(Sgd):
    """Python's own generator, and lists."""

    def run(self, ask, x, rng):
        yield from super().run(ask, x, random.Random(int(rng.integers(2**62))))

    def draw(self, rng, n):
        return np.array(rng.choices(range(n), k=self.b))


class Rejected(Sgd):
    """Random bits, and those above n thrown away."""

    def draw(self, rng, n):
        bits, found = max(1, (n - 1).bit_length()), []
        while len(found) < self.b:
            one = int.from_bytes(rng.bytes(4), "little") >> (32 - bits)
            found += [one] if one < n else []
        return np.array(found)


class Philox(Sgd):
    """A counter-based generator of its own, seven batches ahead, the last first."""

    def run(self, ask, x, rng):
        self.own = np.random.Generator(np.random.Philox(rng.integers(2**62)))
        self.ahead = []
        yield from super().run(ask, x, rng)

    def draw(self, rng, n):
        if not self.ahead:
            self.ahead = list(self.own.integers(n, size=(7, self.b)))
        return self.ahead.pop()


class Pipeline(Sgd):
    """One endless stream of indices, of which each step takes some."""

    def run(self, ask, x, rng):
        blocks = (rng.integers(ask.n, size=100).tolist() for _ in itertools.count())
        self.stream = itertools.chain.from_iterable(blocks)
        yield from super().run(ask, x, rng)

    def draw(self, rng, n):
        return np.fromiter(itertools.islice(self.stream, self.b), dtype=np.int32)


class Residues(Sgd):
    """Large numbers modulo n; what that favours is below 1e-14."""

    def draw(self, rng, n):
        return (rng.integers(2**62, size=self.b) % n).astype(np.uint32)


class SeededAnew(Sgd):
    """A fault: each pass over the data begins with the stream of the first."""

    def run(self, ask, x, rng):
        self.first, self.t = rng.bit_generator.state, 0
        yield from super().run(ask, x, rng)

    def draw(self, rng, n):
        if self.t % max(2, n // self.b) == 0:
            rng.bit_generator.state = self.first
        self.t += 1
        return super().draw(rng, n)


# --- loops ----------------------------------------------------------------------------------------


class Halved(Sgd):
    """Divide and conquer: the first half of the steps, then the second."""

    def run(self, ask, x, rng):
        self.x = x
        yield from self.steps(ask, rng, self.T)

    def steps(self, ask, rng, T):
        if T > 1:
            yield from self.steps(ask, rng, T // 2)
            yield from self.steps(ask, rng, T - T // 2)
            return
        g = ask.batch(self.draw(rng, ask.n), self.x)
        at, self.x = self.x, ask.prox(self.x, g, self.eta)
        yield State(self.x, at, g)


class Closed(Plain):
    """All in closures."""

    requires = frozenset({"batch", "prox"})

    def __init__(self, iterations, step, batch):
        def run(ask, x, rng):
            def move(g):
                nonlocal x
                x = ask.prox(x, g, step)
                return x

            def estimate():
                return ask.batch(rng.choice(ask.n, batch), x)

            for at, g in ((x, estimate()) for _ in range(iterations)):
                yield State(move(g), at, g)

        self.run = run


@dataclass(slots=True)
class Dataclass:
    """A dataclass with slots, that counts its own steps down and keeps a history."""

    iterations: int
    step: float
    batch: int
    output: str = "uniform"
    kept: deque = field(default_factory=lambda: deque(maxlen=3))

    name = "dataclass"
    requires = frozenset({"batch", "prox"})
    assumes = frozenset()
    deterministic = False

    def run(self, ask, x, rng):
        self.kept.append(x)
        left = self.iterations
        while left:
            g = ask.batch(rng.integers(ask.n, size=self.batch), self.kept[-1])
            self.kept.append(ask.prox(self.kept[-1], g, self.step))
            left -= 1
            yield State(self.kept[-1], self.kept[-2], g)


class Reservoir(Sgd):
    """Keeps its output by a reservoir."""

    def run(self, ask, x, rng):
        kept = None
        for k, state in enumerate(super().run(ask, x, rng), 1):
            kept = state.at if rng.random() * k < 1.0 else kept
            yield state._replace(output=kept)


@dataclass(frozen=True, kw_only=True)
class OwnOutput(OURS["prox-sgd"]):
    """Keeps its output by a reservoir, and states no rule for it."""

    output: str = "last"

    def run(self, ask, x, rng):
        yield from Reservoir(self.iterations, self.step, self.batch).run(ask, x, rng)


EqualWeights = type(
    "EqualWeights", (OURS["prox-rsag"],), {"output_weight": Algorithm.output_weight}
)
"""Has no weights for output=weighted, which is not its default."""


# --- estimates ------------------------------------------------------------------------------------


class TwoCalls(InEpochs):
    """SVRG by two batches, the snapshot's first; whole epochs drawn ahead."""

    requires = frozenset({"gradient", "batch", "prox"})

    def run(self, ask, x, rng):
        for first in range(0, self.T, self.m):
            w, mean = x.copy(), ask.gradient(x)
            for S in rng.integers(ask.n, size=(min(self.m, self.T - first), self.b)):
                g = mean - ask.batch(S, w) + ask.batch(S, x)
                at, x = x, ask.prox(x, g, self.eta)
                yield State(x, at, g)


class Refreshing(Plain):
    """A plain method with a probability of full gradients."""

    requires = frozenset({"gradient", "batch", "difference", "prox"})

    def __init__(self, iterations, step, batch, refresh):
        super().__init__(iterations, step, batch)
        self.p = refresh


class OwnCoin(Refreshing):
    """PAGE whose coin is a binomial number, flipped before the step is made."""

    def run(self, ask, x, rng):
        g, heads = ask.gradient(x), None
        for t in range(self.T):
            at, x = x, ask.prox(x, g, self.eta)
            yield State(x, at, g, None, heads)
            if t + 1 < self.T:
                heads = bool(rng.binomial(1, self.p))
                change = None if heads else ask.difference(self.draw(rng, ask.n), x, at)
                g = ask.gradient(x) if heads else g + change


class Lengths(Refreshing):
    """PAGE with proximal steps; lengths of epochs are drawn, and no coin is told."""

    def chance(self, t):
        return self.p

    def full(self, ask, x):
        return ask.gradient(x)

    def run(self, ask, x, rng):
        left, before = 0, x
        for t in range(self.T):
            if left == 0:
                g, left = self.full(ask, x), int(rng.geometric(self.chance(t)))
            else:
                g = g + ask.difference(self.draw(rng, ask.n), x, before)
            before, left, x = x, left - 1, ask.prox(x, g, self.eta)
            yield State(x, before, g)


class FullByBatch(Lengths):
    """Asks the full gradient as a batch of all."""

    def full(self, ask, x):
        return ask.batch(np.arange(ask.n), x)


class OftenLate(Lengths):
    """A fault: epochs are a fourth as long after iteration 300."""

    def chance(self, t):
        return self.p if t < 300 else min(1.0, 4.0 * self.p)


class SeldomLate(Lengths):
    """A fault: epochs are twice as long after iteration 300."""

    def chance(self, t):
        return self.p if t < 300 else self.p / 2.0


class InTwo(FullByBatch):
    """Asks two means for a difference, too, and flips a coin in each step."""

    requires = frozenset({"batch", "prox"})

    def run(self, ask, x, rng):
        before = x
        for t in range(self.T):
            if t == 0 or rng.random() <= self.p:
                g = self.full(ask, x)
            else:
                S = self.draw(rng, ask.n)
                g = g + ask.batch(S, x) - ask.batch(S, before)
            before, x = x, ask.prox(x, g, self.eta)
            yield State(x, before, g)


class Stricter(SlidingVR):
    """Its inner loop stops at a quarter of the gap: more work, same guarantee."""

    @property
    def inner(self):
        return 0.25 * self.eta


class Momentum(Plain):
    """Momentum as what is added to the estimate before."""

    requires = frozenset({"batch", "lo"})

    def __init__(self, iterations, step, batch, alpha=None):
        self.T, self.gamma, self.b, self.alpha = iterations, step, batch, alpha

    def run(self, ask, x, rng):
        d = np.zeros_like(x)
        for t in range(self.T):
            alpha = math.exp(-2.0 / 3.0 * math.log(t + 1)) if self.alpha is None else self.alpha
            alpha = alpha if t else 1.0
            d = d + alpha * (ask.batch(rng.integers(ask.n, size=self.b), x) - d)
            gamma = 2.0 / (t + 2.0) if self.gamma is None else self.gamma
            at, x = x, x + gamma * (ask.lo(d) - x)
            yield State(x, at, d)


class OneOption(InEpochs):
    """SPIDER with option 1 alone: its stop at a small estimate, and no parameter `option`."""

    requires = frozenset({"gradient", "difference"})

    def __init__(self, iterations, step, batch, period, tolerance=0.0):
        super().__init__(iterations, step, batch, period)
        self.tolerance = tolerance

    def draw_at(self, k, rng, n):
        return self.draw(rng, n)

    def run(self, ask, x, rng):
        at = x
        for k in range(self.T):
            if k % self.m == 0:
                v = ask.gradient(x)
            else:
                v = v + ask.difference(self.draw_at(k, rng, ask.n), x, at)
            size = np.linalg.norm(v)
            if size <= 2.0 * self.tolerance:
                return
            at, x = x, x - (self.eta / size) * v
            yield State(x, at, v)


class StopsAtStart(OneOption):
    """Has the option as a parameter, 1 by default, and returns its last point by default."""

    output = "last"

    def __init__(self, iterations, step, batch, period, tolerance=0.0, option=1, output="last"):
        super().__init__(iterations, step, batch, period, tolerance)
        self.option, self.output = option, output
        if option != 1:
            raise NotImplementedError("option 1 alone")


class BlockOfEight(OneOption):
    """A fault: eight batches an epoch, drawn at its start, so that long epochs use them again."""

    def draw_at(self, k, rng, n):
        if k % self.m == 1:
            self.block = rng.integers(n, size=(8, self.b))
        return self.block[k % 8]


class SummedMomentum(Plain):
    """NorMuon with momentum as a sum, M = beta M + g, which is also its estimate."""

    requires = frozenset({"batch", "lo", "norm", "norm spectral"})

    def __init__(self, iterations, step, batch, beta, decay=0.0, beta2=0.95):
        self.T, self.gamma, self.b = iterations, step, batch
        self.beta, self.decay, self.beta2 = beta, decay, beta2

    def run(self, ask, x, rng):
        M = v = 0.0
        for _ in range(self.T):
            M = self.beta * M + ask.batch(rng.integers(ask.n, size=self.b), x)
            V = np.asarray(ask.lo(M))
            v = self.beta2 * v + (1.0 - self.beta2) * (V * V).mean(axis=-1, keepdims=True)
            D = V / np.sqrt(np.where(v > 0.0, v, 1.0))
            D = 0.2 * np.sqrt(D.size) * D / (np.linalg.norm(D) or 1.0)
            at, x = x, (1.0 - self.gamma * self.decay) * x + self.gamma * D
            yield State(x, at, M)


STYLES = (
    *((kind, "prox-sgd") for kind in (Legacy, Standard, Rejected, Philox)),
    *((kind, "prox-sgd") for kind in (Pipeline, Residues, Halved, Closed, Dataclass, Reservoir)),
    (OwnOutput, "prox-sgd"),
    (EqualWeights, "prox-rsag"),
    (TwoCalls, "prox-svrg"),
    *((kind, "prox-page") for kind in (OwnCoin, Lengths, FullByBatch, InTwo)),
    (Stricter, "ncgs-vr"),
    (Momentum, "momentum-sfw"),
    *((kind, "spider") for kind in (OneOption, StopsAtStart)),
    (SummedMomentum, "normuon"),
)
"""Each with the method that it is."""

FAULTS = (
    *((kind, "prox-page") for kind in (OftenLate, SeldomLate)),
    (SeededAnew, "prox-sgd"),
    (BlockOfEight, "spider"),
)
"""Faulty ones, each with its method."""
