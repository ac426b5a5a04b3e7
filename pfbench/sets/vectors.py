"""Base class of sets of vectors: size, checks and unit vertices."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pfbench.base.arrays import Floats
from pfbench.base.checks import check_integer, check_real
from pfbench.base.errors import DivergedError
from pfbench.base.parameters import parameter
from pfbench.sets.body import VectorConvexBody


def check_finite_winner(g: Floats, index: int) -> int:
    """Return the index of the winning entry of g; raise if that entry is not finite."""
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
        """Exact: the distance of a vertex and its negative, 2 radius."""
        return 2.0 * self.radius

    def start(self) -> Floats:
        """Return the fixed start point: 0 where it is in the set, else a vertex."""
        return np.zeros(self.d)
