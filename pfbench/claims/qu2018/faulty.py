"""NCGS with places where a fault can be planted."""

from collections.abc import Iterator

import numpy as np

from pfbench.algorithms.sliding import NCGS, condg
from pfbench.base.protocols import Asked, Gradient, Point, State
from pfbench.points import combine, keep, shift


class Faulty(NCGS):
    """NCGS with the places where a fault can be planted; as it is, it has none."""

    def inner(self, ask: Asked, l: Gradient, u: Point, lam: float) -> Point:  # noqa: E741
        """Return what condg returns."""
        return condg(ask, l, u, lam, self.eta)

    def gradient(self, ask: Asked, md: Point, ag: Point, first: Gradient | None) -> Gradient:
        """Return the gradient; `first` is the one of the first iteration."""
        return ask.gradient(md)

    def first_ag(self, md: Point, before: Point, theta: Point, ratio: float) -> Point:
        """Return theta_ag of option I; theta has moved from `before`, `ratio` is beta/lambda."""
        return shift(md, theta, before, ratio)

    def second_ag(self, ask: Asked, g: Gradient, md: Point, ag: Point) -> Point:
        """Return theta_ag of option II, after `ag`."""
        return self.inner(ask, g, md, 0.5 / self.smoothness)

    def run(self, ask: Asked, x: Point, rng: np.random.Generator) -> Iterator[State]:
        """As `NCGS.run`."""
        beta = 1.0 / (2.0 * self.smoothness)
        theta, ag = keep(x), keep(x)
        first: Gradient | None = None
        for k in range(1, self.iterations + 1):
            md = combine(ag, theta, 2.0 / (k + 1.0))
            g = self.gradient(ask, md, ag, first)
            first = g if first is None else first
            lam = beta if self.option == 1 else k * beta / 2.0
            before, theta = theta, self.inner(ask, g, theta, lam)
            if self.option == 1:
                ag = self.first_ag(md, before, theta, beta / lam)
            else:
                ag = self.second_ag(ask, g, md, ag)
            yield State(ag, md, g)
