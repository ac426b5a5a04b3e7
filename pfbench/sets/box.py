"""Boxes, and the polytope of sparse sign vectors."""

import math
from dataclasses import MISSING, dataclass
from typing import Any, ClassVar

import numpy as np

from pfbench.base.arrays import Floats
from pfbench.base.checks import check_finite_array, check_integer, check_real
from pfbench.base.errors import InputError
from pfbench.base.parameters import parameter
from pfbench.sets.balls import VectorSet
from pfbench.sets.body import (
    VectorConvexBody,
    as_read_only_copy,
    check_gradient,
    check_projectable,
    is_point,
)


@dataclass(frozen=True, repr=False, eq=False)
class Box(VectorConvexBody):
    """Vectors x of length d with lower <= x <= upper in every entry.

    Parameters
    ----------
    d
        Length of a vector.
    lower, upper
        Bounds: a number for all entries, or an array of shape (d,).

    Raises
    ------
    InputError
        If d is below 1, a bound is not finite, or a lower bound exceeds the upper one.
    """

    name: ClassVar[str] = "box"
    polytope: ClassVar[bool] = True
    summary: ClassVar[str] = "vectors between a lower and an upper bound"
    source: ClassVar[str] = "separable: each entry on its own"
    has_projection: ClassVar[bool] = True

    d: int
    lower: float | Floats = parameter(-1.0, "least value of every entry")
    upper: float | Floats = parameter(1.0, "largest value of every entry")

    def __post_init__(self) -> None:
        check_integer("d", self.d, minimum=1)
        for name in ("lower", "upper"):
            object.__setattr__(self, name, self._check_bound(name, getattr(self, name)))
        crossed = np.flatnonzero(np.broadcast_to(np.greater(self.lower, self.upper), self.shape))
        if crossed.size:
            raise InputError(
                f"lower exceeds upper at entry {crossed[0]} of the box: exchange these bounds."
            )

    def _check_bound(self, name: str, value: Any) -> float | Floats:
        if np.ndim(value) == 0:
            return check_real(name, value.item() if isinstance(value, np.ndarray) else value)
        return as_read_only_copy(check_finite_array(name, value, shape=self.shape))

    @property
    def diameter(self) -> float:
        """Exact diameter, the Euclidean norm of upper - lower."""
        return float(
            np.linalg.norm(np.broadcast_to(np.subtract(self.upper, self.lower), (self.d,)))
        )

    def lo(self, g: Any) -> Floats:
        """Return the vertex v that minimises <g, v>: `lower` where g > 0, else `upper`.

        It takes O(d).
        """
        return np.where(check_gradient(g, self.shape) > 0.0, self.lower, self.upper)

    def project(self, y: Any) -> Floats:
        """Return the Euclidean projection of y: each entry is clipped to its bounds, in O(d)."""
        return np.clip(check_projectable(y, self.shape), self.lower, self.upper)

    def contains(self, x: Any, tolerance: float = 1e-9) -> bool:
        """Return whether x is within the bounds, up to a tolerance.

        The absolute tolerance is `tolerance` times the largest absolute value of a bound.
        """
        slack = tolerance * float(max(np.abs(self.lower).max(), np.abs(self.upper).max()))
        return is_point(x, self.shape) and bool(
            (x >= self.lower - slack).all() and (x <= self.upper + slack).all()
        )

    def random_vertex(self, rng: np.random.Generator) -> Floats:
        """Return a vertex drawn uniformly at random."""
        return np.where(rng.integers(2, size=self.d) == 1, self.upper, self.lower)

    def start(self) -> Floats:
        """Return 0 if it is in the box, else the vertex of all lower bounds."""
        zero = np.zeros(self.d)
        return zero if self.contains(zero, 0.0) else np.where(True, self.lower, zero)


@dataclass(frozen=True)
class KSparsePolytope(VectorSet):
    """Convex hull of the vectors with k entries +-radius and zeros elsewhere.

    It is the intersection of two balls: the l1 ball of radius k radius, and the l-infinity ball of
    radius `radius`.

    Parameters
    ----------
    d
        Length of a vector.
    radius
        Modulus of a vertex's entries.
    k
        Number of nonzero entries of a vertex, at most d.

    Raises
    ------
    InputError
        If d or k is out of range, or the radius is not positive and finite.
    """

    name = "k-sparse"
    polytope = True
    summary = "convex hull of the vectors with k entries +-radius and 0 elsewhere"
    source = "Argyriou, Foygel, Srebro 2012; Jaggi 2013 section 4"

    k: int = parameter(MISSING, "number of nonzero entries of a vertex", kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        if check_integer("k", self.k, minimum=1) > self.d:
            raise InputError(f"k={self.k} must be at most d={self.d}.")

    @property
    def diameter(self) -> float:
        """Exact diameter 2 * radius * sqrt(k), the distance between a vertex and its negative."""
        return 2.0 * self.radius * math.sqrt(self.k)

    def lo(self, g: Floats) -> Floats:
        """Return the vertex with -radius * sign(g_i) at the k entries of g of largest modulus.

        Ties go to the lowest index. Where a chosen entry of g is 0, the vertex has +radius. It
        takes O(d).
        """
        size = np.abs(check_gradient(g, self.shape))
        threshold = np.partition(size, self.d - self.k)[self.d - self.k]
        chosen = size > threshold
        ties = np.flatnonzero(size == threshold)
        chosen[ties[: self.k - int(np.count_nonzero(chosen))]] = True
        return np.where(chosen, np.where(g > 0.0, -self.radius, self.radius), 0.0)

    def project(self, y: Floats) -> Floats:
        """Return the Euclidean projection of y onto the polytope.

        It subtracts one number from the moduli of y, and clips the differences to [0, radius]. A
        binary search among the breakpoints finds this number, exactly up to rounding, in O(d log
        d).
        """
        y = check_projectable(y, self.shape)
        size = np.abs(y)
        if np.clip(size, 0.0, self.radius).sum() <= self.k * self.radius:
            return np.clip(y, -self.radius, self.radius)
        # The k-th largest modulus is within radius of the solution: shifted to it, huge entries
        # stay exact.
        shifted = size - np.partition(size, self.d - self.k)[self.d - self.k]
        return np.copysign(self._soft_clip(shifted), y)

    def _soft_clip(self, moduli: Floats) -> Floats:
        """Return clip(moduli - tau, 0, radius) for the tau that makes the sum k * radius."""
        r, total = self.radius, self.k * self.radius
        reach = moduli - r
        breaks = np.sort(np.concatenate([moduli, reach]))
        low, high = 0, breaks.size - 1  # the sum falls along the breaks, from d radius to 0
        while high - low > 1:
            middle = (low + high) // 2
            if np.clip(moduli - breaks[middle], 0.0, r).sum() >= total:
                low = middle
            else:
                high = middle
        # Up to the next break these entries fall with tau, and those at radius stay there.
        rest = moduli - breaks[low]
        falling = (moduli > breaks[low]) & (reach <= breaks[low])
        count = int(np.count_nonzero(falling))
        full = int(np.count_nonzero(reach > breaks[low]))
        tau = (float(rest[falling].sum()) - (self.k - full) * r) / count if count else 0.0
        return np.asarray(np.clip(rest - tau, 0.0, r))

    def contains(self, x: Any, tolerance: float = 1e-9) -> bool:
        """Return whether |x|_1 <= k * radius and all |x_i| <= radius, with relative tolerance."""
        if not is_point(x, self.shape):
            return False
        size, factor = np.abs(x), 1.0 + tolerance
        return bool(size.max() <= self.radius * factor) and bool(
            size.sum() <= self.k * self.radius * factor
        )

    def random_vertex(self, rng: np.random.Generator) -> Floats:
        """Return a vertex drawn uniformly at random."""
        vertex = np.zeros(self.d)
        chosen = rng.choice(self.d, size=self.k, replace=False)
        vertex[chosen] = np.where(rng.integers(2, size=self.k) == 1, self.radius, -self.radius)
        return vertex
