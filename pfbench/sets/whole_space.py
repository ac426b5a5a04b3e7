"""Whole space, of vectors or of matrices: no constraint."""

import math
from typing import Any, ClassVar

import numpy as np

from pfbench.base.arrays import Floats
from pfbench.base.errors import RefusedError
from pfbench.sets.balls import VectorSet
from pfbench.sets.body import ConvexBody, is_point
from pfbench.sets.matrix_balls import MatrixBall


class _WholeSpaceBase(ConvexBody):
    """Whole space, without any constraint."""

    name: ClassVar[str] = "none"
    source: ClassVar[str] = "no constraint"

    @property
    def diameter(self) -> float:
        """Infinite."""
        return math.inf

    def lo(self, g: Floats) -> Floats:
        """Raise RefusedError: a linear function has no minimum on the whole space."""
        raise RefusedError(
            "there is no linear minimisation without a feasible set: choose set=l1, l2 …"
        )

    def minimum(self, g: Floats) -> tuple[float, float]:
        """Raise RefusedError, as `lo` does."""
        raise RefusedError("a linear function has no minimum without a feasible set.")

    def project(self, y: Floats) -> Floats:
        """Return y itself."""
        return y

    def contains(self, x: Any, tolerance: float = 1e-9) -> bool:
        """Return whether x is a finite array of the shape."""
        return is_point(x, self.shape)

    def random_vertex(self, rng: np.random.Generator) -> Floats:
        """Raise RefusedError: there is no vertex."""
        raise RefusedError("the whole space has no vertex.")


class WholeSpace(_WholeSpaceBase, VectorSet):
    """All vectors of length d; `radius` plays no role."""


class WholeMatrices(_WholeSpaceBase, MatrixBall):
    """All M x N matrices; `radius` plays no role."""

    points: ClassVar[str] = "matrices"
    max_norm: ClassVar[float] = math.inf

    def _has_norm_in_bound(self, x: Floats, tolerance: float) -> bool:
        return True
