"""Scaled unit simplex, and the projection onto it that several sets share."""

from typing import Any

import numpy as np

from pfbench.base.arrays import Floats
from pfbench.sets.body import (
    as_possibly_nonfinite_gradient,
    check_gradient,
    check_projectable,
    is_point,
)
from pfbench.sets.vectors import VectorSet, check_finite_winner


def project_simplex(y: Floats, radius: float) -> Floats:
    """Return the nearest point to y, shape (d,), with nonnegative entries that sum to `radius`.

    Sorting, O(d log d): Held, Wolfe, Crowder, "Validation of subgradient optimization" (1974).
    """
    y = y - y.max()  # a shift along the ones changes nothing, and large entries stay exact
    descending = np.sort(y)[::-1]
    excess = np.cumsum(descending) - radius
    active = descending * np.arange(1, y.size + 1) > excess
    count = int(np.flatnonzero(active)[-1]) + 1 if active.any() else 1
    threshold = excess[count - 1] / count
    x = np.asarray(np.maximum(y - threshold, 0.0))
    # A running sum of many large entries loses digits; what is amiss is shared by those above 0.
    amiss = float(x.sum()) - radius
    if abs(amiss) > 1e-10 * radius:
        x = np.asarray(np.maximum(y - (threshold + amiss / np.count_nonzero(x)), 0.0))
    return x


class Simplex(VectorSet):
    """Nonnegative vectors of length d whose entries sum to `radius`."""

    name = "simplex"
    summary = "nonnegative vectors that sum to radius"
    polytope = True

    @property
    def diameter(self) -> float:
        """Distance of two vertices, radius times sqrt 2 (0 if d = 1)."""
        return self.radius * float(np.sqrt(2.0)) if self.d > 1 else 0.0

    def lo(self, g: Floats) -> Floats:
        """Return radius times the unit vector of the least entry of g; ties to the lowest index."""
        g = as_possibly_nonfinite_gradient(g, self.shape)
        return self._fill_vector(check_finite_winner(g, int(np.argmin(g))), self.radius)

    def minimum(self, g: Floats) -> tuple[float, float]:
        """Return (m, m), m being radius times the smallest entry of g."""
        value = self.radius * float(check_gradient(g, self.shape).min())
        return value, value

    def project(self, y: Floats) -> Floats:
        """Return the nearest point of the simplex."""
        return project_simplex(check_projectable(y, self.shape), self.radius)

    def contains(self, x: Any, tolerance: float = 1e-9) -> bool:
        """Return whether x is nonnegative and sums to radius, up to tolerance * radius."""
        slack = tolerance * self.radius
        return is_point(x, self.shape) and bool(
            x.min() >= -slack and abs(float(x.sum()) - self.radius) <= slack
        )

    def random_vertex(self, rng: np.random.Generator) -> Floats:
        """Return a uniformly random vertex."""
        return self._fill_vector(int(rng.integers(self.d)), self.radius)

    def start(self) -> Floats:
        """Return the first vertex."""
        return self._fill_vector(0, self.radius)
