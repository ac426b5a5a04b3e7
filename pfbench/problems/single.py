"""What problems with one component, over a set of vectors, share."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from pfbench.base.sample import Indices, weighted
from pfbench.problems.stateless import Stateless
from pfbench.sets.vectors import VectorSet

Floats = npt.NDArray[np.float64]


Operator = Callable[[Floats], Floats]
"""A symmetric matrix as the function that multiplies a vector by it."""


class SingleComponent(Stateless, ABC):
    """f = f_1 over a set of vectors; every oracle is exact and has no state."""

    n: ClassVar[int] = 1

    lacks: ClassVar[Mapping[str, str]] = MappingProxyType({"smooth": "it has a feasible set"})
    """What the problem cannot offer, by what algorithms require, with the reason."""

    @property
    @abstractmethod
    def set(self) -> VectorSet:
        """The feasible set."""

    @abstractmethod
    def value(self, x: Floats) -> float:
        """Return f(x)."""

    @abstractmethod
    def gradient(self, x: Floats) -> Floats:
        """Return the gradient at x, shape (d,)."""

    @abstractmethod
    def curvature(self, s: Floats) -> Operator:
        """Return the Hessian at s as an operator."""

    @property
    def d(self) -> int:
        """Length of a point."""
        return self.set.d

    def start(self) -> Floats:
        """Return the set's start point: 0 where 0 is in it, else its first vertex."""
        return self.set.start()

    def batch(self, sample: Indices, x: Floats) -> Floats:
        """Return the gradient at x, shape (d,)."""
        check_single(sample)
        return self.gradient(x)

    def difference(self, sample: Indices, x: Floats, y: Floats) -> Floats:
        """Return grad f(x) - grad f(y), shape (d,)."""
        check_single(sample)
        return self.gradient(x) - self.gradient(y)

    def hessian(self, s: Floats) -> "SingleHessian":
        """Return the Hessian at s."""
        return SingleHessian(self.curvature(s))

    def table(self, x: Floats) -> "SingleTable":
        """Return a table with the gradient at x."""
        return SingleTable(self, x)


def check_single(sample: Indices) -> None:
    """Refuse a sample that is empty or has an index other than 0."""
    if weighted(sample)[0].any():
        raise IndexError("a sampled component index is outside 0 .. n - 1")


class SingleHessian:
    """The Hessian of the only component at one point."""

    def __init__(self, operator: Operator) -> None:
        self._operator = operator

    def product(self, x: Floats, y: Floats) -> Floats:
        """Return the Hessian times x - y, shape (d,)."""
        return self._operator(x - y)

    def batch(self, sample: Indices, x: Floats, y: Floats) -> Floats:
        """Return the Hessian times x - y, shape (d,)."""
        check_single(sample)
        return self._operator(x - y)


class SingleTable:
    """The gradient of the only component at one point; 8 d bytes."""

    def __init__(self, problem: SingleComponent, x: Floats) -> None:
        self._problem = problem
        self.mean = problem.gradient(x)

    def difference(self, sample: Indices, x: Floats) -> Floats:
        """Return grad f(x) minus the stored gradient, shape (d,)."""
        check_single(sample)
        return self._problem.gradient(x) - self.mean

    def replace(self, sample: Indices, x: Floats) -> Floats:
        """As `difference`, then store grad f(x)."""
        check_single(sample)
        fresh = self._problem.gradient(x)
        change: Floats = fresh - self.mean
        self.mean = fresh
        return change
