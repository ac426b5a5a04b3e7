"""Textbook theorems on stochastic methods, and false variants."""

from dataclasses import dataclass

import deterministic as measures
import numpy as np
from deterministic import CONVEX, STRONG, F, last, square, state_bounds, steps, times

import pfbench as pf
from pfbench.claims import Claim, error_law


@dataclass(frozen=True, kw_only=True)
class Stochastic(pf.Algorithm):
    """Stochastic gradients; a subclass estimates from the last point and the estimate there."""

    requires = frozenset({"gradient", "batch", "difference", "smooth"})
    iterations: int
    step: float
    batch: int = 1

    def run(self, ask, x, rng):
        start, at, g = x, x, None
        for _ in range(self.iterations):
            g = self.estimate(ask, x, rng, start, at, g)
            at, x = x, x - self.step * g
            yield pf.State(x, at, g)

    def estimate(self, ask, x, rng, start, before, g):
        return ask.batch(self.draw(ask.n, rng), x)

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

    def estimate(self, ask, x, rng, start, before, g):
        return ask.gradient(x) if rng.integers(2) == 1 else 0 * x


class Coordinate(Stochastic):
    """Random coordinates."""

    def estimate(self, ask, x, rng, start, before, g):
        full, j = ask.gradient(x), rng.integers(len(x))
        move = 0 * full
        move[j] = full[j]
        return move


class Snapshot(Stochastic):
    """SVRG with the snapshot at the start."""

    def estimate(self, ask, x, rng, start, before, g):
        return ask.gradient(start) + ask.difference(self.draw(ask.n, rng), x, start)


class Spider(Stochastic):
    """Recursive differences."""

    def estimate(self, ask, x, rng, start, before, g):
        if g is None:
            return ask.gradient(x)
        return g + ask.difference(self.draw(ask.n, rng), x, before)


class Page(Stochastic):
    """With probability 1/2 the gradient, else a difference."""

    def estimate(self, ask, x, rng, start, before, g):
        if g is None or rng.integers(2) == 1:
            return ask.gradient(x)
        return g + ask.difference(self.draw(ask.n, rng), x, before)


class Storm(Stochastic):
    """Recursive momentum with the weight 1/2."""

    def estimate(self, ask, x, rng, start, before, g):
        if g is None:
            return ask.gradient(x)
        i = self.draw(ask.n, rng)
        return ask.batch(i, x) + (g - ask.batch(i, before)) / 2


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


def distance(problem, x):
    return measures.distance(problem, x)


four = times(1, 4)


def tenth(c, T=4):
    return {"iterations": T, "step": 1 / (10 * c.L_f)}


def half(c, T=4):
    return {"iterations": T, "step": 1 / (2 * c.L)}


def pair(c, T=1):
    return {"iterations": T, "step": 1 / (2 * c.L), "batch": 2}


def two(c):
    return steps(c, 2)


def three(c):
    return steps(c, 3)


def decrease(factor):
    """Return a multiple of L Delta/T."""
    return lambda c, a: factor * c.L_f * c.delta / a.iterations


def squares(method, parameters=half, statistic="mean"):
    """Return what bounds |grad f|^2."""
    return state_bounds(method, square, statistic, parameters)


def law(method, parameters=two, mean=None, assumptions=()):
    """Return what states a law of the estimate's error."""
    return lambda name, upper: Claim(
        name=name,
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


sgd_strong = state_bounds(Stochastic, distance, "last", half, STRONG)
TRUE = [
    squares(Stochastic)("sgd-mean", noisy(1)),
    state_bounds(Stochastic, F, "mean", half, CONVEX)(
        "sgd-convex", lambda c, a: 2 * c.L * c.R**2 / a.iterations + c.sigma2 / (2 * c.L_f)
    ),
    sgd_strong(
        "sgd-strong",
        lambda c, a: (1 - a.step * c.mu) ** a.iterations * c.R**2 + a.step * c.sigma2 / c.mu,
    ),
    squares(Uniform, statistic="output")("sgd-uniform", noisy(1)),
    squares(Coin, four)("coin-mean", decrease(4)),
    squares(Page)("page-mean", lambda c, a: 4 * c.L * c.delta / a.iterations),
    squares(Spider, lambda c: half(c, 2))("spider-two", lambda c, a: 4 * c.L * c.delta / 2),
    last(Coordinate, four)("coordinate", lambda c, a: c.L_f * c.R**2 / 2 + c.delta),
    last(Coin, four, distance)("coin-distance", lambda c, a: c.R**2),
    law(Stochastic, mean=none)("sgd-law", lambda c, a, past: c.sigma2),
    law(Stochastic, pair, none)("batch-law", lambda c, a, past: c.sigma2 / 2),
    law(Without, pair, none, ("n >= 2",))(
        "without-law", lambda c, a, past: c.sigma2 * max(c.n - 2, 0) / (2 * (c.n - 1))
    ),
    law(Without, pair, none, ("n == 3",))("without-three", lambda c, a, past: c.sigma2 / 4),
    law(Snapshot, mean=none)("svrg-law", lambda c, a, past: c.L_ms**2 * past.step_sq),
    law(Spider, three, lambda c, a, past: past.error)(
        "spider-law", lambda c, a, past: past.error_sq + c.L_ms**2 * past.step_sq
    ),
    law(Page, three, lambda c, a, past: past.error / 2)("page-law", page),
    law(Storm, three, lambda c, a, past: past.error / 2)(
        "storm-law",
        lambda c, a, past: past.error_sq / 4 + c.L_ms**2 * past.step_sq / 2 + c.sigma2 / 2,
    ),
]
FALSE = [
    squares(Stochastic)("sgd-noiseless", lambda c, a: 2 * c.delta / (a.step * a.iterations)),
    squares(Stochastic)("sgd-noise-2", noisy(0.5)),
    squares(Stochastic)("sgd-noise-1", noisy(0.6)),
    squares(Reshuffled, four)("shuffled-mean", decrease(2)),
    squares(Coin, four)("coin-2", decrease(2)),
    squares(Page)("page-2", lambda c, a: 2 * c.L * c.delta / a.iterations),
    sgd_strong(
        "sgd-strong-square",
        lambda c, a: (1 - a.step * c.mu) ** a.iterations * c.R**2 + a.step**2 * c.sigma2,
    ),
    last(Coordinate, four)(
        "coordinate-1", lambda c, a: (c.L_f * c.R**2 / 2 + c.delta) / (a.iterations + 1)
    ),
    last(Stochastic, half)("sgd-last", lambda c, a: c.L_f * c.R**2 / a.iterations),
    # false unless each f_i is convex
    state_bounds(Snapshot, F, "last", tenth, STRONG)(
        "svrg-components", lambda c, a: (1 - c.mu / (40 * c.L_f)) ** a.iterations * c.delta
    ),
    law(Stochastic)("sgd-law-2", lambda c, a, past: c.sigma2 / 2),
    law(Without, pair)("without-n", lambda c, a, past: c.sigma2 / c.n),
    law(Snapshot)("svrg-law-f", lambda c, a, past: c.L_f**2 * past.step_sq),
    law(Spider, three)("spider-law-1", lambda c, a, past: c.L_ms**2 * past.step_sq),
    law(Page, three, none)("page-unbiased", page),
    law(Storm, three)("storm-law-0", lambda c, a, past: past.error_sq / 4 + c.sigma2 / 4),
    law(Average, mean=none)("average-unbiased", lambda c, a, past: 4 * c.L_ms**2 * past.step_sq),
]
