"""One call of condg, held to exact line search.

condg(l, u, lambda, eta) ends where the Frank-Wolfe gap of <l, x> + |x - u|^2/(2 lambda) is at most
eta. What it returns is not determined by that, so each answer's gap is computed anew; where the
answer is that of exact line search, its linear minimisations are, too.
"""

import math
from dataclasses import dataclass

import numpy as np

from pfbench.base.arrays import Floats
from pfbench.problems.base import FiniteSum

_SAME = 1e-6
"""Answers of condg this near to those of exact line search are taken for them."""

_FOLLOWED = 300
"""Steps for which exact line search is followed."""


@dataclass(frozen=True)
class Inner:
    """One call of condg: l, u, lambda, eta, and what it returned."""

    problem: FiniteSum
    l: Floats  # noqa: E741
    u: Floats
    lam: float
    eta: float
    answer: Floats

    @property
    def gap(self) -> float:
        """The gap at the answer, over eta."""
        return self._gap(self.answer)[0] / self.eta

    @property
    def calls(self) -> int | None:
        """The linear minimisations that exact line search needs; None if it went elsewhere.

        An answer elsewhere on its path is line search's that does not stop where it must.
        """
        x, needed, passed = self.u, 0, False
        for calls in range(1, _FOLLOWED):
            gap, v = self._gap(x)
            passed = passed or float(np.abs(x - self.answer).max()) <= _SAME
            if gap <= self.eta and not needed:
                needed = calls
            if needed and passed:
                return needed
            d = v - x
            length = float(d @ d)
            if gap <= 0.0 or length == 0.0:
                return None
            x = x + min(1.0, gap * self.lam / length) * d
        return None

    @property
    def most(self) -> float:
        """The most linear minimisations, 1 + ceil(6 D^2/(lambda eta)) (Jaggi 2013 theorem 2)."""
        return 1.0 + math.ceil(6.0 * self.problem.set.diameter**2 / (self.lam * self.eta))

    def _gap(self, x: Floats) -> tuple[float, Floats]:
        g = self.l + (x - self.u) / self.lam
        v = self.problem.lo(g)
        return float(g @ (x - v)), v
