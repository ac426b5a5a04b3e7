"""The whole space of vectors or of matrices, for unconstrained problems."""

import math
from typing import Any, ClassVar, Never

import numpy as np

from pfbench.base.arrays import Floats
from pfbench.base.errors import RefusedError
from pfbench.sets.balls import VectorSet
from pfbench.sets.body import ConvexBody, is_point
from pfbench.sets.matrix_balls import MatrixBall


class _WholeSpaceBase(ConvexBody):
    """Base class of the whole space, which has no constraint."""

    name: ClassVar[str] = "none"
    source: ClassVar[str] = "no constraint"

    @property
    def diameter(self) -> float:
        """Diameter of the whole space, which is infinite."""
        return math.inf

    def lo(self, g: Floats) -> Never:
        """Raise RefusedError: a linear function has no minimum on the whole space."""
        raise RefusedError("linear minimisation needs a feasible set: choose one, as in set=l1.")

    def minimum(self, g: Floats) -> Never:
        """Raise RefusedError: a linear function has no minimum on the whole space."""
        raise RefusedError("a linear function has no minimum without a feasible set.")

    def project(self, y: Floats) -> Floats:
        """Return y, which is its own projection."""
        return y

    def contains(self, x: Any, tolerance: float = 1e-9) -> bool:
        """Return whether x is a finite array of the set's shape."""
        return is_point(x, self.shape)

    def random_vertex(self, rng: np.random.Generator) -> Never:
        """Raise RefusedError: the whole space has no vertex."""
        raise RefusedError("the whole space has no vertex.")


class WholeSpace(_WholeSpaceBase, VectorSet):
    """The space of vectors of length d; `radius` has no effect."""


class WholeMatrices(_WholeSpaceBase, MatrixBall):
    """The space of M x N matrices; `radius` has no effect."""

    points: ClassVar[str] = "matrices"
    max_norm: ClassVar[float] = math.inf
