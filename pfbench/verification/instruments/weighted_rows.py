"""Quadratics on the line with sample weights, from any point and any table of SAGA or SAG."""

from dataclasses import dataclass, field

import numpy as np

from pfbench.base.arrays import Floats
from pfbench.base.sample import Indices, weight_indices
from pfbench.problems.base import FiniteSum
from pfbench.sets.whole_space import WholeSpace


@dataclass(frozen=True, eq=False)
class WeightedRows(FiniteSum):
    """Weighted mean F of one-dimensional quadratics with given curvatures, centres and weights.

    F(x) = sum_i w_i a_i (x - c_i)^2/(2 W), where W is the sum of the w_i. So F is the mean of h_i
    with curvatures n w_i a_i/W.

    Attributes
    ----------
    curvatures, centres, weights
        a_i, c_i and w_i, shape (n,).
    begin
        The start point.
    points
        Points phi_i whose gradients fill the table, shape (n,); the start if not given.
    tables
        The tables of the runs, filled by them.
    """

    name = "weighted-rows"
    set = WholeSpace(1)

    curvatures: Floats
    centres: Floats
    weights: Floats
    begin: float = 1.0
    points: Floats | None = None
    tables: list["PointTable"] = field(default_factory=list)

    @property
    def n(self) -> int:
        """Number of rows, which is the number of components."""
        return len(self.weights)

    def start(self) -> Floats:
        """Return the start point, shape (1,)."""
        return np.array([self.begin])

    def component_smoothness(self) -> Floats:
        """Return the smoothness constants of the components, shape (n,): their curvatures."""
        return np.asarray(self.curvatures * self.weights / self.weights.mean())

    def gradients(self, x: Floats) -> Floats:
        """Return the gradient of each component i, at x_i or at a common point x; shape (n,)."""
        return np.asarray(self.component_smoothness() * (x - self.centres))

    def value(self, x: Floats) -> float:
        """Return the weighted mean F of the quadratics at x."""
        return float((self.gradients(x) * (x - self.centres)).mean() / 2.0)

    def gradient(self, x: Floats) -> Floats:
        """Return the gradient of the weighted mean F at x, shape (1,)."""
        return np.array([self.gradients(x).mean()])

    def component(self, i: int, x: Floats) -> Floats:
        """Return the gradient of component i at x, shape (1,)."""
        return self.gradients(x)[i : i + 1]

    def table(self, x: Floats) -> "PointTable":
        """Return a table of the component gradients at `points`, or at x if `points` is None."""
        points = np.full(self.n, x[0]) if self.points is None else self.points.copy()
        self.tables.append(PointTable(self, self, points))
        return self.tables[-1]


@dataclass(frozen=True, eq=False)
class PointTable:
    """Table of stored component gradients, which also keeps the points where they were computed.

    Attributes
    ----------
    rows, mean_rows
        The rows whose gradients are compared, and those whose gradients have the mean.
    points
        phi_i, shape (n,).
    """

    rows: WeightedRows
    mean_rows: WeightedRows
    points: Floats

    @property
    def mean(self) -> Floats:
        """Mean of the stored gradients, shape (1,)."""
        return np.array([self.mean_rows.gradients(self.points).mean()])

    def difference(self, sample: Indices, x: Floats) -> Floats:
        """Return the mean, over the sample, of new minus stored component gradients, shape (1,)."""
        indices, weights = weight_indices(sample)
        change = self.rows.gradients(x) - self.rows.gradients(self.points)
        return np.array([weights @ change[indices]])

    def replace(self, sample: Indices, x: Floats) -> Floats:
        """Store the sampled components' gradients at x; return their mean change, shape (1,)."""
        change = self.difference(sample, x)
        self.points[weight_indices(sample)[0]] = x[0]
        return change
