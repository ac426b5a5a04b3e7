"""Exact line search as the claims on methods hold it to: not above what a refined grid has."""

import numpy as np

from pfbench.verification import Floats
from pfbench.verification.instruments.waves import Waves
from pfbench.verification.laws import Formed, Place

_SEARCHED = 1e-8
"""How far above the least value on the segment an exact line search may end, relative to f."""


def searched(
    problem: Waves, formed: Formed, d: Floats, most: float, there: Floats
) -> tuple[Place, float]:
    """Return the place of a step to the least value on x + gamma d, and the gamma that was taken.

    The point told must lie on the segment, gamma in [0, most], and not above what a grid of it has,
    refined.
    """
    x, values = formed.at, problem.along(formed.at, d)
    gamma = min(most, max(0.0, float((there - x) @ d / (float(d @ d) or 1.0))))
    low, high, least = 0.0, most, np.inf
    for _ in range(5):
        grid = np.linspace(low, high, 33)
        found = values(grid)
        best = int(np.argmin(found))
        least = min(least, float(found[best]))
        low, high = grid[max(0, best - 1)], grid[min(32, best + 1)]
    above = (problem.value(there) - least) / (_SEARCHED * max(1.0, abs(least)))
    return Place(formed=formed, x=x + gamma * d, ratios=(above,)), gamma
