"""The Birkhoff polytope: doubly stochastic matrices."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy

from pfbench.base.arrays import Floats, Integers
from pfbench.base.checks import check_integer
from pfbench.sets.body import ConvexBody, check_gradient, is_point, scale_to_unit


@dataclass(frozen=True, repr=False, eq=False)
class BirkhoffPolytope(ConvexBody):
    """Doubly stochastic m x m matrices: the convex hull of the permutation matrices.

    Raises
    ------
    InputError
        If m is below 1.
    """

    name: ClassVar[str] = "birkhoff"
    polytope: ClassVar[bool] = True
    summary: ClassVar[str] = "doubly stochastic matrices: convex hull of the permutation matrices"
    source: ClassVar[str] = "Birkhoff 1946; Crouse 2016 (linear assignment)"
    points: ClassVar[str] = "square matrices"

    m: int

    def __post_init__(self) -> None:
        check_integer("m", self.m, minimum=1)

    @property
    def shape(self) -> tuple[int, int]:
        """(m, m)."""
        return self.m, self.m

    @property
    def diameter(self) -> float:
        """Exact: the distance of two permutations that agree nowhere, sqrt(2m) (0 if m = 1)."""
        return math.sqrt(2.0 * self.m) if self.m > 1 else 0.0

    @property
    def max_norm(self) -> float:
        """Exact, that of a vertex: sqrt(m)."""
        return math.sqrt(self.m)

    def lo(self, g: Any) -> Floats:
        """Return the matrix of a perfect matching of least cost g, shape (m, m); O(m^3).

        Ties are resolved in the same way each time (for g = 0, by the identity).
        """
        scaled, _ = scale_to_unit(check_gradient(g, self.shape))
        return self._vertex(scipy.optimize.linear_sum_assignment(scaled)[1])

    def contains(self, x: Any, tolerance: float = 1e-9) -> bool:
        """Return whether no entry is negative and rows and columns sum to 1, up to tolerance."""
        return is_point(x, self.shape) and bool(
            x.min() >= -tolerance
            and np.abs(x.sum(axis=0) - 1.0).max() <= tolerance
            and np.abs(x.sum(axis=1) - 1.0).max() <= tolerance
        )

    def random_vertex(self, rng: np.random.Generator) -> Floats:
        """Return a uniformly random permutation matrix."""
        return self._vertex(rng.permutation(self.m))

    def start(self) -> Floats:
        """Return the identity: 0 is not in the set."""
        return np.eye(self.m)

    def _vertex(self, columns: Integers) -> Floats:
        vertex = np.zeros(self.shape)
        vertex[np.arange(self.m), columns] = 1.0
        return vertex
