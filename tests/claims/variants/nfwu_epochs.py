"""Normalised Frank-Wolfe updates with reference gradients, as many people would write them."""

from dataclasses import dataclass

import numpy as np
from claims.variants.common import EPOCHS, Options, Own

import pfbench as pf

# --- SVRG -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class SvrgCoroutine(Own):
    """Its estimates come from a generator that is sent points, with a stream for each epoch."""

    iterations: int
    step: float
    batch: int
    period: int

    variant_of = "nfwu-svrg"
    requires = EPOCHS

    def estimates(self, ask, rng):
        x = yield
        while True:
            s, mu, own = pf.keep(x), ask.gradient(x), rng.spawn(1)[0]
            x = yield mu
            for _ in range(self.period - 1):
                x = yield mu + ask.difference(own.integers(ask.n, size=self.batch), x, s)

    def run(self, ask, x, rng):
        estimates = self.estimates(ask, rng)
        next(estimates)
        for _ in range(self.iterations):
            g = estimates.send(x)
            at, x = x, pf.combine(x, ask.lo(g), self.step)
            yield pf.State(x, at, g)


# --- SPIDER ---------------------------------------------------------------------------------------

_OF_ESTIMATES = tuple(f"shen2019-{law}-spiderg" for law in ("unbiased", "mse", "thm3.1"))
"""The claims of SPIDER's estimates."""


def spider(ask, rng, *, batch, period):
    """Return SPIDER's estimate as a function of the point."""
    told = {"t": 0}

    def estimate(x):
        if told["t"] % period == 0:
            told["v"] = ask.gradient(x)
        else:
            told["v"] = told["v"] + ask.difference(rng.integers(ask.n, size=batch), x, told["x"])
        told["x"], told["t"] = x, told["t"] + 1
        return told["v"]

    return estimate


class SpiderFunction(Options, Own):
    """Calls a function that remembers."""

    variant_of = "nfwu-spiderg"
    requires = EPOCHS

    def run(self, ask, x, rng):
        estimate = spider(ask, rng, batch=self.batch, period=self.period)
        for _ in range(self.iterations):
            g = estimate(x)
            at, x = x, pf.combine(x, ask.lo(g), self.step)
            yield pf.State(x, at, g)


class SpiderAhead(SpiderFunction):
    """Minimises for the next step before it yields."""

    def run(self, ask, x, rng):
        estimate = spider(ask, rng, batch=self.batch, period=self.period)
        g = estimate(x)
        v = ask.lo(g)
        for t in range(self.iterations):
            state = pf.State(pf.combine(x, v, self.step), x, g)
            x = state.x
            if t + 1 < self.iterations:
                g = estimate(x)
                v = ask.lo(g)
            yield state


class SpiderOfLengthOne(SpiderFunction):
    """Minimises along its estimate made of length 1."""

    def run(self, ask, x, rng):
        estimate = spider(ask, rng, batch=self.batch, period=self.period)
        for _ in range(self.iterations):
            g = estimate(x)
            at, x = x, pf.combine(x, ask.lo(g / np.linalg.norm(g)), self.step)
            yield pf.State(x, at, g)


class SpiderOfLengthOneSilent(SpiderFunction):
    """The same, and it does not yield its estimate: nobody can tell what that was."""

    untold = dict.fromkeys(_OF_ESTIMATES, "a multiple of its estimate")

    def run(self, ask, x, rng):
        for state in SpiderOfLengthOne.run(self, ask, x, rng):
            yield state._replace(estimate=None)


class SpiderOwnOutput(SpiderFunction):
    """Draws which iterate it returns before the first, and tells of no estimate."""

    not_for = ("shen2019-thm3.1-spiderg",)  # which reads what it declares, not what it draws
    output = "last"

    def run(self, ask, x, rng):
        t0 = rng.integers(self.iterations)
        chosen = x
        for t, state in enumerate(SpiderFunction.run(self, ask, x, rng)):
            chosen = state.at.copy() if t == t0 else chosen
            yield pf.State(state.x, state.at, output=chosen)


class SpiderSum(Own):
    """Keeps the sum of what it drew in one array, which it yields."""

    variant_of = "nfwu-spiderg"
    requires = EPOCHS

    def __init__(self, iterations=10, step=0.1, batch=1, period=5):
        self.iterations, self.step, self.batch, self.period = iterations, step, batch, period

    def run(self, ask, x, rng):
        old = None
        for t in range(self.iterations):
            if t % self.period:
                v += ask.difference(rng.integers(ask.n, size=[self.batch]), x, old)  # noqa: F821
            else:
                v = np.array(ask.gradient(x))
            old = x
            x = pf.combine(x, ask.lo(v), self.step)
            yield pf.State(x, old, v)


class SpiderPairs(SpiderSum):
    """Draws each component with its mirror image."""

    def run(self, ask, x, rng):
        old, g = None, None
        for t in range(self.iterations):
            if t % self.period == 0:
                g = ask.gradient(x)
            else:
                half = rng.integers(ask.n, size=-(-self.batch // 2))
                S = np.concatenate([half, ask.n - 1 - half])[: self.batch]
                g = g + ask.difference(S, x, old)
            old, x = x, pf.combine(x, ask.lo(g), self.step)
            yield pf.State(x, old, g)


class SpiderEpochYields(SpiderSum):
    """Yields once an epoch: its steps cannot be seen."""

    untold = dict.fromkeys(_OF_ESTIMATES, "yields")

    def run(self, ask, x, rng):
        states = SpiderPairs.run(self, ask, x, rng)
        for t, state in enumerate(states, 1):
            if t % self.period == 0 or t == self.iterations:
                yield state


# --- with component Hessians ----------------------------------------------------------------------

_CURVED = EPOCHS | {"hessian"}


class CasvrgBatches(Options, Own):
    """All that is asked is asked of batches."""

    slow = ("shen2019-crossover-casvrg",)  # of a million components

    variant_of = "nfwu-casvrg"
    requires = frozenset({"batch", "hessian", "lo"})

    def run(self, ask, x, rng):
        everyone, memory = np.arange(ask.n), {}
        for t in range(self.iterations):
            if t % self.period == 0:
                memory = {"s": pf.keep(x), "H": ask.hessian(x), "mu": ask.batch(everyone, x)}
                g = memory["mu"]
            else:
                S, s, H = rng.choice(ask.n, size=self.batch), memory["s"], memory["H"]
                correction = H.batch(everyone, x, s) - H.batch(S, x, s)
                g = memory["mu"] + ask.batch(S, x) - ask.batch(S, s) + correction
            at, x = x, pf.combine(x, ask.lo(g), self.step)
            yield pf.State(x, at, g)


@dataclass
class CaspiderWhole(Own):
    """Shuffles all components and takes the first ones; its estimate is what it minimises."""

    slow = ("shen2019-crossover-caspiderg",)  # of a million components

    iterations: int
    step: float
    batch: int
    period: int

    variant_of = "nfwu-caspiderg"
    requires = _CURVED

    def sample(self, n, rng):
        found = []
        while len(found) < self.batch:
            order = list(range(n))
            rng.shuffle(order)
            found += order
        return np.array(found[: self.batch])

    def run(self, ask, x, rng):
        for t in range(self.iterations):
            if t % self.period == 0:
                g, H = ask.gradient(x), ask.hessian(x)
            else:
                S = self.sample(ask.n, rng)
                linear = H.product(x, at) - H.batch(S, x, at)  # noqa: F821
                g = g + (linear + ask.difference(S, x, at))  # noqa: F821
            at, x = x, pf.combine(x, ask.lo(g), self.step)
            yield pf.State(x, at)
