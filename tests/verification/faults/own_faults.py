"""A user's method in a file of his own, in his own style: arrays, no dataclass, no `at`."""

from helpers_of_own import lmo_step

import pfbench as pf


class OwnSpider:
    """SPIDER Frank-Wolfe with plain arrays."""

    name = "own-spider"
    requires = frozenset({"gradient", "batch", "lo"})
    assumes = frozenset()
    deterministic = False
    output = "uniform"
    claims = ("shen2019-unbiased-spiderg",)

    def __init__(self, iterations, step, batch, period):
        self.iterations, self.step, self.batch, self.period = iterations, step, batch, period

    def run(self, ask, x, rng):
        old = g = None
        for t in range(self.iterations):
            if t % self.period == 0:
                g = ask.gradient(x)
            else:
                picked = rng.choice(ask.n, self.batch)
                g = g + ask.batch(picked, x) - ask.batch(picked, old)
            old = x.copy()
            x = lmo_step(ask, x, g, self.step)
            yield pf.State(x, old, g)
