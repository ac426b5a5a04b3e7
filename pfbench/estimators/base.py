"""Base classes of gradient estimators.

An estimator has frozen parameters; its method `start` creates the state of one run.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from pfbench.base.checks import check_integer
from pfbench.base.protocols import AlgorithmOracles, Gradient
from pfbench.base.state import Point

EstimateFunction = Callable[[Point], Gradient]
"""Function x_t -> g_t; called once in each iteration, in order."""

Estimate = EstimateFunction  # the name in users' estimators


class CoinEstimateFunction:
    """Function that flips a coin and returns a gradient estimate; the first estimate needs no coin.

    Parameters
    ----------
    estimate
        Function (x_t, heads) -> g_t; in the first call, heads is true.
    rng, chance
        Random number generator, and the probability of heads.

    Attributes
    ----------
    coin
        Whether the latest coin fell heads; None before the first flip.
    """

    def __init__(
        self, estimate: Callable[[Point, bool], Gradient], rng: np.random.Generator, chance: float
    ) -> None:
        self.coin: bool | None = None
        self._estimate, self._rng, self._chance, self._has_started = estimate, rng, chance, False

    def __call__(self, x: Point) -> Gradient:
        """Flip the coin, except in the first call, and return the gradient estimate at x."""
        if self._has_started:
            self.coin = bool(self._rng.random() < self._chance)
        self._has_started = True
        return self._estimate(x, self.coin is None or self.coin)


def latest_coin(estimate_function: EstimateFunction) -> bool | None:
    """Return whether an estimate function's latest coin was heads; None if it flipped no coin."""
    return getattr(estimate_function, "coin", None)


@dataclass(frozen=True)
class Estimator(ABC):
    """Base class of gradient estimators that draw batches of size `batch`.

    By default, batches are drawn uniformly with replacement.

    Attributes
    ----------
    unbiased
        Whether the expected estimate along a fixed sequence of points is the gradient. This holds
        for recursive differences, but not for averages over old points.

    Raises
    ------
    InputError
        If a batch or a period is not a positive integer.
    """

    name: ClassVar[str]
    source: ClassVar[str]
    unbiased: ClassVar[bool] = True

    batch: int

    def __post_init__(self) -> None:
        check_integer("batch", self.batch, minimum=1)

    @abstractmethod
    def start(self, ask: AlgorithmOracles, rng: np.random.Generator) -> EstimateFunction:
        """Start a run: return the function that maps each iterate x to a gradient estimate."""

    def draw(self, ask: AlgorithmOracles, rng: np.random.Generator) -> Any:
        """Draw a batch of size `batch`; by default, components are drawn with replacement."""
        return ask.sample(rng, self.batch)


@dataclass(frozen=True)
class EpochEstimator(Estimator):
    """Base class of estimators that compute a reference gradient every `period` iterations.

    The reference gradient is the full gradient. If `snapshot` is given, it is the mean over a
    batch of this size (online form), or the full gradient if the size is n.
    """

    period: int
    snapshot: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_integer("period", self.period, minimum=1)
        if self.snapshot is not None:
            check_integer("snapshot", self.snapshot, minimum=1)

    def reference_gradient(
        self, ask: AlgorithmOracles, x: Point, rng: np.random.Generator
    ) -> Gradient:
        """Return the reference gradient at x: the full gradient, or the mean over a batch."""
        if self.snapshot is None or self.snapshot == getattr(ask, "n", None):
            return ask.gradient(x)
        return ask.batch(ask.sample(rng, self.snapshot), x)
