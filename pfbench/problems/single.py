"""What problems with one component share."""

from abc import abstractmethod
from collections.abc import Callable
from typing import ClassVar

from pfbench.base.arrays import Floats
from pfbench.base.sample import Indices
from pfbench.problems.base import FiniteSum, drawn

Operator = Callable[[Floats], Floats]
"""A symmetric matrix as the function that multiplies a vector by it."""


class SingleComponent(FiniteSum):
    """f = f_1, with the Hessian as an operator."""

    n: ClassVar[int] = 1

    @property
    def d(self) -> int:
        """Length of a point."""
        return self.shape[0]

    @abstractmethod
    def curvature(self, s: Floats) -> Operator:
        """Return the Hessian at s as an operator."""

    def hessian(self, s: Floats) -> "SingleHessian":
        """Return the Hessian at s."""
        return SingleHessian(self.curvature(s))


class SingleHessian:
    """The Hessian of the only component at one point."""

    def __init__(self, operator: Operator) -> None:
        self._operator = operator

    def product(self, x: Floats, y: Floats) -> Floats:
        """Return the Hessian times x - y, shape (d,)."""
        return self._operator(x - y)

    def batch(self, sample: Indices, x: Floats, y: Floats) -> Floats:
        """Return the Hessian times x - y, shape (d,)."""
        drawn(sample, 1)
        return self._operator(x - y)
