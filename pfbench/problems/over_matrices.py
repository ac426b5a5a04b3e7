"""What the problems over a set of dense matrices share, whatever the sum and the set are."""

from abc import abstractmethod

import numpy as np

from pfbench.base.checks import real
from pfbench.base.constants import Constants
from pfbench.base.errors import InputError
from pfbench.base.protocols import Backend
from pfbench.problems.base import FiniteSum, Opened
from pfbench.sets.body import Body
from pfbench.sets.nuclear import NuclearBall


class OverMatrices(FiniteSum):
    """A finite sum over a set of M x N matrices: points and gradients are arrays.

    Over the nuclear-norm ball, a run's linear minimisation starts each call near the last vertex.
    """

    set: Body
    tolerance: float
    """Relative residual at which a run's linear minimisation over the nuclear-norm ball stops."""

    @property
    @abstractmethod
    def shape(self) -> tuple[int, int]:
        """(M, N)."""

    def _check_set(self) -> None:
        """Refuse a tolerance out of range, and a set of points of another shape."""
        real("tolerance", self.tolerance, above=0.0, most=1.0)
        if self.set.shape != self.shape:
            raise InputError(
                f"the set is of points of shape {self.set.shape}, the problem's have shape "
                f"{self.shape}: make them equal."
            )

    def open(self, rng: np.random.Generator) -> Backend:
        """Return itself, or a backend whose linear minimisation is warm-started."""
        if not isinstance(self.set, NuclearBall):
            return self
        return Opened(self, self.set.minimiser(rng, self.tolerance).lo)

    def _derived(self, **stated: tuple[float, str]) -> Constants:
        """Return these constants and those that the set determines."""
        exact = "exact" if self.set.diameter_is_exact else "an upper bound"
        return Constants.derived(
            D=(self.set.diameter, f"diameter of the set {self.set.name}, {exact}"),
            M=(self.set.largest_norm, f"largest Frobenius norm in the set {self.set.name}"),
            **stated,
        )
