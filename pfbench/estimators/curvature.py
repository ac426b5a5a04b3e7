"""CASVRG and CASPIDERG: the curvature-aided gradient estimators of shen2019, section 4.

Both correct a sampled difference of gradients by the error of its linearisation with the Hessians
at the snapshot s: ``[H(s) - mean over S of H_i(s)] (x - y)``. The component Hessians at s are
evaluated and stored once in each epoch.
"""

from itertools import count

import numpy as np

from pfbench.base.protocols import AlgorithmOracles, Gradient, Hessian
from pfbench.base.state import Point
from pfbench.estimators.base import EpochEstimator, EstimateFunction
from pfbench.points import keep


class CASVRG(EpochEstimator):
    """CASVRG: SVRG, corrected by component Hessians at the snapshot (estimator GE 4 of shen2019).

    It is SVRG ``+ [H(s) - mean over S of H_i(s)] (x_t - s)``, s the snapshot.
    """

    name = "casvrg"
    source = "shen2019 GE 4"

    def start(self, ask: AlgorithmOracles, rng: np.random.Generator) -> EstimateFunction:
        """Start a run: return the function that maps each iterate x to a gradient estimate."""
        iterations = count()
        s: Point = None
        mean: Gradient
        H: Hessian

        def estimate(x: Point) -> Gradient:
            nonlocal s, mean, H
            if next(iterations) % self.period == 0:
                mean, s = ask.gradient(x), keep(x)
                H = ask.hessian(s)
                return mean
            S = self.draw(ask, rng)
            c = H.product(x, s) - H.batch(S, x, s)
            return ask.difference(S, x, s) + mean + c

        return estimate


class CASPIDERG(EpochEstimator):
    """CASPIDERG: SPIDERG, corrected by component Hessians at the snapshot (GE 5 of shen2019).

    It is SPIDERG ``+ [H(s) - mean over S of H_i(s)] (x_t - x_{t-1})``, s the snapshot.
    """

    name = "caspiderg"
    source = "shen2019 GE 5"

    def start(self, ask: AlgorithmOracles, rng: np.random.Generator) -> EstimateFunction:
        """Start a run: return the function that maps each iterate x to a gradient estimate."""
        iterations = count()
        previous: Point = None
        g: Gradient
        H: Hessian

        def estimate(x: Point) -> Gradient:
            nonlocal previous, g, H
            if next(iterations) % self.period == 0:
                g = ask.gradient(x)
                H = ask.hessian(x)
            else:
                S = self.draw(ask, rng)
                c = H.product(x, previous) - H.batch(S, x, previous)
                g = ask.difference(S, x, previous) + g + c
            previous = x
            return g

        return estimate
