"""Faults planted in the loop of CGS and STORC that several theorems of li2019 must catch."""

from collections.abc import Iterator

import numpy as np

from pfbench.algorithms.sliding import CGS, STORC, condg
from pfbench.base.protocols import Asked, Point, State
from pfbench.claims.li2019.corollary3 import COR3
from pfbench.claims.li2019.nonconvex import NONCONVEX
from pfbench.claims.li2019.stat import STAT
from pfbench.claims.li2019.theorem1 import FO, GAP
from pfbench.claims.li2019.theorem2 import VARIANCE
from pfbench.points import combine, keep
from pfbench.verification import Mutant


class Variant(CGS):
    """CGS itself, with the pieces of its loop as methods that a fault overrides."""

    def weight(self, k: int) -> float:
        """Return gamma_k."""
        return 2.0 / (k + 1.0)

    def beta(self, k: int) -> float:
        """Return beta_k."""
        return 3.0 * self.smoothness / k

    def query(self, x: Point, y: Point, gamma: float) -> Point:
        """Return z_k."""
        return combine(y, x, gamma)

    def centre(self, x: Point, theta: Point) -> Point:
        """Return the point from which condg starts."""
        return x

    def average(self, x: Point, y: Point, gamma: float) -> Point:
        """Return y_k."""
        return combine(y, x, gamma)

    def snapshot(self, theta: Point, first: Point) -> Point:
        """Return the point that STORC's corrections refer to."""
        return theta

    def run(self, ask: Asked, x: Point, rng: np.random.Generator) -> Iterator[State]:
        """See `CGS`."""
        theta = first = keep(x)
        for t in range(1, self.restarts + 1):
            x, y, s = keep(theta), keep(theta), self.snapshot(theta, first)
            mean = self.start_gradient(ask, s)
            for k in range(1, self.period + 1):
                gamma = self.weight(k)
                z = self.query(x, y, gamma)
                g = self.gradient(ask, z, s, mean, rng)
                x = condg(ask, g, self.centre(x, theta), 1.0 / self.beta(k), self.eta(t, k))
                y = self.average(x, y, gamma)
                yield State(y, z, g)
            theta = y


# --- the tolerance of condg -----------------------------------------------------------------------


class ToleranceNotHalved(CGS):
    """delta0 is not halved between outer iterations."""

    def eta(self, t: int, k: int) -> float:
        """Return eta_{1,k}."""
        return super().eta(1, k)


class StoppedEarly(CGS):
    """condg stops at a hundred times its tolerance."""

    def eta(self, t: int, k: int) -> float:
        """Return 100 eta_{t,k}."""
        return 100.0 * super().eta(t, k)


class ToleranceWithoutK(CGS):
    """condg's tolerance lacks the factor 1/k."""

    def eta(self, t: int, k: int) -> float:
        """Return eta_{t,1}."""
        return super().eta(t, 1)


# --- the weights ----------------------------------------------------------------------------------


class UniformWeights(Variant):
    """gamma_k = 1/(k+1), the weights of plain averaging."""

    def weight(self, k: int) -> float:
        """Return 1/(k+1)."""
        return 1.0 / (k + 1.0)


class ConstantBeta(Variant):
    """beta = 3L at every k: steps do not grow."""

    def beta(self, k: int) -> float:
        """Return 3L."""
        return 3.0 * self.smoothness


class WeightsSwapped(Variant):
    """y_k = gamma_k y_{k-1} + (1 - gamma_k) x_k."""

    def average(self, x: Point, y: Point, gamma: float) -> Point:
        """Return the average with the weights exchanged."""
        return combine(y, x, 1.0 - gamma)


# --- the points -----------------------------------------------------------------------------------


class GradientAtX(Variant):
    """The gradient is taken at x_{k-1} instead of z_k."""

    def query(self, x: Point, y: Point, gamma: float) -> Point:
        """Return x."""
        return x


class NotCarried(Variant):
    """condg starts from theta_{t-1} every time: x is not carried on."""

    def centre(self, x: Point, theta: Point) -> Point:
        """Return theta."""
        return theta


class StaleSnapshot(Variant, STORC):
    """The snapshot is not refreshed at the outer iterations."""

    def snapshot(self, theta: Point, first: Point) -> Point:
        """Return the start."""
        return first


MUTANTS = (
    Mutant.of("li2019-tolerance-not-halved", ToleranceNotHalved, GAP, COR3, STAT, NONCONVEX),
    Mutant.of("li2019-stopped-early", StoppedEarly, GAP, COR3, FO),
    Mutant.of("li2019-tolerance-without-k", ToleranceWithoutK, GAP, COR3),
    Mutant.of("li2019-uniform-weights", UniformWeights, COR3),
    Mutant.of("li2019-constant-beta", ConstantBeta, GAP, COR3),
    Mutant.of("li2019-gradient-at-x", GradientAtX, GAP, COR3),
    Mutant.of("li2019-not-carried", NotCarried, GAP, COR3),
    Mutant.of("li2019-weights-swapped", WeightsSwapped, GAP, COR3),
    Mutant.of("li2019-stale-snapshot", StaleSnapshot, VARIANCE),
)
