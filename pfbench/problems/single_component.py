"""Problems with one component, and the simplest one: |x|^2 on the unit simplex."""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from pfbench.base.arrays import Floats
from pfbench.base.checks import check_integer
from pfbench.base.constants import Constants
from pfbench.base.sample import Indices
from pfbench.problems.base import (
    ComponentHessiansAtPoint,
    FiniteSum,
    check_entry_count,
    content_digest,
    index_weights,
)
from pfbench.sets.balls import Simplex

Operator = Callable[[Floats], Floats]
"""Symmetric matrix as a function that multiplies a vector by it."""


class SingleComponent(FiniteSum):
    """Problem with one component, f = f_1, whose Hessian is a linear operator."""

    n: ClassVar[int] = 1

    @property
    def d(self) -> int:
        """Number of entries of a point."""
        return self.shape[0]

    @abstractmethod
    def hessian_operator(self, s: Floats) -> Operator:
        """Return the Hessian at s as a linear operator."""

    def hessian(self, s: Floats) -> ComponentHessiansAtPoint:
        """Return the Hessian at s, as the Hessian of the only component."""
        operator = self.hessian_operator(s)

        def apply_hessian(sample: Indices | None, u: Floats) -> Floats:
            if sample is not None:
                index_weights(sample, 1)
            return operator(u)

        return ComponentHessiansAtPoint(apply_hessian)


@dataclass(frozen=True, eq=False)
class SimplexNorm(SingleComponent):
    """The function |x|^2 on the unit simplex, on which Frank-Wolfe methods are slow (Jaggi 2013).

    A point with at most k nonzero coordinates has f >= 1/k and, for k < N, a Frank-Wolfe gap of at
    least 2/k. The start point is a vertex, so k linear minimisations reach at most k + 1 nonzero
    coordinates. So the gap at x_k is at least 2/(k + 1) while k + 1 < N. One projection solves the
    problem.

    Attributes
    ----------
    columns
        N, at least 2.

    Raises
    ------
    InputError
        If N is not an integer of at least 2.
    """

    name: ClassVar[str] = "simplex-norm"
    source: ClassVar[str] = "Jaggi 2013 section 4"
    properties: ClassVar[frozenset[str]] = frozenset({"convex", "restricted strong convexity"})

    columns: int

    def __post_init__(self) -> None:
        check_entry_count("a point", check_integer("columns", self.columns, minimum=2))

    @cached_property
    def set(self) -> Simplex:
        """Feasible set: the unit simplex."""
        return Simplex(self.columns)

    @property
    def digest(self) -> str:
        """Hash of the dimension N."""
        return content_digest((self.name, self.columns))

    @property
    def best_known(self) -> tuple[float, str]:
        """Minimum 1/N of |x|^2 on the simplex of N vertices, with its derivation as text."""
        return 1.0 / self.columns, "minimum 1/N, at the uniform point"

    def value(self, x: Floats) -> float:
        """Return |x|^2."""
        return float(x @ x)

    def gradient(self, x: Floats) -> Floats:
        """Return the gradient 2 x, shape (N,)."""
        return 2.0 * x

    def hessian_operator(self, s: Floats) -> Operator:
        """Return the Hessian, twice the identity, as a linear operator."""
        return lambda v: 2.0 * v

    def constants(self, start: Floats) -> Constants:
        """Return the constants of this problem (L_f, D, ...), each with its derivation as text."""
        return Constants.from_derivations(
            n=(1, "one component"),
            D=(self.set.diameter, "distance of two vertices, sqrt 2, exact"),
            L_f=(2.0, "the Hessian is twice the identity"),
            L_ms=(2.0, "L_f, as n = 1"),
            L_max=(2.0, "L_f, as n = 1"),
            L2_ms=(0.0, "the Hessian is constant"),
            sigma2=(0.0, "0, as n = 1"),
            delta=(self.value(start) - 1.0 / self.columns, "f(start) - 1/N, the minimum: exact"),
            M=(1.0, "norm of a vertex"),
            sigma_hat=(2.0, "f is strongly convex with 2"),
            ell=(0.0, "f is convex"),
        )
