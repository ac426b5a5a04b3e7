"""|x|^2 on the unit simplex: what linear minimisation cannot do quickly (Jaggi 2013).

A point with at most k nonzero coordinates has f >= 1/k and, for k < N, a Frank-Wolfe gap of at
least 2/k. From a vertex, k linear minimisations reach k + 1 coordinates, so V(x_k) >= 2/(k + 1)
while k + 1 < N. One projection solves the problem.
"""

import hashlib
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from pfbench.base.checks import integer
from pfbench.base.constants import Constants
from pfbench.problems.single import Operator, SingleComponent
from pfbench.problems.sizes import check_length
from pfbench.sets.simplex import Simplex

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class SimplexNorm(SingleComponent):
    """f(x) = |x|^2 on the unit simplex of R^N; it starts at the first vertex.

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
        check_length("a point", integer("columns", self.columns, least=2))

    @cached_property
    def set(self) -> Simplex:
        """The unit simplex."""
        return Simplex(self.columns)

    @property
    def digest(self) -> str:
        """A hash of N."""
        return hashlib.sha256(repr((self.name, self.columns)).encode()).hexdigest()

    @property
    def best_known(self) -> tuple[float, str]:
        """1/N, the minimum, with its derivation."""
        return 1.0 / self.columns, "minimum 1/N, at the uniform point"

    def value(self, x: Floats) -> float:
        """Return |x|^2."""
        return float(x @ x)

    def gradient(self, x: Floats) -> Floats:
        """Return 2 x, shape (N,)."""
        return 2.0 * x

    def curvature(self, s: Floats) -> Operator:
        """Return twice the identity."""
        return lambda v: 2.0 * v

    def constants(self, start: Floats) -> Constants:
        """Return all constants of this problem."""
        numbers: dict[str, Any] = {
            "n": 1,
            "D": self.set.diameter,
            "L_f": 2.0,
            "L_ms": 2.0,
            "L_max": 2.0,
            "L2_ms": 0.0,
            "sigma2": 0.0,
            "delta": self.value(start) - 1.0 / self.columns,
            "M": 1.0,
            "sigma_hat": 2.0,
            "ell": 0.0,
        }
        derivations = {
            "n": "one component",
            "D": "distance of two vertices, sqrt 2, exact",
            "L_f": "the Hessian is twice the identity",
            "L_ms": "L_f, as n = 1",
            "L_max": "L_f, as n = 1",
            "L2_ms": "the Hessian is constant",
            "sigma2": "0, as n = 1",
            "delta": "f(start) - 1/N, the minimum: exact",
            "M": "norm of a vertex",
            "sigma_hat": "f is strongly convex with 2",
            "ell": "f is convex",
        }
        return Constants(**numbers, derivations=MappingProxyType(derivations))
