"""One call of condg, checked and compared with exact line search.

condg(l, u, lambda, eta) may return any point at which the Frank-Wolfe gap of phi(x) = <l, x> + |x -
u|^2/(2 lambda) is at most eta. The rule allows many results, so the gap of each result is
recomputed. If the result is that of exact line search, the number of linear minimisations is
determined, too.
"""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pfbench.base.arrays import Floats
from pfbench.problems.base import FiniteSum

_SAME = 1e-6
"""Distance up to which a point returned by condg counts as an iterate of exact line search."""

_FOLLOWED = 300
"""Maximum number of steps for which exact line search is followed."""

_TIE_MARGIN = 1e-12
"""Distance of the starts of two paths of exact line search, about a rounding error: while both are
within `_SAME`, their path is determined; beyond, an answer on the path is within this distance."""


def max_calls(D: float, lam: float, eta: float) -> int:
    """Return an upper bound on the number of linear minimisations that one call of `condg` makes.

    The bound is 1 + ceil(6 D^2/(lambda eta)), which follows from theorem 2 of Jaggi 2013.
    """
    return 1 + math.ceil(6.0 * D * D / (lam * eta) * (1.0 - 1e-12))


@dataclass(frozen=True)
class CondgCall:
    """One call of the subroutine condg: its arguments, and the point that it returned."""

    problem: FiniteSum
    l: Floats  # noqa: E741
    u: Floats
    lam: float
    eta: float
    answer: Floats

    @property
    def exact_line_search_calls(self) -> int | None:
        """Number of linear minimisations of exact line search until the gap is at most `eta`.

        The number is known for a returned point on the path of exact line search, even if it is not
        where the search must stop. The value is None if the path misses the point or is too long,
        or if rounding decides the path.
        """
        return self._replay[0]

    @property
    def is_answer_off_line_search_path(self) -> bool:
        """Whether the returned point is known not to lie on the path of exact line search.

        This is known if the objective falls below its value at that point, or if the search ends.
        """
        return self._replay[1]

    @cached_property
    def _replay(self) -> tuple[int | None, bool]:
        x, needed, passed = self.u, 0, False
        signs = np.resize((1.0, -1.0, -1.0), x.shape)
        aside = x + _TIE_MARGIN * max(1.0, float(np.abs(x).max())) * signs
        sure = True
        for calls in range(1, _FOLLOWED):
            gap, v = self._gap(x)
            deviation = self.answer - x
            sure = sure and float(np.abs(x - aside).max()) <= _SAME
            passed = passed or float(np.abs(deviation).max()) <= (_SAME if sure else _TIE_MARGIN)
            # phi only falls on the way: where it is below the answer's, that is elsewhere.
            below = self._slope(x) @ deviation + deviation @ deviation / (2.0 * self.lam) > 0.0
            if sure and below and not passed:
                return None, True
            if gap <= self.eta and not needed:
                needed = calls
            if needed and passed:
                return needed, False
            if gap <= 0.0 or not (v - x).any():
                return None, sure and not passed
            x = self._point_after_exact_step(x, gap, v)
            aside = self._point_after_exact_step(aside, *self._gap(aside))
        return None, False

    def _point_after_exact_step(self, x: Floats, gap: float, v: Floats) -> Floats:
        """Return the minimiser of the call's quadratic objective on the segment from x to v."""
        d = v - x
        length = float(d @ d)
        return np.asarray(x + min(1.0, gap * self.lam / length) * d) if length > 0.0 else x

    def _slope(self, x: Floats) -> Floats:
        return np.asarray(self.l + (x - self.u) / self.lam)

    def _gap(self, x: Floats) -> tuple[float, Floats]:
        g = self._slope(x)
        v = self.problem.lo(g)
        return float(g @ (x - v)), v
