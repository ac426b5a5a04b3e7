"""Problem in other units: lambda f(x/mu) over mu C, for a problem f over C."""

from typing import Any

import numpy as np

from pfbench.base.constants import Constants
from pfbench.verification.instruments.overrides import OverriddenOracles, OverriddenProblem
from pfbench.verification.units import STEP, Scaling


class RescaledProblem(OverriddenProblem):
    """Problem in other units: `by` has the factors of the values of f and of the points."""

    def __init__(self, reference: Any, by: Scaling) -> None:
        super().__init__(reference, lambda backend: _RescaledBackend(backend, by))
        self._by = by

    @property
    def inner(self) -> Any:
        """Original problem, before rescaling."""
        return self._original

    def start(self) -> Any:
        """Return the start of the original problem, scaled like all points."""
        return self._original.start() * self._by.x

    def constants(self, start: Any) -> Constants:
        """Return the constants of the rescaled problem at the given start."""
        return self._by.constants(self._original.constants(start / self._by.x))

    @property
    def set(self) -> Any:
        """Scaled feasible set, with its diameter and the method `contains`."""
        return _ScaledSet(self._original.set, self._by)


class _ScaledSet(OverriddenOracles):
    def __init__(self, reference: Any, by: Scaling) -> None:
        super().__init__(reference)
        self._by = by
        self.diameter = reference.diameter * by.x

    def contains(self, x: Any) -> Any:
        """Return whether x, scaled back, is in the original set."""
        return self._original.contains(x / self._by.x)


def _is_point(item: Any) -> bool:
    """Return whether an argument is a point (an array of floats), and not a sample of indices."""
    return isinstance(item, np.ndarray) and item.dtype.kind == "f"


class _RescaledBackend(OverriddenOracles):
    """Wrapper that converts the oracle answers of the original problem to the scaled units.

    It wraps a backend, component Hessians, or a table.
    """

    def __init__(self, reference: Any, by: Scaling) -> None:
        super().__init__(reference)
        self._by, self._g = by, by.f / by.x

    def __getattr__(self, name: str) -> Any:
        result = super().__getattr__(name)
        if name not in ("gradient", "batch", "difference", "product", "replace"):
            return result

        def rescale_answer(*value: Any) -> Any:
            """Return lambda/mu times the answer of f's oracle at the points divided by mu."""
            arguments = (item / self._by.x if _is_point(item) else item for item in value)
            return result(*arguments) * self._g

        return rescale_answer

    @property
    def mean(self) -> Any:
        """Mean of the gradients in a table, converted to the scaled units."""
        return self._original.mean * self._g

    def value(self, x: Any) -> Any:
        """Return the value of the rescaled objective at x."""
        return self._original.value(x / self._by.x) * self._by.f

    def lo(self, g: Any) -> Any:
        """Return a vertex v of the scaled set that minimises <g, v>."""
        return self._original.lo(g / self._g) * self._by.x

    def prox(self, x: Any, g: Any, lam: float) -> Any:
        """Return the proximal map of the rescaled problem at x - lam g."""
        step = lam / self._by.factor(STEP)
        return self._original.prox(x / self._by.x, g / self._g, step) * self._by.x

    def local_lo(self, x: Any, g: Any, radius: float) -> Any:
        """Return the point z of the scaled set within `radius` of x that minimises <g, z>."""
        by = self._by.x
        return self._original.local_lo(x / by, g / self._g, radius / by) * by

    def hessian(self, s: Any) -> Any:
        """Return all component Hessians of the rescaled problem at s."""
        return _RescaledBackend(self._original.hessian(s / self._by.x), self._by)

    def table(self, x: Any) -> Any:
        """Return a table of component gradients of the rescaled problem, filled at x."""
        return _RescaledBackend(self._original.table(x / self._by.x), self._by)
