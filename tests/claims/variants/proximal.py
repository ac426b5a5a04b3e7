"""Proximal and gradient steps along estimates, as many people would write them."""

import math
from dataclasses import dataclass

import numpy as np
from claims.variants.common import PROXIMAL, Options, Own, epochs
from claims.variants.nfwu_epochs import spider as spider_estimate

import pfbench as pf

_SMOOTH = PROXIMAL | {"smooth"}


class Plain(Own):
    """A class with common parameters."""

    def __init__(self, iterations, step, batch=2, period=3):
        self.iterations, self.eta, self.S, self.q = iterations, step, batch, period


# --- SPIDER with a constant step ------------------------------------------------------------------


class BoostNested(Plain):
    """Two loops, samples of an epoch at once, batches instead of differences."""

    variant_of = "spiderboost"
    requires = frozenset({"gradient", "batch", "smooth"})

    def run(self, ask, x, rng):
        for length in epochs(self.iterations, self.q):
            samples = rng.integers(ask.n, size=(self.q, self.S))[:length]
            v = ask.gradient(x)
            for k, S in enumerate(samples):
                if k > 0:
                    v = v + (ask.batch(S, x) - ask.batch(S, before))  # noqa: F821
                before, x = x, x - self.eta * v
                yield pf.State(x, before, v)


class BoostEpochYields(BoostNested):
    """Yields once an epoch: its steps cannot be seen."""

    untold = {"wang2019-thm1": "yields"}  # noqa: RUF012
    not_for = ("wang2019-step",)  # when it comes near is seen an epoch late

    def run(self, ask, x, rng):
        for t, state in enumerate(super().run(ask, x, rng), 1):
            if t % self.q == 0 or t == self.iterations:
                yield state


class BoostFunction(Options, Own):
    """Calls a function that remembers, and draws from a stream that it spawns."""

    variant_of = "prox-spiderboost"
    requires = PROXIMAL

    def run(self, ask, x, rng):
        (stream,) = rng.spawn(1)
        estimate = spider_estimate(ask, stream, batch=self.batch, period=self.period)
        for _ in range(self.iterations):
            v = estimate(x)
            x, at = ask.prox(x, v, self.step), x
            yield pf.State(x, at, v)


class BoostWithoutReplacement(Plain):
    """Different components in each batch; the reference gradient is a batch of all."""

    variant_of = "prox-spiderboost"
    requires = frozenset({"batch", "difference", "prox"})

    def run(self, ask, x, rng):
        v, at = None, None
        for k in range(self.iterations):
            if k % self.q == 0:
                v = ask.batch(np.arange(ask.n), x)
            else:
                S = np.concatenate([rng.permutation(ask.n) for _ in range(-(-self.S // ask.n))])
                v = v + ask.difference(S[: self.S], x, at)
            at = x
            x = ask.prox(at, v, self.eta)
            yield pf.State(x, at, v)


class SarahLoops(Plain):
    """SARAH: its next outer loop goes on from one of the points, which it keeps all."""

    variant_of = "sarah"
    requires = _SMOOTH

    def run(self, ask, x, rng):
        chosen = x
        for length in epochs(self.iterations, self.q):
            points, t0 = [chosen], rng.integers(self.q)
            for t in range(length):
                if t == 0:
                    v = ask.gradient(points[0])
                else:
                    S = rng.integers(ask.n, size=self.S)
                    v = v + ask.difference(S, points[-1], points[-2])
                chosen = points[t] if t == t0 else chosen
                points.append(points[-1] - self.eta * v)
                yield pf.State(points[-1], points[-2], v, chosen)


@dataclass
class FangSpider(Own):
    """SPIDER-SFO with steps of at most a length, by vectors of length 1."""

    iterations: int
    step: float
    batch: int
    period: int
    lam: float | None = None
    option: int = 2
    tolerance: float = 0.0

    variant_of = "spider"
    requires = _SMOOTH

    def run(self, ask, x, rng):
        estimate = spider_estimate(ask, rng, batch=self.batch, period=self.period)
        for _ in range(self.iterations):
            v = estimate(x)
            length = math.sqrt(v @ v)
            if self.option == 1 and length <= 2 * self.tolerance:
                break
            move = self.step
            if self.option == 2 and self.lam is not None:
                move = min(move, self.lam * length)
            at = x
            x = x - move * (v / length) if length else x.copy()
            yield pf.State(x, at, v, x if self.option == 1 else None)


# --- SVRG -----------------------------------------------------------------------------------------


@dataclass
class SvrgPlusOnline(Own):
    """ProxSVRG+ with a reference gradient of a sample, if it is given one."""

    iterations: int
    step: float
    batch: int
    period: int
    snapshot: int | None = None

    variant_of = "prox-svrg-plus"
    requires = PROXIMAL | {"batch"}

    def reference(self, ask, x, rng):
        if self.snapshot in (None, ask.n):
            return ask.gradient(x)
        return ask.batch(rng.choice(ask.n, self.snapshot), x)

    def run(self, ask, x, rng):
        for length in epochs(self.iterations, self.period):
            s, mu = pf.keep(x), self.reference(ask, x, rng)
            for _ in range(length):
                g = ask.difference(rng.choice(ask.n, self.batch), x, s) + mu
                at, x = x, ask.prox(x, g, self.step)
                yield pf.State(x, at, g)


# --- SAGA, mini-batches, the gradient -------------------------------------------------------------


class SagaBatches(Plain):
    """Both batches of an iteration at once; the replacing one is asked first, and set last."""

    variant_of = "prox-saga"
    requires = frozenset({"table", "prox"})

    def run(self, ask, x, rng):
        table = None
        for _ in range(self.iterations):
            table = ask.table(x) if table is None else table
            first, second = rng.integers(ask.n, size=(2, self.S))
            g = table.mean + table.difference(first, x)
            table.replace(second, x)
            at, x = x, ask.prox(x, g, self.eta)
            yield pf.State(x, at, g)


class SagAsChange(Plain):
    """The mean is kept by the method, which adds what a replacement changes."""

    variant_of = "sag"
    requires = frozenset({"table", "smooth"})

    def run(self, ask, x, rng):
        table = ask.table(x)
        for S in rng.choice(ask.n, (self.iterations, self.S)):
            for i in np.unique(S):  # one by one, each once
                table.replace(np.array([i] * (i == S).sum()), x)
            at, g = x, np.array(table.mean)
            x = at - self.eta * g
            yield pf.State(x, at, g)


class SgdAllAtOnce(Plain):
    """Draws before its first step."""

    variant_of = "prox-sgd"
    requires = frozenset({"batch", "prox"})

    def run(self, ask, x, rng):
        for S in rng.integers(ask.n, size=(self.iterations, self.S)):
            g, at = ask.batch(S, x), x
            x = ask.prox(x, g, self.eta)
            yield pf.State(x, at, g)


class GradientAsBatch(Plain):
    """The gradient as a batch of all components."""

    variant_of = "prox-gd"
    requires = frozenset({"batch", "prox"})
    deterministic = True
    output = "last"

    def run(self, ask, x, rng):
        everyone = np.arange(ask.n)
        for _ in range(self.iterations):
            g = ask.batch(everyone, x)
            at, x = x, ask.prox(x, g, self.eta)
            yield pf.State(x, at, g)


class ProjectedByHand(GradientAsBatch):
    """The projection of the point where the gradient leads."""

    variant_of = "projected-gradient"
    requires = frozenset({"gradient", "prox", "set"})

    def run(self, ask, x, rng):
        for _ in range(self.iterations):
            g = ask.gradient(x)
            at = x
            x = ask.prox(x - self.eta * g, np.zeros_like(g), 1.0)
            yield pf.State(x, at, g)
