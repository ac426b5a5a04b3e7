"""Double well: convex around each of two minimisers, but not between them."""

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from pfbench.base.arrays import Floats
from pfbench.base.constants import Constants
from pfbench.problems.single_component import Operator, SingleComponent
from pfbench.sets import LinfBall


@dataclass(frozen=True, eq=False)
class DoubleWell(SingleComponent):
    """f(x) = (x_0^2 - 1)^2/4 + sum over j >= 1 of w_j (x_j - c_j)^2/2 on the box [-2, 2]^d.

    f is convex on each of the two parts where |x_0| >= 1/sqrt(3). On each part the minimum of f is
    0, at x_0 = 1 or x_0 = -1, and x_j = c_j.

    Parameters
    ----------
    centre
        c, shape (d - 1,), entries in [-2, 2].
    weights
        w, shape (d - 1,), positive.
    begin
        The start point, shape (d,), in the box.
    """

    name: ClassVar[str] = "double-well"
    source: ClassVar[str] = "an instrument of the verification"

    centre: Floats
    weights: Floats
    begin: Floats

    @cached_property
    def set(self) -> LinfBall:
        """Feasible set: the box [-2, 2]^d."""
        return LinfBall(self.begin.size, 2.0)

    def start(self) -> Floats:
        """Return a copy of the start point."""
        return self.begin.copy()

    def is_convex_near(self, x: Floats) -> bool:
        """Return whether x is in one of the two parts of the box on which f is convex."""
        return bool(3.0 * x[0] ** 2 >= 1.0)

    def value(self, x: Floats) -> float:
        """Return the objective value f(x)."""
        u = x[1:] - self.centre
        return float((x[0] ** 2 - 1.0) ** 2 / 4.0 + 0.5 * (self.weights @ (u * u)))

    def gradient(self, x: Floats) -> Floats:
        """Return the gradient at x, shape (d,)."""
        return np.append(x[0] * (x[0] ** 2 - 1.0), self.weights * (x[1:] - self.centre))

    def hessian_operator(self, s: Floats) -> Operator:
        """Return the Hessian at s, which is diagonal, as an operator."""
        diagonal = np.append(3.0 * s[0] ** 2 - 1.0, self.weights)
        return lambda v: diagonal * v

    def constants(self, start: Floats) -> Constants:
        """Return the exact constants; the second derivative 3 x_0^2 - 1 in x_0 is from -1 to 11."""
        L = max(11.0, float(self.weights.max()))
        return Constants.from_derivations(
            n=(1, "f is one function"),
            D=(self.set.diameter, "the box's"),
            L_f=(L, "the largest of 11, which is 3 x_0^2 - 1 at the end of the box, and weights"),
            L_ms=(L, "L_f, as n = 1"),
            L_max=(L, "L_f, as n = 1"),
            L2_ms=(12.0, "the third derivative is 6 x_0, 12 at the end of the box"),
            sigma2=(0.0, "0, as n = 1"),
            delta=(self.value(start), "f(start), as the least value is 0"),
            M=(self.set.diameter / 2.0, "half the diameter of the box"),
            ell=(1.0, "the second derivative is -1 at x_0 = 0"),
        )
