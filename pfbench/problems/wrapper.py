"""Wrapper of a problem that changes some of it, e.g. adds a norm or uses other arrays."""

from collections.abc import Callable, Mapping
from typing import Any

from pfbench.base.arrays import Floats
from pfbench.base.constants import Constants
from pfbench.base.parameters import DelegatedAttribute
from pfbench.base.protocols import FeasibleSet, Gradient, Measure
from pfbench.problems.base import FiniteSum
from pfbench.sets.norms import NormBall


class ProblemWrapper(FiniteSum):
    """Problem that delegates to another one, `inner`; a subclass overrides a part."""

    inner: FiniteSum
    n = DelegatedAttribute[int]("inner")
    set = DelegatedAttribute[FeasibleSet]("inner")
    shape = DelegatedAttribute[tuple[int, ...]]("inner")
    properties = DelegatedAttribute[frozenset[str]]("inner")
    best_known = DelegatedAttribute[tuple[float, str] | None]("inner")
    start = DelegatedAttribute[Callable[[], Any]]("inner")
    measures = DelegatedAttribute[Callable[[], Mapping[str, Measure]]]("inner")
    component_smoothness = DelegatedAttribute[Callable[[], Floats]]("inner")

    def constants(self, start: Any) -> Constants:
        """Return the constants of the inner problem."""
        return self.inner.constants(start)

    def smoothness_in_norm(self, norm: NormBall) -> tuple[float, str] | None:
        """Return the bound of L_norm of the inner problem."""
        return self.inner.smoothness_in_norm(norm)

    def value(self, x: Any) -> float:
        """Return f(x)."""
        return self.inner.value(x)

    def gradient(self, x: Any) -> Gradient:
        """Return the gradient at x."""
        return self.inner.gradient(x)
