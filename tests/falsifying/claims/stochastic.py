"""Textbook theorems on stochastic methods, and false variants; `source` names the kind."""

from dataclasses import dataclass

import numpy as np

import pfbench as pf
from pfbench.claims import Claim, bound, error_law


@dataclass(frozen=True, kw_only=True)
class Stochastic(pf.Algorithm):
    """Stochastic gradients."""

    requires = frozenset({"gradient", "batch", "difference", "smooth"})
    iterations: int
    step: float
    batch: int = 1

    def run(self, ask, x, rng):
        for _ in range(self.iterations):
            g = ask.batch(self.draw(ask.n, rng), x)
            at, x = x, x - self.step * g
            yield pf.State(x, at, g)

    def draw(self, n, rng):
        return rng.integers(n, size=self.batch)


class Without(Stochastic):
    """Draws without replacement."""

    def draw(self, n, rng):
        return rng.choice(n, size=min(self.batch, n), replace=False)


class Reshuffled(Stochastic):
    """Takes the components in a random order, a new one each epoch."""

    def run(self, ask, x, rng):
        order = []
        for _ in range(self.iterations):
            order = order or list(rng.permutation(ask.n))
            g = ask.batch(np.array([order.pop()]), x)
            at, x = x, x - self.step * g
            yield pf.State(x, at, g)


class Coin(Stochastic):
    """Gradient descent that makes every second step."""

    def run(self, ask, x, rng):
        for _ in range(self.iterations):
            g, at = ask.gradient(x), x
            if rng.integers(2) == 1:
                x = x - self.step * g
            yield pf.State(x, at, g)


class Coordinate(Stochastic):
    """Random coordinates."""

    def run(self, ask, x, rng):
        for _ in range(self.iterations):
            g, at = ask.gradient(x), x
            j = rng.integers(len(x))
            x = x.copy()
            x[j] = x[j] - self.step * g[j]
            yield pf.State(x, at, g)


class Snapshot(Stochastic):
    """SVRG with the snapshot at the start."""

    def run(self, ask, x, rng):
        start, full = x, ask.gradient(x)
        for _ in range(self.iterations):
            g = full + ask.difference(rng.integers(ask.n, size=self.batch), x, start)
            at, x = x, x - self.step * g
            yield pf.State(x, at, g)


class Spider(Stochastic):
    """Recursive differences."""

    def run(self, ask, x, rng):
        g, before = ask.gradient(x), x
        for t in range(self.iterations):
            if t > 0:
                g = g + ask.difference(rng.integers(ask.n, size=self.batch), x, before)
            before, x = x, x - self.step * g
            yield pf.State(x, before, g)


class Page(Stochastic):
    """With probability 1/2 the gradient, else a difference."""

    def run(self, ask, x, rng):
        g, before = ask.gradient(x), x
        for t in range(self.iterations):
            if t > 0 and rng.integers(2) == 1:
                g = ask.gradient(x)
            elif t > 0:
                g = g + ask.difference(rng.integers(ask.n, size=self.batch), x, before)
            before, x = x, x - self.step * g
            yield pf.State(x, before, g)


class Storm(Stochastic):
    """Recursive momentum with the weight 1/2."""

    def run(self, ask, x, rng):
        g, before = ask.gradient(x), x
        for t in range(self.iterations):
            if t > 0:
                i = rng.integers(ask.n, size=1)
                g = ask.batch(i, x) + (g - ask.batch(i, before)) / 2
            before, x = x, x - self.step * g
            yield pf.State(x, before, g)


class Average(Stochastic):
    """SAG: the mean of a table of which one entry is new."""

    def run(self, ask, x, rng):
        table = [ask.batch(np.array([i]), x) for i in range(ask.n)]
        for _ in range(self.iterations):
            i = int(rng.integers(ask.n))
            table[i] = ask.batch(np.array([i]), x)
            g = sum(table) / ask.n
            at, x = x, x - self.step * g
            yield pf.State(x, at, g)


class Uniform(Stochastic):
    """Returns a random iterate."""

    output: str = "uniform"


def steps(c, T=4):
    return {"iterations": T, "step": 1 / c.L_f}


def half(c, T=4):
    return {"iterations": T, "step": 1 / (2 * c.L)}


def pair(c, T=1):
    return {"iterations": T, "step": 1 / (2 * c.L), "batch": 2}


def two(c):
    return {"iterations": 2, "step": 1 / c.L_f}


def three(c):
    return {"iterations": 3, "step": 1 / c.L_f}


def square(problem, x):
    g = problem.gradient(x)
    return g @ g


def distance(problem, x):
    away = x - problem.minimiser
    return away @ away


CONVEX, STRONG = ("f convex",), ("f strongly convex",)
F, EXP = "suboptimality", "expectation"


def decrease(factor):
    """Return a multiple of L Delta/T."""
    return lambda c, a: factor * c.L_f * c.delta / a.iterations


def claim(
    name, method, upper, quantity, statistic="mean", parameters=half, assumptions=(), kind=EXP
):
    return Claim(
        name=name,
        source=kind,
        statement=name,
        algorithm=method,
        assumptions=assumptions,
        check=bound(upper, quantity, statistic=statistic, parameters=parameters),
    )


def law(name, method, upper, parameters=two, mean=None, assumptions=()):
    return Claim(
        name=name,
        source="law",
        statement=name,
        algorithm=method,
        assumptions=assumptions,
        check=error_law(upper, mean=mean, parameters=parameters),
    )


def none(c, a, past):
    return 0 * past.x


def noisy(constant):
    """Return the bound of stochastic gradients, with a factor on the noise."""
    return lambda c, a: 2 * c.delta / (a.step * a.iterations) + constant * a.step * c.L_f * c.sigma2


def page(c, a, past):
    return (past.error_sq + c.L_ms**2 * past.step_sq) / 2


EXP = "expectation"
TRUE = [
    claim("sgd-mean", Stochastic, noisy(1), square),
    claim(
        "sgd-convex",
        Stochastic,
        lambda c, a: 2 * c.L * c.R**2 / a.iterations + c.sigma2 / (2 * c.L_f),
        F,
        assumptions=CONVEX,
    ),
    claim(
        "sgd-strong",
        Stochastic,
        lambda c, a: (1 - a.step * c.mu) ** a.iterations * c.R**2 + a.step * c.sigma2 / c.mu,
        distance,
        "last",
        assumptions=STRONG,
    ),
    claim("sgd-uniform", Uniform, noisy(1), square, "output"),
    claim("coin-mean", Coin, decrease(4), square, "mean", steps),
    claim("page-mean", Page, lambda c, a: 4 * c.L * c.delta / a.iterations, square),
    claim(
        "spider-two",
        Spider,
        lambda c, a: 4 * c.L * c.delta / 2,
        square,
        "mean",
        lambda c: {"iterations": 2, "step": 1 / (2 * c.L)},
    ),
    claim(
        "coordinate",
        Coordinate,
        lambda c, a: c.L_f * c.R**2 / 2 + c.delta,
        F,
        "last",
        steps,
        CONVEX,
    ),
    claim("coin-distance", Coin, lambda c, a: c.R**2, distance, "last", steps, CONVEX),
    law("sgd-law", Stochastic, lambda c, a, past: c.sigma2, mean=none),
    law("batch-law", Stochastic, lambda c, a, past: c.sigma2 / 2, pair, none),
    law(
        "without-law",
        Without,
        lambda c, a, past: c.sigma2 * max(c.n - 2, 0) / (2 * (c.n - 1)),
        pair,
        none,
        ("n >= 2",),
    ),
    law("without-three", Without, lambda c, a, past: c.sigma2 / 4, pair, none, ("n == 3",)),
    law("svrg-law", Snapshot, lambda c, a, past: c.L_ms**2 * past.step_sq, two, none),
    law(
        "spider-law",
        Spider,
        lambda c, a, past: past.error_sq + c.L_ms**2 * past.step_sq,
        three,
        lambda c, a, past: past.error,
    ),
    law("page-law", Page, page, three, lambda c, a, past: past.error / 2),
    law(
        "storm-law",
        Storm,
        lambda c, a, past: past.error_sq / 4 + c.L_ms**2 * past.step_sq / 2 + c.sigma2 / 2,
        three,
        lambda c, a, past: past.error / 2,
    ),
]
FALSE = [
    claim("sgd-noiseless", Stochastic, lambda c, a: 2 * c.delta / (a.step * a.iterations), square),
    claim("sgd-noise-2", Stochastic, noisy(0.5), square),
    claim("sgd-noise-1", Stochastic, noisy(0.6), square),
    claim("shuffled-mean", Reshuffled, decrease(2), square, "mean", steps),
    claim("coin-2", Coin, decrease(2), square, "mean", steps),
    claim("page-2", Page, lambda c, a: 2 * c.L * c.delta / a.iterations, square),
    claim(
        "sgd-strong-square",
        Stochastic,
        lambda c, a: (1 - a.step * c.mu) ** a.iterations * c.R**2 + a.step**2 * c.sigma2,
        distance,
        "last",
        assumptions=STRONG,
    ),
    claim(
        "coordinate-1",
        Coordinate,
        lambda c, a: (c.L_f * c.R**2 / 2 + c.delta) / (a.iterations + 1),
        F,
        "last",
        steps,
        CONVEX,
        "large d",
    ),
    claim(
        "sgd-last",
        Stochastic,
        lambda c, a: c.L_f * c.R**2 / a.iterations,
        F,
        "last",
        assumptions=CONVEX,
    ),
    law("sgd-law-2", Stochastic, lambda c, a, past: c.sigma2 / 2),
    law("without-n", Without, lambda c, a, past: c.sigma2 / c.n, pair),
    law("svrg-law-f", Snapshot, lambda c, a, past: c.L_f**2 * past.step_sq),
    law("spider-law-1", Spider, lambda c, a, past: c.L_ms**2 * past.step_sq, three),
    law("page-unbiased", Page, page, three, none),
    law("storm-law-0", Storm, lambda c, a, past: past.error_sq / 4 + c.sigma2 / 4, three),
    law("average-unbiased", Average, lambda c, a, past: 4 * c.L_ms**2 * past.step_sq, two, none),
]
