"""Frank-Wolfe with places where a fault can be planted."""

from collections.abc import Iterator
from itertools import count

import numpy as np

from pfbench.algorithms.frank_wolfe import FrankWolfe
from pfbench.base.protocols import Asked, Gradient, Point, State
from pfbench.points import combine, inner


class Faulty(FrankWolfe):
    """Frank-Wolfe with the places where a fault can be planted; as it is, it has none."""

    def direction(self, history: list[Gradient]) -> Gradient:
        """Return the gradient that is minimised, of those so far."""
        return history[-1]

    def weight(self, ask: Asked, t: int, x: Point, v: Point, gap: float) -> float:
        """Return gamma_t."""
        if self.step == "open-loop":
            return 2.0 / (t + 2.0)
        if self.step == "adaptive":
            return self._short_step(gap)
        return self._line_search(ask, x, v, gap)

    def run(self, ask: Asked, x: Point, rng: np.random.Generator) -> Iterator[State]:
        """As `FrankWolfe.run`."""
        history: list[Gradient] = []
        for t in count() if self.iterations is None else range(self.iterations):
            history.append(ask.gradient(x))
            g = self.direction(history)
            v = ask.lo(g)
            gap = inner(g, x) - inner(g, v)
            at, x = x, combine(x, v, self.weight(ask, t, x, v, gap))
            yield State(x, at, g)
