"""Local LMO: steps to the best point of the set within a radius, for convex f (richtarik2026).

Notation: L = L_f, R at least |x_k - x*| for all k, T iterations.

    for k = 0 .. T-1:
        x_{k+1} = argmin over z in C, |z - x_k| <= 2R/(k+2), of <grad f(x_k), z>
"""

from collections.abc import Iterator
from dataclasses import MISSING, dataclass
from typing import Any, Self

import numpy as np

from pfbench.algorithms.base import Algorithm, round_up
from pfbench.algorithms.guarantee import Guarantee
from pfbench.base.constants import Constants
from pfbench.base.parameters import integer, positive
from pfbench.base.protocols import AlgorithmOracles
from pfbench.base.state import Point, State


@dataclass(frozen=True, kw_only=True)
class LocalLMO(Algorithm):
    """Local LMO: linear minimisations within the radius 2R/(k+2).

    Local LMO: x_{k+1} minimises <grad f(x_k), z> over all z in the set that are near x_k.
    """

    name = "local-lmo"
    source = "Richtarik, Gruntkowska, Li 2026, the iteration in the abstract; radii by pfbench"
    counts = "T iterations: FO T, SFO nT, LLO T"
    requires = frozenset({"gradient", "local_lo", "set"})
    assumes = frozenset({"convex"})
    schedule_parameters = frozenset({"iterations", "diameter"})
    constant_defaults = (("diameter", "D"),)
    deterministic = True
    anytime = True
    guarantee = Guarantee("f(x) - min f", "epsilon", "last", "excess")

    iterations: int = integer(MISSING, "T")
    diameter: float = positive(MISSING, "R, at least each |x_k - x*|; the set's D if not given")

    @classmethod
    def theory(cls, epsilon: float, constants: Constants, **overrides: Any) -> Self:
        """Return the method for accuracy epsilon, with R = D and the least number T of iterations.

        R is the radius parameter and D the diameter of the set; T is the least with 2 L R^2/(T+2)
        <= epsilon.
        """
        L, D = cls.schedule_constants(constants, "L_f", "D")
        R = overrides.get("diameter") or D
        T = max(1, round_up(2.0 * L * R**2 / epsilon) - 2)
        return cls.from_schedule(overrides, iterations=T, diameter=R)

    def run(self, ask: AlgorithmOracles, x: Point, rng: np.random.Generator) -> Iterator[State]:
        """Start at x, and yield a state after each update; see the module's pseudo-code."""
        for k in range(self.iterations):
            g = ask.gradient(x)
            at, x = x, ask.local_lo(x, g, 2.0 * self.diameter / (k + 2.0))
            yield State(x, at, g)
