"""Frank-Wolfe along weighted sums of all gradients so far, for convex f (martinezrubio2025).

Notation: L = L_f, D the diameter, T iterations. The weights are those of the steps 2/(t+2).

    S = 0
    for t = 0 .. T-1:
        g = grad f(x_t)
        heavy ball:  S = S + (2t+2) g;  v = argmin over C of <S, v>
        optimistic:  S = S + 2t g;  v = argmin over C of <S + (2t+2) g, v>
        x_{t+1} = (1 - gamma) x_t + gamma v, gamma = 2/(t+2)
"""

from collections.abc import Iterator
from dataclasses import MISSING, dataclass
from typing import Any, ClassVar, Self

import numpy as np

from pfbench.algorithms.base import Algorithm, round_up
from pfbench.algorithms.guarantee import Guarantee
from pfbench.base.constants import Constants
from pfbench.base.parameters import integer
from pfbench.base.protocols import AlgorithmOracles
from pfbench.base.state import Point, State
from pfbench.points import combine


@dataclass(frozen=True, kw_only=True)
class HeavyBallFrankWolfe(Algorithm):
    """Frank-Wolfe along a weighted sum of all gradients.

    Frank-Wolfe along the weighted sum of all gradients; gradient t has the weight 2t+2.
    """

    name = "heavy-ball-fw"
    source = "Martinez-Rubio, Pokutta 2025, heavy ball, in a summary"
    counts = "T iterations: FO T, SFO nT, LO T"
    requires = frozenset({"gradient", "lo"})
    assumes = frozenset({"convex"})
    schedule_parameters = frozenset({"iterations"})
    deterministic = True
    anytime = True
    guarantee = Guarantee("f(x) - min f", "epsilon", "last", "excess")
    bound_constant: ClassVar[float] = 2.0
    """Constant c of the bound f(x_T) - min f <= c L D^2/(T+1)."""

    iterations: int = integer(MISSING, "T")

    @classmethod
    def theory(cls, epsilon: float, constants: Constants, **overrides: Any) -> Self:
        """Return the method with the least number T of iterations that ensures accuracy epsilon.

        T is the least with c L D^2/(T+1) <= epsilon, where c is `bound_constant`.
        """
        L, D = cls.schedule_constants(constants, "L_f", "D")
        T = max(1, round_up(cls.bound_constant * L * D**2 / epsilon) - 1)
        return cls.from_schedule(overrides, iterations=T)

    def weigh(self, total: Any, g: Any, t: int) -> tuple[Any, Any]:
        """Return the new weighted sum of gradients, and the vector d; a step minimises <d, v>."""
        total = total + (2.0 * t + 2.0) * g
        return total, total

    def run(self, ask: AlgorithmOracles, x: Point, rng: np.random.Generator) -> Iterator[State]:
        """Start at x, and yield a state after each update; see the module's pseudo-code."""
        total: Any = 0.0
        for t in range(self.iterations):
            g = ask.gradient(x)
            total, direction = self.weigh(total, g, t)
            at, x = x, combine(x, ask.lo(direction), 2.0 / (t + 2.0))
            yield State(x, at, g)


class OptimisticFrankWolfe(HeavyBallFrankWolfe):
    """Frank-Wolfe along a weighted sum of all gradients and a guess of the next one.

    The guess is the newest gradient.
    """

    name = "optimistic-fw"
    source = "Martinez-Rubio, Pokutta 2025, optimistic, in a summary"
    bound_constant = 4.0

    def weigh(self, total: Any, g: Any, t: int) -> tuple[Any, Any]:
        """Return the new weighted sum of gradients, and the vector d; a step minimises <d, v>."""
        total = total + 2.0 * t * g
        return total, total + (2.0 * t + 2.0) * g
