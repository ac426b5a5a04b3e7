"""What problems over vectors share whose oracles are exact and have no state."""

from collections.abc import Mapping
from typing import Protocol, Self

import numpy as np
import numpy.typing as npt

from pfbench.base.protocols import FeasibleSet, Measure

Floats = npt.NDArray[np.float64]


class Constrained(Protocol):
    """What has a feasible set."""

    @property
    def set(self) -> FeasibleSet:
        """The feasible set."""


class Stateless:
    """A problem that is its own backend, and whose set answers what is asked of the set alone."""

    def open(self, rng: np.random.Generator) -> Self:
        """Return itself: every oracle is exact and has no state."""
        return self

    def measures(self) -> Mapping[str, Measure]:
        """Return no measures beyond the common ones."""
        return {}

    def lo(self: Constrained, g: Floats) -> Floats:
        """Return a vertex of the set that minimises <g, v>; refused where there is no set."""
        return np.asarray(self.set.lo(g))

    def minimum(self: Constrained, g: Floats) -> tuple[float, float]:
        """Return the exact minimum of <g, v> over the set, twice; refused where there is none."""
        return self.set.minimum(g)

    def prox(self: Constrained, x: Floats, g: Floats, lam: float) -> Floats:
        """Return the projection of x - lam g onto the set."""
        return np.asarray(self.set.project(x - lam * g))
