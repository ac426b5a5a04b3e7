"""Linear minimisation over a nuclear ball to an accuracy relative to the Frank-Wolfe gap.

At a point x, let d = <g, x - v> be the gap along a vertex v, and let e be the gap along an exact
minimiser. Suppose that e <= (1 + k) d in each step of Frank-Wolfe with step sizes w_t. Then, for f
of curvature C, convex or not,

    sum_t w_t e_t <= (1 + k) (f(x_0) - min f + C/2 sum_t w_t^2),

by summing f(x_{t+1}) <= f(x_t) - w_t d_t + w_t^2 C/2, which is the definition of C. The bound is
1 + k times that of an exact minimisation in Lacoste-Julien 2016. This is the inexact minimisation
of Jaggi 2013 with an error of at most k d_t. Jaggi allows an error proportional to the step size
times C instead, but C is not known. The factor 1 + k is derived by pfbench.

The singular pair is computed to a residual of at most 2 k d/radius. If it is the leading pair, then
e <= (1 + k) d. This is a heuristic, as is a fixed tolerance: only a certificate excludes another
leading pair. Measured gaps are certified separately. The vertex is formed from the left vector u of
the pair and from the direction of g'u. This only increases d, and the next minimisation starts
nearer to its solution.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from pfbench.base.errors import StalePoint
from pfbench.base.state import Point
from pfbench.points import FactoredMatrix, RankOne
from pfbench.points.operations import inner
from pfbench.points.operators import LinearOperator
from pfbench.problems.base import BackendWithStatefulLmo, FiniteSum
from pfbench.sets.lanczos import GapResidualLimit
from pfbench.sets.nuclear import NuclearLmo


class GapAccuracyBackend(BackendWithStatefulLmo):
    """Oracles of one run; the error of linear minimisation is relative to the Frank-Wolfe gap.

    The gap is the Frank-Wolfe gap at the point of the last gradient, batch or difference. Without
    such a point, and for a gradient that `tilt` returned, only the minimiser's own tolerance
    applies.

    Parameters
    ----------
    problem
        Source of all answers but `lo`.
    operator
        Function that returns a gradient of the problem as a matrix.
    minimiser
        Linear minimisation over the problem's set.
    share
        Relative error of the gap along the vertex, k above.
    """

    def __init__(
        self,
        problem: FiniteSum,
        operator: Callable[[Any], LinearOperator],
        minimiser: NuclearLmo,
        share: float,
    ) -> None:
        super().__init__(problem, self._vertex)
        self._problem, self._operator = problem, operator
        self._minimiser, self._share, self._radius = minimiser, share, minimiser.radius
        self._last_point: Point | None = None
        self.gradient, self.batch, self.difference = self._gradient, self._batch, self._difference

    def _gradient(self, x: Any) -> Any:
        self._last_point = x
        return self._problem.gradient(x)

    def _batch(self, sample: Any, x: Any) -> Any:
        self._last_point = x
        return self._problem.batch(sample, x)

    def _difference(self, sample: Any, x: Any, y: Any) -> Any:
        self._last_point = x
        return self._problem.difference(sample, x, y)

    def _vertex(self, g: Any) -> RankOne:
        return self._minimiser.lo(self._operator(g), self._take_gap_share_of_last_point(g))

    def _take_gap_share_of_last_point(self, g: Any) -> GapResidualLimit | None:
        """Return a stopping rule relative to the gap at the last point, and forget that point.

        Return None if that gap is not available. With a residual r, sigma^2 is within r sigma of
        an eigenvalue of g'g. If that eigenvalue is the largest one, sigma is within r/2 of the
        largest singular value.
        """
        x, self._last_point = self._last_point, None
        if not (isinstance(x, FactoredMatrix) and isinstance(g, np.ndarray)):
            return None
        try:
            reading = x.entry_view()
        except StalePoint:
            return None
        twice, weight = 2.0 * self._share, 1.0 / self._radius
        if reading.b == 0.0:  # After its gradient no step of x is left to apply.
            return GapResidualLimit(twice, 0.0, weight * reading.a, reading.values)
        return GapResidualLimit(twice, weight * inner(g, x))
