"""Generated faults that are late: oracles that cheat beyond a drawn call, epoch, index or norm."""

from statistics import median

import numpy as np
from twisted import Twisted, twisted

from pfbench.points import keep

SAMPLED = ("batch", "difference")


class Late(Twisted):
    """Passes calls on, and changes those of one verb once the trigger has fired.

    Parameters
    ----------
    fault
        A trigger, its threshold, a change and its strength; see `drawn`.
    """

    def __init__(self, ask, fault):
        super().__init__(ask)
        self.trigger, self.threshold, self.change, self.strength = fault
        self.calls = self.epochs = self.vertices = 0
        self.norms, self.sample, self.vertex = [], None, None
        self.point = self.reference = None

    def fires(self, S=None, g=None):
        """Return whether it acts on this call."""
        if self.trigger == "call":
            return self.calls > self.threshold
        if self.trigger == "epoch":
            return self.epochs > self.threshold / 100
        if self.trigger == "vertex":
            return self.vertices > self.threshold
        if self.trigger == "index":
            return S is not None and np.asarray(S).max() > 5.0 * self.threshold
        return g is not None and np.linalg.norm(g) > 5.0 * median(self.norms)

    def _sampled(self, verb, S, *points):
        self.calls += 1
        before, self.sample = self.sample, np.array(S)
        stale, self.point = self.point, keep(points[0])
        if self.fires(S):
            if self.change == "half":
                S = np.resize(S[: max(1, len(S) // 2)], len(S))
            elif self.change == "again" and before is not None:
                S = np.resize(before, len(S))
            elif self.change == "bits":
                S = np.asarray(S) % int(256 * self.strength)
            elif self.change == "stale" and stale is not None:
                points = (stale, *points[1:])
        return self._answered(getattr(self.ask, verb)(S, *points), S)

    def _answered(self, g, S=None):
        self.norms.append(np.linalg.norm(g))
        if self.fires(S, g):
            if self.change == "scaled":
                return g * (1.0 + 0.01 * self.strength)
            if self.change == "clipped":
                return g * min(1.0, 2.0 * median(self.norms) / max(self.norms[-1], 1e-300))
            if self.change == "single":
                return g.astype(np.float32).astype(float)
            if self.change == "dropped":
                return np.where(np.arange(g.size) < g.size - 1, g, 0.0)
        return g

    def batch(self, S, x):
        return self._sampled("batch", S, x)

    def difference(self, S, x, y):
        return self._sampled("difference", S, x, y)

    def gradient(self, x):
        self.epochs += 1
        before, self.reference = self.reference, keep(x)
        late = self.change == "stale" and before is not None and self.fires()
        return self._answered(self.ask.gradient(before if late else x))

    def lo(self, g):
        self.vertices += 1
        before = self.vertex
        self.vertex = self.ask.lo(g)
        old = self.change == "again" and before is not None and self.fires(g=None)
        return before if old else self.vertex

    def prox(self, x, g, lam):
        self.vertices += 1
        longer = self.change == "scaled" and self.fires()
        return self.ask.prox(x, g, lam * (1.0 + 0.01 * self.strength) if longer else lam)


TRIGGERS = ("call", "epoch", "vertex", "index", "norm")
CHANGES = ("half", "again", "bits", "stale", "scaled", "clipped", "single", "dropped")


def drawn(rng):
    """Return a fault: trigger, threshold, change, strength."""
    found = rng.choice(TRIGGERS), rng.uniform(300.0, 1800.0), rng.choice(CHANGES)
    return *found, rng.uniform(0.5, 2.0)


def faulty(method, fault):
    """Return a class of methods with the fault."""
    return twisted(method, lambda ask: Late(ask, fault))
