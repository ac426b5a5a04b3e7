"""SPIDER methods as a user would write them, for `benchmarks.strangers`."""

from dataclasses import dataclass

import numpy as np

import pfbench as pf


@dataclass(frozen=True)
class OwnProximal:
    """Proximal steps along SPIDER estimates, after wang2019 algorithm 2."""

    batch: int
    period: int
    iterations: int
    step: float
    snapshot: int | None = None
    output: str = "uniform"

    name = "own-proximal"
    requires = frozenset({"gradient", "batch", "prox"})
    deterministic = False
    claims = ("prox-spiderboost",)

    @classmethod
    def theory(cls, epsilon, constants, **given):
        """Return the parameters of the theorem's schedule."""
        root = np.sqrt(constants.n)
        steps = int(np.ceil(20.0 * constants.L * constants.delta / epsilon**2 * (1 - 1e-12)))
        schedule = {"iterations": max(1, steps), "step": 0.5 / constants.L}
        schedule |= {"batch": int(np.ceil(root)), "period": int(root)}
        return cls(**schedule | given)

    def run(self, ask, x, rng):
        """Yield the states of algorithm 2."""
        g = before = None
        for t in range(self.iterations):
            if t % self.period:
                S = rng.integers(ask.n, size=self.batch)
                g = g + ask.batch(S, x) - ask.batch(S, before)
            elif self.snapshot in (None, ask.n):
                g = ask.gradient(x)
            else:
                g = ask.batch(rng.integers(ask.n, size=self.snapshot), x)
            before, x = x, ask.prox(x, g, self.step)
            yield pf.State(x, before, g)


@dataclass(frozen=True)
class OwnFrankWolfe:
    """Frank-Wolfe along SPIDER estimates, after shen2019 algorithm 1 with GE 3."""

    batch: int
    period: int
    iterations: int
    step: float
    output: str = "uniform"

    name = "own-frank-wolfe"
    requires = frozenset({"gradient", "difference", "lo"})
    deterministic = False
    claims = (
        *(f"shen2019-{what}-spiderg" for what in ("count", "thm3.1", "mse", "unbiased", "table1")),
        *(f"methods-{what}-nfwu-spiderg" for what in ("estimate", "steps", "count", "run")),
    )

    @classmethod
    def theory(cls, epsilon, constants, **given):
        """Return the parameters of the schedule of theorem 3.1."""
        algorithm = pf.algorithms.ALGORITHMS["nfwu-spiderg"].theory(epsilon, constants, **given)
        return cls(algorithm.batch, algorithm.period, algorithm.iterations, algorithm.step)

    def run(self, ask, x, rng):
        """Yield the states of algorithm 1."""
        g = before = None
        for t in range(self.iterations):
            if t % self.period:
                S = rng.integers(ask.n, size=self.batch)
                g = g + ask.difference(S, x, before)
            else:
                g = ask.gradient(x)
            before, x = x, pf.combine(x, ask.lo(g), self.step)
            yield pf.State(x, before, g)
