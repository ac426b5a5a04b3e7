"""Base class of problems with one component."""

from abc import abstractmethod
from collections.abc import Callable
from typing import ClassVar

from pfbench.base.arrays import Floats
from pfbench.base.sample import Indices
from pfbench.problems.base import ComponentHessiansAtPoint, FiniteSum, index_weights

Operator = Callable[[Floats], Floats]
"""Symmetric matrix as a function that multiplies a vector by it."""


class SingleComponent(FiniteSum):
    """Problem f = f_1, with the Hessian as an operator."""

    n: ClassVar[int] = 1

    @property
    def d(self) -> int:
        """Length of a point."""
        return self.shape[0]

    @abstractmethod
    def hessian_operator(self, s: Floats) -> Operator:
        """Return the Hessian at s as an operator."""

    def hessian(self, s: Floats) -> ComponentHessiansAtPoint:
        """Return the Hessian at s."""
        operator = self.hessian_operator(s)

        def apply_hessian(sample: Indices | None, u: Floats) -> Floats:
            if sample is not None:
                index_weights(sample, 1)
            return operator(u)

        return ComponentHessiansAtPoint(apply_hessian)
