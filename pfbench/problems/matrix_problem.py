"""Base class of problems over a set of dense matrices."""

from abc import abstractmethod

import numpy as np

from pfbench.base.checks import check_real
from pfbench.base.constants import Constants
from pfbench.base.errors import InputError
from pfbench.base.protocols import Backend
from pfbench.problems.base import BackendWithStatefulLmo, FiniteSum
from pfbench.sets.body import ConvexBody
from pfbench.sets.nuclear import NuclearBall


class MatrixProblem(FiniteSum):
    """Finite sum over a set of M x N matrices: points and gradients are arrays.

    Over the nuclear-norm ball, a run's linear minimisation starts each call near the last vertex.
    """

    set: ConvexBody
    tolerance: float
    """Relative residual at which a run's linear minimisation over the nuclear-norm ball stops."""

    @property
    @abstractmethod
    def shape(self) -> tuple[int, int]:
        """(M, N)."""

    def _check_set(self) -> None:
        """Raise for a tolerance out of range, or a set of points of another shape."""
        check_real("tolerance", self.tolerance, above=0.0, upper=1.0)
        if self.set.shape != self.shape:
            raise InputError(
                f"the set has points of shape {self.set.shape}, and the problem has points of "
                f"shape {self.shape}: make them equal."
            )

    def open(self, rng: np.random.Generator) -> Backend:
        """Return the oracles of a run: the problem, or a backend with warm-started LO."""
        if not isinstance(self.set, NuclearBall):
            return self
        return BackendWithStatefulLmo(self, self.set.make_warm_lmo(rng, self.tolerance).lo)

    def _with_set_constants(self, **statement: tuple[float, str]) -> Constants:
        """Return these constants and those that the set determines."""
        exact = "exact" if self.set.diameter_is_exact else "an upper bound"
        return Constants.from_derivations(
            D=(self.set.diameter, f"diameter of the set {self.set.name}, {exact}"),
            M=(self.set.max_norm, f"largest Frobenius norm in the set {self.set.name}"),
            **statement,
        )
