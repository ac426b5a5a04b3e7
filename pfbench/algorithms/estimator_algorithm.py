"""Base class of methods that compute a gradient estimate and then move along it.

for t = 0 .. T-1:
    g_t = estimate at x_t
    x_{t+1} = move of x_t along g_t
"""

from collections.abc import Iterator
from dataclasses import fields
from typing import Any, ClassVar

import numpy as np

from pfbench.algorithms.base import Algorithm, get_parameters
from pfbench.base.protocols import AlgorithmOracles, Gradient
from pfbench.base.state import Point, State
from pfbench.estimators.base import Estimator, latest_coin
from pfbench.points import combine


class EstimatorAlgorithm(Algorithm):
    """Base class of methods that move along a gradient estimate.

    Attributes
    ----------
    estimator_class
        Class of the gradient estimator, unless a subclass defines `estimator` itself.
    iterations
        Number of iterations, T.
    step
        Weight of the vertex in a Frank-Wolfe step.
    """

    estimator_class: ClassVar[type[Estimator]]

    iterations: int
    step: Any

    @property
    def estimator(self) -> Estimator:
        """Gradient estimator, built with those of its parameters that the method has, by name."""
        names = {field.name for field in fields(self.estimator_class)}
        parameters = {k: value for k, value in get_parameters(self).items() if k in names}
        return self.estimator_class(**parameters)

    @property
    def anytime(self) -> bool:
        """Whether a run needs no horizon: its iterates are independent of `iterations`."""
        return True

    def run(self, ask: AlgorithmOracles, x: Point, rng: np.random.Generator) -> Iterator[State]:
        """Start at x, and yield a state after each update; see the module's pseudo-code."""
        estimate = self.estimator.start(ask, rng)
        for t in range(self.iterations):
            g = estimate(x)
            at, x = x, self.move(ask, x, g, t)
            yield State(x, at, g, coin=latest_coin(estimate))

    def move(self, ask: AlgorithmOracles, x: Point, g: Gradient, t: int) -> Point:
        """Return the next iterate x_{t+1} from the estimate g, by default a Frank-Wolfe step."""
        return combine(x, ask.lo(g), self.step)
