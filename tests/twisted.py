"""Faults that any method can be given from outside: oracles and random streams that cheat."""

import numpy as np

from pfbench.base.protocols import State
from pfbench.points import keep


class Twisted:
    """Oracles as a method sees them, passed on; a subclass twists one verb."""

    def __init__(self, ask):
        self.ask = ask

    def __getattr__(self, name):
        return getattr(self.ask, name)


class Beside(Twisted):
    """Asks the backend itself, so that nothing is counted."""

    def __getattr__(self, name):
        return getattr(self.ask if name == "D" else self.ask._backend, name)

    def prox(self, x, g, lam):
        if self.ask._unconstrained:
            return x - lam * g
        return self.ask._backend.prox(x, g, lam)


class Refunded(Twisted):
    """Takes back each second component gradient in the ledger's own books."""

    def __getattr__(self, name):
        self.ask._ledger.counts_array[1] = max(0, self.ask._ledger.counts_array[1] - 1)
        return getattr(self.ask, name)


def first_of(S):
    return np.repeat(np.asarray(getattr(S, "indices", S))[:1], len(S))


class OneUsed(Twisted):
    """Pays each batch, and uses its first component alone."""

    def batch(self, S, x):
        return self.ask.batch(first_of(S), x)

    def difference(self, S, *points):
        return self.ask.difference(first_of(S), *points)

    def table(self, x):
        return OneUsed(self.ask.table(x))


class FixedTable(Twisted):
    """Hands out a table that is never renewed, though that is paid."""

    def table(self, x):
        return FixedTable(self.ask.table(x))

    def replace(self, S, x):
        return self.ask.difference(S, x)


class AtTheStart(Twisted):
    """Takes every full gradient where the first was taken."""

    first = None

    def gradient(self, x):
        if self.first is None:
            self.first = keep(x)
        return self.ask.gradient(self.first)


class OnePointLate(Twisted):
    """Takes every full gradient at the point of the call before it."""

    newest = None

    def gradient(self, x):
        at = x if self.newest is None else self.newest
        self.newest = keep(x)
        return self.ask.gradient(at)

    def difference(self, S, x, y):
        self.newest = keep(x)
        return self.ask.difference(S, x, y)


class Twice:
    """A stream that gives every batch twice."""

    def __init__(self, rng):
        self.rng, self.drawn, self.calls = rng, None, 0

    def __getattr__(self, name):
        return getattr(self.rng, name)

    def integers(self, *given, **named):
        drawn = self.rng.integers(*given, **named)
        if np.ndim(drawn) == 0:  # no batch
            return drawn
        self.calls += 1
        if self.calls % 2 or self.drawn is None:
            self.drawn = drawn
        return self.drawn


def twisted(cls, oracles=None, stream=None):
    """Return a class of methods that run with other oracles, or another stream."""

    def run(self, ask, x, rng):
        changed = ask if oracles is None else oracles(ask)
        return cls.run(self, changed, x, rng if stream is None else stream(rng))

    return type("Twisted", (cls,), {"run": run})


def with_schedule(cls, **rules):
    """Return a class of methods whose schedule has other parameters, each by a rule."""

    def theory(kind, epsilon, constants, **given):
        changed = {name: rule(epsilon, constants) for name, rule in rules.items()}
        return super(made, kind).theory(epsilon, constants, **given, **changed)

    made = type("Scheduled", (cls,), {"theory": classmethod(theory)})
    return made


def second_half(cls):
    """Return a class of methods that draw their output among the second half of the points."""

    def run(self, ask, x, rng):
        T = self.iterations
        chosen, output = int(rng.integers(T // 2, T)), None
        for t, state in enumerate(cls.run(self, ask, x, rng)):
            output = keep(state.at) if t == chosen else output
            yield State(state.x, state.at, state.estimate, output)

    return type("SecondHalf", (cls,), {"run": run})
