"""SG, SVRG and SPIDERG: the first-order gradient estimators of shen2019, section 3."""

from dataclasses import dataclass
from itertools import count

import numpy as np

from pfbench.base.protocols import Asked, Gradient
from pfbench.base.state import Point
from pfbench.estimators.base import EpochEstimator, Estimate, Estimator
from pfbench.points import keep


@dataclass(frozen=True)
class SG(Estimator):
    """GE 1: ``g_t = mean over S of grad f_i(x_t)``."""

    name = "sg"
    source = "shen2019 GE 1"

    def start(self, ask: Asked, rng: np.random.Generator) -> Estimate:
        """See `Estimator.start`."""
        return lambda x: ask.batch(self.draw(ask, rng), x)


@dataclass(frozen=True)
class SVRG(EpochEstimator):
    """GE 2: ``g_t = mean over S of [grad f_i(x_t) - grad f_i(s)] + grad f(s)``, s the snapshot."""

    name = "svrg"
    source = "shen2019 GE 2"

    def start(self, ask: Asked, rng: np.random.Generator) -> Estimate:
        """See `Estimator.start`."""
        iterations = count()
        s: Point = None
        mean: Gradient

        def estimate(x: Point) -> Gradient:
            nonlocal s, mean
            if next(iterations) % self.period == 0:
                mean, s = ask.gradient(x), keep(x)
                return mean
            return ask.difference(self.draw(ask, rng), x, s) + mean

        return estimate


@dataclass(frozen=True)
class SPIDERG(EpochEstimator):
    """GE 3: ``g_t = mean over S of [grad f_i(x_t) - grad f_i(x_{t-1})] + g_{t-1}``."""

    name = "spiderg"
    source = "shen2019 GE 3"

    def start(self, ask: Asked, rng: np.random.Generator) -> Estimate:
        """See `Estimator.start`."""
        iterations = count()
        previous: Point = None
        g: Gradient

        def estimate(x: Point) -> Gradient:
            nonlocal previous, g
            if next(iterations) % self.period == 0:
                g = ask.gradient(x)
            else:
                g = ask.difference(self.draw(ask, rng), x, previous) + g
            previous = x
            return g

        return estimate
