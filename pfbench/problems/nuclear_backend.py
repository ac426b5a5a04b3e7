"""What answers the oracles of one run over the nuclear-norm ball, whatever the sum is."""

from typing import Any, Generic, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from pfbench.points import RankOne
from pfbench.sets import NuclearBall

Floats = npt.NDArray[np.float64]


class OverNuclearBall(Protocol):
    """A problem over the nuclear-norm ball."""

    @property
    def n(self) -> int:
        """Number of components."""

    @property
    def set(self) -> NuclearBall:
        """The ball."""

    @property
    def tolerance(self) -> float:
        """Relative residual at which a run's linear minimisation stops."""

    def gradient(self, x: Any) -> Floats:
        """Return the gradient at x."""

    def value(self, x: Any) -> float:
        """Return f(x)."""

    def prox(self, x: Any, g: Any, lam: float) -> Any:
        """Return the projection of x - lam g onto the ball."""


Owner = TypeVar("Owner", bound=OverNuclearBall)


class NuclearBackend(Generic[Owner]):
    """The oracles that ask the problem alone, and the linear minimisation with its warm start."""

    def __init__(self, problem: Owner, rng: np.random.Generator) -> None:
        self.n = problem.n
        self._problem = problem
        self._minimiser = problem.set.minimiser(rng, problem.tolerance)

    def gradient(self, x: Any) -> Floats:
        """Return the problem's gradient at x."""
        return self._problem.gradient(x)

    def value(self, x: Any) -> float:
        """Return f(x)."""
        return self._problem.value(x)

    def lo(self, g: Any) -> RankOne:
        """Return -radius times the leading singular pair of a gradient."""
        return self._minimiser.lo(g)

    def prox(self, x: Any, g: Any, lam: float) -> Any:
        """Return the projection of x - lam g onto the ball."""
        return self._problem.prox(x, g, lam)
