"""Inner loops of the references: condg, and exact line search."""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar

from pfbench.base.arrays import Floats


def condg(ask: Any, l: Floats, u: Floats, lam: float, eta: float) -> Floats:  # noqa: E741
    """Minimise <l, x> + |x - u|^2/(2 lam) from u until the Frank-Wolfe gap is at most eta."""
    x = u
    while True:
        g = l + (x - u) / lam
        d = ask.lo(g) - x
        gap = -float(np.vdot(g, d))
        if gap <= eta:
            return x
        x = x + min(1.0, lam * gap / float(np.vdot(d, d))) * d


def line_search(value: Callable[[float], float], upper: float, *other_steps: float) -> float:
    """Return the best step of the minimiser on [0, upper], both ends, and `other_steps`."""
    result = minimize_scalar(value, bounds=(0.0, upper), method="bounded", options={"xatol": 1e-10})
    return min((float(result.x), 0.0, upper, *other_steps), key=value)
