"""Balls of the l1, l2 and l-infinity norms around 0, and the simplex."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from pfbench.base.arrays import Floats, LowerUpper, norm
from pfbench.base.checks import check_integer, check_real
from pfbench.base.errors import DivergedError
from pfbench.base.parameters import parameter
from pfbench.sets.body import (
    VectorConvexBody,
    as_possibly_nonfinite_gradient,
    check_gradient,
    check_projectable,
    is_point,
)
from pfbench.sets.norms import NormBall


def check_extreme_entry_is_finite(g: Floats, index: int) -> int:
    """Return `index`, the position of an extreme entry of g; raise if this entry is not finite."""
    if not np.isfinite(g[index]):
        raise DivergedError(
            "the gradient passed to the linear minimisation has NaN or infinite entries"
        )
    return index


@dataclass(frozen=True)
class VectorSet(VectorConvexBody):
    """A convex compact set of vectors of length `d`, scaled by `radius`.

    Raises
    ------
    InputError
        If d is below 1 or the radius is not positive and finite.
    """

    source: ClassVar[str] = "Jaggi 2013 section 4"
    has_projection: ClassVar[bool] = True

    d: int
    radius: float = parameter(1.0, "size of the set, positive")

    def __post_init__(self) -> None:
        check_integer("d", self.d, minimum=1)
        check_real("radius", self.radius, above=0.0)

    @property
    def diameter(self) -> float:
        """Exact diameter 2 * radius, the distance between a vertex and its negative."""
        return 2.0 * self.radius

    def start(self) -> Floats:
        """Return the fixed start point: 0 if it is in the set, else a vertex."""
        return np.zeros(self.d)


def project_simplex(y: Floats, radius: float) -> Floats:
    """Return the Euclidean projection of y onto the simplex of nonnegative vectors of sum radius.

    The algorithm sorts y in O(d log d): Held, Wolfe, Crowder, "Validation of subgradient
    optimization" (1974).
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
        """Exact diameter radius * sqrt(2), the distance between two vertices (0 if d = 1)."""
        return self.radius * float(np.sqrt(2.0)) if self.d > 1 else 0.0

    def lo(self, g: Floats) -> Floats:
        """Return radius times the unit vector e_i, where g_i is the smallest entry of g.

        Ties are resolved to the lowest index.
        """
        g = as_possibly_nonfinite_gradient(g, self.shape)
        return self._fill_vector(check_extreme_entry_is_finite(g, int(np.argmin(g))), self.radius)

    def minimum(self, g: Floats) -> LowerUpper:
        """Return equal lower and upper bounds of the minimum of <g, v>: radius * min_i g_i."""
        value = self.radius * float(check_gradient(g, self.shape).min())
        return value, value

    def project(self, y: Floats) -> Floats:
        """Return the Euclidean projection of y onto the simplex."""
        return project_simplex(check_projectable(y, self.shape), self.radius)

    def contains(self, x: Any, tolerance: float = 1e-9) -> bool:
        """Return whether x is nonnegative and sums to radius, within tolerance * radius."""
        slack = tolerance * self.radius
        return is_point(x, self.shape) and bool(
            x.min() >= -slack and abs(float(x.sum()) - self.radius) <= slack
        )

    def random_vertex(self, rng: np.random.Generator) -> Floats:
        """Return a vertex drawn uniformly at random."""
        return self._fill_vector(int(rng.integers(self.d)), self.radius)

    def start(self) -> Floats:
        """Return the vertex radius * e_1."""
        return self._fill_vector(0, self.radius)


class L1Ball(VectorSet, NormBall):
    """Vectors of length d whose absolute entries sum to at most `radius`."""

    name = "l1"
    summary = "vectors whose moduli sum to at most radius"
    polytope = True
    zeta: ClassVar[float] = 1.0

    @property
    def omega(self) -> float:
        """Exact maximum sqrt(d) of |x|_1/|x|_2, reached where all |x_i| are equal."""
        return math.sqrt(self.d)

    def norm(self, x: Floats) -> float:
        """Return the l1 norm of x."""
        return float(np.abs(x).sum())

    def lo(self, g: Floats) -> Floats:
        """Return -radius * sign(g_i) e_i, where g_i is the entry of g of largest absolute value."""
        g = as_possibly_nonfinite_gradient(g, self.shape)
        index = check_extreme_entry_is_finite(g, int(np.argmax(np.abs(g))))
        return self._fill_vector(index, -math.copysign(self.radius, g[index]))

    def minimum(self, g: Floats) -> LowerUpper:
        """Return equal lower and upper bounds of the minimum of <g, v>: -radius * max_i |g_i|."""
        value = -self.radius * float(np.abs(check_gradient(g, self.shape)).max())
        return value, value

    def project(self, y: Floats) -> Floats:
        """Return the Euclidean projection of y onto the ball."""
        y = check_projectable(y, self.shape)
        size = np.abs(y)
        if size.sum() <= self.radius:
            return y.copy()
        return np.copysign(project_simplex(size, self.radius), y)

    def random_vertex(self, rng: np.random.Generator) -> Floats:
        """Return a vertex drawn uniformly at random."""
        sign = 1.0 if rng.integers(2) else -1.0
        return self._fill_vector(int(rng.integers(self.d)), sign * self.radius)


class L2Ball(VectorSet, NormBall):
    """Vectors of length d with Euclidean norm at most `radius`; every boundary point is extreme."""

    name = "l2"
    summary = "vectors of Euclidean norm at most radius"
    zeta: ClassVar[float] = 1.0
    omega: ClassVar[float] = 1.0

    def norm(self, x: Floats) -> float:
        """Return the Euclidean norm of x."""
        return float(np.linalg.norm(x))

    def lo(self, g: Floats) -> Floats:
        """Return the vertex -radius * g/|g|, or radius * e_1 if g is 0."""
        g = as_possibly_nonfinite_gradient(g, self.shape)
        largest = float(np.abs(g).max())
        if not math.isfinite(largest):
            raise DivergedError(
                "the gradient passed to the linear minimisation has NaN or infinite entries"
            )
        if largest == 0.0:
            return self._fill_vector(0, self.radius)
        scaled = g / largest
        return (-self.radius / norm(scaled)) * scaled

    def minimum(self, g: Floats) -> LowerUpper:
        """Return equal lower and upper bounds of the minimum of <g, v>: -radius * |g|_2."""
        g = check_gradient(g, self.shape)
        largest = float(np.abs(g).max())
        if largest == 0.0:
            return 0.0, 0.0
        value = -self.radius * largest * norm(g / largest)
        return value, value

    def project(self, y: Floats) -> Floats:
        """Return the Euclidean projection of y onto the ball."""
        y = check_projectable(y, self.shape)
        largest = float(np.abs(y).max())
        if largest == 0.0:
            return y.copy()
        length = largest * norm(y / largest)
        return y.copy() if length <= self.radius else self.lo(-y)


class LinfBall(VectorSet, NormBall):
    """Vectors of length d with every entry in [-radius, radius]."""

    name = "linf"
    summary = "vectors with every modulus at most radius"
    polytope = True
    omega: ClassVar[float] = 1.0

    @property
    def zeta(self) -> float:
        """Exact maximum sqrt(d) of |x|_1/|x|_2; the l1 norm is the dual norm of l-infinity."""
        return math.sqrt(self.d)

    def norm(self, x: Floats) -> float:
        """Return the largest absolute value of an entry of x."""
        return float(np.abs(x).max())

    @property
    def diameter(self) -> float:
        """Exact diameter 2 * radius * sqrt(d)."""
        return 2.0 * self.radius * math.sqrt(self.d)

    def lo(self, g: Floats) -> Floats:
        """Return the vertex -radius * sign(g), with radius in the entries where g is 0."""
        g = as_possibly_nonfinite_gradient(g, self.shape)
        check_extreme_entry_is_finite(g, int(np.argmax(np.abs(g))))
        return np.where(g > 0.0, -1.0, 1.0) * self.radius

    def lo_zero_if_undetermined(self, g: Any) -> Floats:
        """Return -radius * sgn(g), with 0 in the entries where g is 0."""
        return np.asarray(-self.radius * np.sign(check_gradient(g, self.shape)))

    def minimum(self, g: Floats) -> LowerUpper:
        """Return equal lower and upper bounds of the minimum of <g, v>: -radius * |g|_1."""
        value = -self.radius * float(np.abs(check_gradient(g, self.shape)).sum())
        return value, value

    def project(self, y: Floats) -> Floats:
        """Return the Euclidean projection of y: each entry is clipped to [-radius, radius]."""
        return np.clip(check_projectable(y, self.shape), -self.radius, self.radius)

    def random_vertex(self, rng: np.random.Generator) -> Floats:
        """Return a vertex drawn uniformly at random."""
        return np.where(rng.integers(2, size=self.d) == 1, 1.0, -1.0) * self.radius
