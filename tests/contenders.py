"""Methods written as somebody would, and the chain by its reference."""

import copy
from dataclasses import dataclass

import numpy as np
from chain_reference import chain_gradient, chain_value

from pfbench.algorithms import ALGORITHMS
from pfbench.algorithms.base import Algorithm
from pfbench.base.state import State
from pfbench.points import combine
from pfbench.resisting.contestants import Contestant


def f(x, V):
    """|x|^2/10 + H_T(V'x) as shen2019 section 7.1 prints it; V has shape (d, T)."""
    return x @ x / 10.0 + chain_value(V.T @ x)


def slope(x, V):
    """The gradient of `f`."""
    return x / 5.0 + V @ chain_gradient(V.T @ x)


@dataclass(frozen=True, kw_only=True)
class Own(Algorithm):
    """What somebody's own methods share."""

    name = "own"
    summary = "a test"
    source = "a test"
    counts = "not stated"
    requires = frozenset({"gradient", "lo"})
    deterministic = True

    iterations: int = 10

    def contestant(self):
        return Contestant(self, "own", "own")


@dataclass(frozen=True, kw_only=True)
class LinearRule(Own):
    """Queries at random combinations of LO outputs, LO at random combinations of all it knows.

    Several gradient queries and function values for each LO output, several LO outputs in a row,
    and LO inputs that no answer spans: all fixed by `number`, so deterministic.
    """

    number: int
    foreign: bool = False

    def run(self, ask, x, rng):
        own = np.random.default_rng(self.number)
        outputs, known = [], [x]
        for _ in range(self.iterations):
            for _ in range(own.integers(1, 4)):
                if outputs:
                    weights = own.standard_normal(len(outputs))
                    weights *= own.random() / np.abs(weights).sum()
                    x = sum(w * u for w, u in zip(weights, outputs, strict=True))
                known += [x, ask.gradient(x)]
                if outputs and own.random() < 0.5:
                    ask.value(combine(x, outputs[-1], own.random()))
            for _ in range(own.integers(1, 3)):
                weights = own.standard_normal(len(known))
                g = sum(w * v for w, v in zip(weights, known, strict=True))
                if self.foreign and own.random() < 0.3:
                    g = g + own.standard_normal(g.size)
                outputs.append(ask.lo(g))
            yield State(x)


@dataclass(frozen=True, kw_only=True)
class Internal(Own):
    """Breaks (14): gradient descent on internal points, then two LO outputs span the rest."""

    descent: int = 400

    def run(self, ask, x, rng):
        hidden = x
        for _ in range(self.descent):
            hidden = hidden - ask.gradient(hidden) / 150.0
        R = ask.D / 2.0
        along = hidden / np.linalg.norm(hidden)
        # Two outputs, on both sides of the minimiser: it lies between them.
        u, w = ask.lo(-along), ask.lo(along)
        x = combine(w, u, (np.linalg.norm(hidden) / R + 1.0) / 2.0)
        ask.gradient(x)
        yield State(x)


@dataclass(frozen=True, kw_only=True)
class Walk(Own):
    """Open-loop Frank-Wolfe, for cheats to derive from."""

    def run(self, ask, x, rng):
        for t in range(self.iterations):
            x = self.at(ask, x, rng, t)
            g = ask.gradient(x)
            x = combine(x, ask.lo(g), 2.0 / (t + 2.0))
            yield State(x)

    def at(self, ask, x, rng, t):
        return x


class Heavy(ALGORITHMS["prox-gd"]):
    """Gradient descent whose momentum depends on its iterations."""

    def run(self, ask, x, rng):
        before = x
        for _ in range(self.iterations):
            y = x + 0.5 * (x - before) / self.iterations
            before, x = x, ask.prox(y, ask.gradient(y), self.step)
            yield State(x, y)


class Peeks(Walk):
    """Reads what the oracle hides, the direction that it would draw next, and moves towards it."""

    def at(self, ask, x, rng, t):
        backend = ask._backend
        hidden = copy.deepcopy(backend._rng).standard_normal(x.size)
        hidden = backend._exchange.basis.split(hidden)[1]
        return combine(x, ask.lo(-hidden), 0.1)


class Draws(Walk):
    """Draws random numbers, though it says that it does not."""

    def at(self, ask, x, rng, t):
        return x * (1.0 - 1e-3 * rng.random())


class SaysSo(Draws):
    """Does so, and says it."""

    deterministic = False


class DrawsElsewhere(Walk):
    """Draws random numbers that no seed governs."""

    def at(self, ask, x, rng, t):
        return x * (1.0 - 1e-3 * np.random.default_rng().random())


class PastTheLedger(Walk):
    """Asks the backend itself, so that nothing is counted."""

    def at(self, ask, x, rng, t):
        ask._backend.gradient(0.5 * x)
        return x


class Leaves(Walk):
    """Moves along a gradient."""

    def at(self, ask, x, rng, t):
        return x if t == 0 else x - 1e-3 * ask.gradient(x)
