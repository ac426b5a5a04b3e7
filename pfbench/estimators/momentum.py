"""Averages of batch gradients: heavy ball, and with a correction STORM, MARS and transport."""

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np

from pfbench.base.checks import check_integer, check_real
from pfbench.base.protocols import AlgorithmOracles, Gradient
from pfbench.base.state import Point
from pfbench.estimators.base import EstimateFunction, Estimator
from pfbench.points import combine


@dataclass(frozen=True)
class VanishingWeights:
    """Decreasing weights of iterations: ``alpha_t = min(1, scale/(t + offset)^power)``.

    Attributes
    ----------
    power, scale, offset
        Numbers above 0.
    """

    power: float
    scale: float = 1.0
    offset: float = 1.0

    def __post_init__(self) -> None:
        for name in ("power", "scale", "offset"):
            check_real(name, getattr(self, name), above=0.0)

    def __call__(self, t: int) -> float:
        """Return the weight alpha_t of the newest gradient in iteration t."""
        return min(1.0, self.scale * math.pow(t + self.offset, -self.power))


@dataclass(frozen=True)
class AveragingEstimator(Estimator):
    """Base class of averages of batch gradients; the newest gradient has a weight in (0, 1].

    The first estimate is the mean over a batch of size `snapshot`, by default S. A subclass defines
    the further estimates by `average`.
    """

    alpha: float | VanishingWeights
    snapshot: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.alpha, VanishingWeights):
            check_real("alpha", self.alpha, above=0.0, upper=1.0)
        if self.snapshot is not None:
            check_integer("snapshot", self.snapshot, minimum=1)

    def weight(self, t: int) -> float:
        """Return the weight alpha_t of the newest gradient in iteration t."""
        return self.alpha(t) if isinstance(self.alpha, VanishingWeights) else self.alpha

    def start(self, ask: AlgorithmOracles, rng: np.random.Generator) -> EstimateFunction:
        """Start a run: return the function that maps each iterate x to a gradient estimate."""
        t = 0
        previous: Point = None
        g: Gradient

        def estimate(x: Point) -> Gradient:
            nonlocal t, previous, g
            if t == 0:
                g = self.first_estimate(ask, x, rng)
            else:
                g = self.average(ask, rng, self.weight(t), g, x, previous)
            previous, t = x, t + 1
            return g

        return estimate

    def first_estimate(self, ask: AlgorithmOracles, x: Point, rng: np.random.Generator) -> Gradient:
        """Return the first estimate: the mean gradient at x over a batch of size `snapshot`."""
        return ask.batch(ask.sample(rng, self.snapshot or self.batch), x)

    @abstractmethod
    def average(
        self, ask: AlgorithmOracles, rng: Any, alpha: float, g: Gradient, x: Point, previous: Point
    ) -> Gradient:
        """Return the estimate at x, from a new batch and the estimate g at the previous iterate.

        `alpha` is the weight of the newest gradient.
        """


class HeavyBall(AveragingEstimator):
    """Heavy ball: average of batch gradients in which the newest has the weight alpha_t.

    The estimate is ``g_t = (1 - alpha_t) g_{t-1} + alpha_t mean over S of grad f_i(x_t)`` for a
    batch S.
    """

    name = "heavy-ball"
    source = "Mokhtari, Hassani, Karbasi 2020"
    unbiased = False

    def average(
        self, ask: AlgorithmOracles, rng: Any, alpha: float, g: Gradient, x: Point, previous: Point
    ) -> Gradient:
        """Return the estimate at x; see the formula of the class."""
        return (1.0 - alpha) * g + alpha * ask.batch(self.draw(ask, rng), x)


class STORM(AveragingEstimator):
    """STORM: average of batch gradients; the old average is corrected for the step to x_t.

    The estimate is ``g_t = grad f_S(x_t) + (1 - alpha_t) [g_{t-1} - grad f_S(x_{t-1})]``. grad f_S
    is the mean of grad f_i over a batch S, which is the same at both points.
    """

    name = "storm"
    source = "Cutkosky, Orabona 2019, STORM"

    def average(
        self, ask: AlgorithmOracles, rng: Any, alpha: float, g: Gradient, x: Point, previous: Point
    ) -> Gradient:
        """Return the estimate at x; see the formula of the class."""
        S = self.draw(ask, rng)
        return ask.batch(S, x) + (1.0 - alpha) * (g - ask.batch(S, previous))


@dataclass(frozen=True)
class MARS(AveragingEstimator):
    """MARS: average of batch gradients; `gamma` scales the correction of the old average.

    The estimate is ``g_t = (1 - alpha_t) (g_{t-1} + gamma D_t) + alpha_t grad f_S(x_t)``, where
    ``D_t = grad f_S(x_t) - grad f_S(x_{t-1})``, and grad f_S is the mean over a batch S. With gamma
    = 0 it is the heavy ball, with gamma = 1 STORM.
    """

    name = "mars"
    source = "Shulgin, Gadaev, Khirirat, Richtarik 2026, algorithm 1"
    unbiased = False

    gamma: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_real("gamma", self.gamma, minimum=0.0)

    def average(
        self, ask: AlgorithmOracles, rng: Any, alpha: float, g: Gradient, x: Point, previous: Point
    ) -> Gradient:
        """Return the estimate at x; see the formula of the class."""
        S = self.draw(ask, rng)
        new = ask.batch(S, x)
        return (1.0 - alpha) * (g + self.gamma * (new - ask.batch(S, previous))) + alpha * new


class Transport(AveragingEstimator):
    """Transport: average of batch gradients, each at a point extrapolated beyond x_t.

    ``g_t = (1 - alpha_t) g_{t-1} + alpha_t grad f_S(x_{t-1} + (x_t - x_{t-1})/alpha_t)``.

    A batch S is queried once, at a point ahead of x_t. So g_t has no bias where the Hessian is
    constant.
    """

    name = "transport"
    source = "Cutkosky, Mehta 2020, NIGT"
    unbiased = False

    def average(
        self, ask: AlgorithmOracles, rng: Any, alpha: float, g: Gradient, x: Point, previous: Point
    ) -> Gradient:
        """Return the estimate at x; see the formula of the class."""
        ahead = combine(previous, x, 1.0 / alpha)
        return (1.0 - alpha) * g + alpha * ask.batch(self.draw(ask, rng), ahead)
