"""PAGE and L-SVRG: estimators that compute a full gradient at random, not in fixed epochs.

A coin is flipped before each estimate but the first, which is the full gradient. Heads, with
probability p, ends the epoch and gives a full gradient. The source of L-SVRG flips after the step,
so that its snapshot lags one step behind. Here the estimate at a new snapshot is exact.
"""

from dataclasses import dataclass

import numpy as np

from pfbench.base.checks import check_real
from pfbench.base.protocols import AlgorithmOracles, Gradient
from pfbench.base.state import Point
from pfbench.estimators.base import CoinEstimateFunction, EstimateFunction, Estimator
from pfbench.points import keep


@dataclass(frozen=True)
class LooplessEstimator(Estimator):
    """Base class of estimators that compute a full gradient with probability `refresh`."""

    refresh: float

    def __post_init__(self) -> None:
        super().__post_init__()
        check_real("refresh", self.refresh, above=0.0, upper=1.0)


class PAGE(LooplessEstimator):
    """PAGE: a full gradient with probability `refresh`, else a recursive estimate as in SPIDER.

    ``g_t = mean over S of [grad f_i(x_t) - grad f_i(x_{t-1})] + g_{t-1}``; heads: grad f(x_t). It
    is SPIDERG with epochs of geometric length.
    """

    name = "page"
    source = "Li, Bao, Zhang, Richtarik 2021, PAGE"

    def start(self, ask: AlgorithmOracles, rng: np.random.Generator) -> EstimateFunction:
        """Start a run: return the function that maps each iterate x to a gradient estimate."""
        previous: Point = None
        g: Gradient

        def estimate(x: Point, heads: bool) -> Gradient:
            nonlocal previous, g
            g = ask.gradient(x) if heads else ask.difference(self.draw(ask, rng), x, previous) + g
            previous = x
            return g

        return CoinEstimateFunction(estimate, rng, self.refresh)


class LSVRG(LooplessEstimator):
    """L-SVRG: SVRG whose snapshot w is replaced by x_t with probability `refresh`.

    ``g_t = mean over S of [grad f_i(x_t) - grad f_i(w)] + grad f(w)``; heads: w = x_t.
    """

    name = "lsvrg"
    source = "Kovalev, Horvath, Richtarik 2020, L-SVRG"

    def start(self, ask: AlgorithmOracles, rng: np.random.Generator) -> EstimateFunction:
        """Start a run: return the function that maps each iterate x to a gradient estimate."""
        w: Point = None
        mean: Gradient

        def estimate(x: Point, heads: bool) -> Gradient:
            nonlocal w, mean
            if heads:
                mean, w = ask.gradient(x), keep(x)
                return mean
            return ask.difference(self.draw(ask, rng), x, w) + mean

        return CoinEstimateFunction(estimate, rng, self.refresh)
