"""The first-order gradient estimators: full, SG, SVRG and SPIDERG (shen2019, section 3)."""

from dataclasses import dataclass
from itertools import count

import numpy as np

from pfbench.base.protocols import Asked, Gradient
from pfbench.base.state import Point
from pfbench.estimators.base import EpochEstimator, Estimate, Estimator
from pfbench.points import keep


@dataclass(frozen=True)
class Full(Estimator):
    """The full gradient; its batch is not used."""

    name = "full"
    source = "the gradient itself"

    batch: int = 1

    def start(self, ask: Asked, rng: np.random.Generator) -> Estimate:
        """See `Estimator.start`."""
        return ask.gradient


class SG(Estimator):
    """GE 1: ``g_t = mean over S of grad f_i(x_t)``."""

    name = "sg"
    source = "shen2019 GE 1"

    def start(self, ask: Asked, rng: np.random.Generator) -> Estimate:
        """See `Estimator.start`."""
        return lambda x: ask.batch(self.draw(ask, rng), x)


@dataclass(frozen=True)
class SVRG(EpochEstimator):
    """GE 2: ``g_t = mean over S of [grad f_i(x_t) - grad f_i(s)] + grad f(s)``, s the snapshot.

    With `at_snapshot` the batch is drawn and asked at the snapshot itself too, as Reddi et al.
    2016 and qu2018 algorithm 4 do; the estimate there is the reference gradient all the same.
    """

    name = "svrg"
    source = "shen2019 GE 2"

    at_snapshot: bool = False

    def start(self, ask: Asked, rng: np.random.Generator) -> Estimate:
        """See `Estimator.start`."""
        iterations = count()
        s: Point = None
        mean: Gradient

        def estimate(x: Point) -> Gradient:
            nonlocal s, mean
            if next(iterations) % self.period == 0:
                mean, s = self.reference(ask, x, rng), keep(x)
                if not self.at_snapshot:
                    return mean
            return ask.difference(self.draw(ask, rng), x, s) + mean

        return estimate


@dataclass(frozen=True)
class DoublingSPIDER(Estimator):
    """SPIDERG in epochs s = 0, 1, ... of 2^s iterations, with batches of 2^s.

    Its field `batch` is not used.
    """

    name = "doubling-spider"
    source = "Yurtsever, Sra, Cevher 2019, SPIDER-FW for convex finite sums"

    batch: int = 1

    def start(self, ask: Asked, rng: np.random.Generator) -> Estimate:
        """See `Estimator.start`."""
        numbers = count(1)
        previous: Point = None
        g: Gradient

        def estimate(x: Point) -> Gradient:
            nonlocal previous, g
            number = next(numbers)
            size = 1 << (number.bit_length() - 1)
            if number == size:
                g = ask.gradient(x)
            else:
                g = ask.difference(rng.integers(ask.n, size=size), x, previous) + g
            previous = x
            return g

        return estimate


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
                g = self.reference(ask, x, rng)
            else:
                g = ask.difference(self.draw(ask, rng), x, previous) + g
            previous = x
            return g

        return estimate
