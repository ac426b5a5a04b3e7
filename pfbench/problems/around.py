"""A problem that is another one but for something: with a norm, or on other arrays."""

from collections.abc import Callable, Mapping
from typing import Any

from pfbench.base.arrays import Floats
from pfbench.base.constants import Constants
from pfbench.base.passing import PassedOn
from pfbench.base.protocols import FeasibleSet, Gradient, Measure
from pfbench.problems.base import FiniteSum


class Around(FiniteSum):
    """Another problem, `inner`, but for what a subclass says."""

    inner: FiniteSum
    n = PassedOn[int]("inner")
    set = PassedOn[FeasibleSet]("inner")
    shape = PassedOn[tuple[int, ...]]("inner")
    properties = PassedOn[frozenset[str]]("inner")
    best_known = PassedOn[tuple[float, str] | None]("inner")
    start = PassedOn[Callable[[], Any]]("inner")
    measures = PassedOn[Callable[[], Mapping[str, Measure]]]("inner")
    component_smoothness = PassedOn[Callable[[], Floats]]("inner")

    def constants(self, start: Any) -> Constants:
        """See `FiniteSum.constants`."""
        return self.inner.constants(start)

    def value(self, x: Any) -> float:
        """Return f(x)."""
        return self.inner.value(x)

    def gradient(self, x: Any) -> Gradient:
        """Return the gradient at x."""
        return self.inner.gradient(x)
