"""Wrappers of oracles and problems, by which a planted fault changes one oracle."""

from collections.abc import Callable
from typing import Any

import numpy as np

from pfbench.base.protocols import Gradient, Point


class OverriddenOracles:
    """Base class of wrappers that override some attributes of an object and pass on the others.

    The wrapped object is `_original`. All other attributes are those of this object.
    """

    def __init__(self, reference: Any) -> None:
        self._original = reference

    def __getattr__(self, name: str) -> Any:
        return getattr(self._original, name)


class OverriddenProblem(OverriddenOracles):
    """Copy of a problem, with backend ``change_backend(b)`` for the original's backend b."""

    def __init__(self, reference: Any, change_backend: Callable[[Any], Any]) -> None:
        super().__init__(reference)
        self._answer = change_backend

    def open(self, rng: np.random.Generator) -> Any:
        """Return the original's backend for a run, as changed by the function `answer`."""
        return self._answer(self._original.open(rng))


class FaultyBallProblem(OverriddenOracles):
    """Base class of problems whose norm ball, and the oracle `lo` over it, are faulty."""

    class Ball(OverriddenOracles):
        """Base class of faulty balls; a subclass changes one property or method."""

    @property
    def norm(self) -> Any:
        """Faulty norm ball in place of the problem's own ball."""
        return self.Ball(self._original.norm)

    def lo(self, g: Gradient) -> Point:
        """Return the minimiser of <g, v> over the faulty ball."""
        return self.norm.lo_zero_if_undetermined(g)
