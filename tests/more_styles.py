"""More right methods in styles of strangers: how they draw, keep, loop and divide the work."""

import itertools
import math
import random
from collections import deque
from dataclasses import dataclass, field

import numpy as np
from own_styles import Plain, SlidingVR

from pfbench.algorithms import ALGORITHMS as OURS
from pfbench.algorithms.base import Algorithm
from pfbench.base.protocols import State


class Sgd(Plain):
    """RSPG; a subclass says how it draws."""

    requires = frozenset({"batch", "prox"})

    def __init__(self, iterations, step, batch):
        self.T, self.eta, self.b = iterations, step, batch

    def draw(self, rng, n):
        return rng.integers(n, size=self.b)

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


class TwoCalls(Plain):
    """SVRG by two batches, the snapshot's first; whole epochs drawn ahead."""

    requires = frozenset({"gradient", "batch", "prox"})

    def __init__(self, iterations, step, batch, period):
        self.T, self.eta, self.b, self.m = iterations, step, batch, period

    def run(self, ask, x, rng):
        for first in range(0, self.T, self.m):
            w, mean = x.copy(), ask.gradient(x)
            for S in rng.integers(ask.n, size=(min(self.m, self.T - first), self.b)):
                g = mean - ask.batch(S, w) + ask.batch(S, x)
                at, x = x, ask.prox(x, g, self.eta)
                yield State(x, at, g)


class OwnCoin(Plain):
    """PAGE whose coin is a binomial number, flipped before the step is made."""

    requires = frozenset({"gradient", "difference", "prox"})

    def __init__(self, iterations, step, batch, refresh):
        self.T, self.eta, self.b, self.p = iterations, step, batch, refresh

    def run(self, ask, x, rng):
        g, heads = ask.gradient(x), None
        for t in range(self.T):
            at, x = x, ask.prox(x, g, self.eta)
            yield State(x, at, g, None, heads)
            if t + 1 < self.T:
                heads = bool(rng.binomial(1, self.p))
                if heads:
                    g = ask.gradient(x)
                else:
                    g = g + ask.difference(rng.integers(ask.n, size=self.b), x, at)


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


class OneOption(Plain):
    """SPIDER with option 1 alone: its stop at a small estimate, and no parameter `option`."""

    requires = frozenset({"gradient", "difference"})

    def __init__(self, iterations, step, batch, period, tolerance=0.0):
        self.T, self.eta, self.b, self.q, self.tolerance = (
            iterations,
            step,
            batch,
            period,
            tolerance,
        )

    def draw(self, ask, rng, k):
        return rng.integers(ask.n, size=self.b)

    def run(self, ask, x, rng):
        at = x
        for k in range(self.T):
            if k % self.q == 0:
                v = ask.gradient(x)
            else:
                v = v + ask.difference(self.draw(ask, rng, k), x, at)
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

    def draw(self, ask, rng, k):
        if k % self.q == 1:
            self.block = rng.integers(ask.n, size=(8, self.b))
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
    (OwnCoin, "prox-page"),
    (Stricter, "ncgs-vr"),
    (Momentum, "momentum-sfw"),
    *((kind, "spider") for kind in (OneOption, StopsAtStart)),
    (SummedMomentum, "normuon"),
)
"""Each with the method that it is."""
