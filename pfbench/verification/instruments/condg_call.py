"""One call of condg, and the number of linear minimisations that it may need.

condg(l, u, lambda, eta) may return any point at which the Frank-Wolfe gap of phi(x) = <l, x> + |x -
u|^2/(2 lambda) is at most eta.
"""

import math
from dataclasses import dataclass

from pfbench.base.arrays import Floats
from pfbench.problems.base import FiniteSum


def max_calls(D: float, lam: float, eta: float) -> int:
    """Return an upper bound on the number of linear minimisations that one call of `condg` makes.

    The bound is 1 + ceil(6 D^2/(lambda eta)), which follows from theorem 2 of Jaggi 2013.
    """
    return 1 + math.ceil(6.0 * D * D / (lam * eta) * (1.0 - 1e-12))


@dataclass(frozen=True)
class CondgCall:
    """One call of the subroutine condg: its arguments, and the point that it returned."""

    problem: FiniteSum
    l: Floats  # noqa: E741
    u: Floats
    lam: float
    eta: float
    answer: Floats
