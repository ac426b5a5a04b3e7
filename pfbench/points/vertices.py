"""Vertices that are cheaper than a dense array."""

from dataclasses import dataclass

import numpy as np

from pfbench.base.arrays import Floats
from pfbench.points.pattern import Pattern


@dataclass(frozen=True, slots=True)
class RankOne:
    """The matrix ``scale * outer(u, v)``: an extreme point of the nuclear-norm ball.

    Attributes
    ----------
    u, v
        Unit vectors, shapes (M,) and (N,).
    scale
        A number; its modulus is the nuclear norm.
    pattern
        The observed entries that gradients are given on; None if gradients are dense matrices.
    """

    u: Floats
    v: Floats
    scale: float
    pattern: Pattern | None = None

    def matrix(self) -> Floats:
        """Return the dense matrix, shape (M, N)."""
        return self.scale * np.outer(self.u, self.v)
