"""Algorithm 1 of shen2019 with places where a fault can be planted in its estimator."""

from dataclasses import dataclass
from itertools import count
from typing import Any

import numpy as np

from pfbench.algorithms.nfwu import NFWUCASPIDERG, NFWUSPIDERG, CurvatureNFWU, EpochNFWU
from pfbench.base.protocols import Asked, Gradient, Point
from pfbench.estimators.base import EpochEstimator, Estimate
from pfbench.points import keep


class Faulty(EpochNFWU):
    """GE 2 to 5 with such places; stands before one of NFWU's classes, and as it is has no fault.

    Its methods are what a fault overrides.
    """

    @property
    def estimator(self) -> "Planted":
        """The class's estimator with the faults of this class."""
        return Planted(self.batch, self.period, method=self)

    def stream(self, ask: Asked, rng: np.random.Generator) -> Any:
        """Return the random stream of a run."""
        return rng

    def refreshes(self, t: int) -> bool:
        """Return whether iteration t takes a full gradient."""
        return t % self.period == 0

    def drawn(self, ask: Asked, rng: Any) -> Any:
        """Return a batch."""
        return rng.integers(ask.n, size=self.batch)

    def factor(self, ask: Asked) -> float:
        """Return what the difference is multiplied by."""
        return 1.0

    @property
    def recursive(self) -> bool:
        """Whether the estimate is added to the one before."""
        return isinstance(self, NFWUSPIDERG | NFWUCASPIDERG)

    def reference(self, found: Gradient, first: Gradient) -> Gradient:
        """Return the reference gradient, of the one found now and the first one."""
        return found

    def reference_point(self, s: Point, previous: Point) -> Point:
        """Return the point that the difference is taken to."""
        return previous if self.recursive else s

    def correction(self, full: Gradient, sampled: Gradient) -> Gradient:
        """Return the correction from the two products."""
        return full - sampled


@dataclass(frozen=True, kw_only=True)
class Planted(EpochEstimator):
    """The estimator that a faulty method says."""

    name = "planted"
    source = "shen2019 GE 2 to 5"

    method: Faulty

    def start(self, ask: Asked, rng: np.random.Generator) -> Estimate:
        """See `Estimator.start`."""
        method, aided = self.method, isinstance(self.method, CurvatureNFWU)
        drawing, iterations = method.stream(ask, rng), count()
        g: Any = None
        mean: Any = None
        first: Any = None
        s: Any = None
        previous: Any = None
        H: Any = None

        def estimate(x: Point) -> Gradient:
            nonlocal g, mean, first, s, previous, H
            if method.refreshes(next(iterations)):
                found, s = ask.gradient(x), keep(x)
                first = found if first is None else first
                mean = g = method.reference(found, first)
                H = ask.hessian(x) if aided else None
            else:
                S = method.drawn(ask, drawing)
                y = method.reference_point(s, previous)
                change = method.factor(ask) * ask.difference(S, x, y)
                g = change + (g if method.recursive else mean)
                if aided:
                    g = g + method.correction(H.product(x, y), H.batch(S, x, y))
            previous = keep(x)
            now: Gradient = g
            return now

        return estimate
