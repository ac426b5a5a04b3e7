"""Times: whole iterations, and what counting adds to a call."""

import math
import timeit

import numpy as np

import pfbench as pf
from pfbench.runs.loop.asking import oracles_of


class FrankWolfe:
    version = "1"

    def setup(self):
        self.problem = pf.problem("robust-matrix-recovery", source="synthetic", rank=5, seed=0)
        self.algorithm = pf.algorithm("frank-wolfe", step="open-loop", iterations=20)
        pf.solve(self.problem, self.algorithm, seed=0)  # compile

    def time_twenty_iterations(self):
        pf.solve(self.problem, self.algorithm, seed=0)


class Silent:
    """A backend that answers at once, with what it is handed or has."""

    unconstrained = False

    def __init__(self, problem):
        self.n, self.g = problem.n, problem.start()

    def batch(self, sample, x):
        return self.g

    def difference(self, sample, x, y):
        return self.g

    def lo(self, g):
        return g

    def prox(self, x, g, lam):
        return x


class Counting:
    """What checking and counting cost, with samples of sqrt(n) components of a9a (as synthetic)."""

    version = "2"
    params = ("batch", "difference", "lo", "prox")
    param_names = ("verb",)

    def setup(self, verb):
        self.problem = pf.problem(
            "nonconvex-logistic", source="synthetic", rows=32561, columns=123, set="l1", radius=10.0
        )
        x, n = self.problem.start(), self.problem.n
        sample = np.random.default_rng(0).integers(n, size=math.isqrt(n))
        given = {"batch": (sample, x), "difference": (sample, x, x.copy()), "lo": (x,)}
        self.given = given.get(verb, (x, x, 0.1))

    def calls(self, verb, backend):
        """Return the time of a call beside the backend and through the bundle, in seconds."""
        bundle = oracles_of(self.problem, backend)
        return [
            min(timeit.repeat(lambda a=asked: a(*self.given), number=2000, repeat=25)) / 2000
            for asked in (getattr(backend, verb), getattr(bundle, verb))
        ]

    def track_one_call(self, verb):
        """Microseconds that the bundle adds to a call."""
        bare, counted = self.calls(verb, Silent(self.problem))
        return 1e6 * (counted - bare)

    track_one_call.unit = "us"

    def track_share(self, verb):
        """Percent of the problem's own call."""
        added = self.track_one_call(verb)
        bare, _ = self.calls(verb, self.problem.open(np.random.default_rng(0)))
        return 1e2 * added / (1e6 * bare)

    track_share.unit = "%"
