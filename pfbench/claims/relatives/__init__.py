"""The relatives of the last years: loopless and recursive estimates, by bounds of pfbench."""

from pfbench.claims.relatives import (
    cheapest,
    condg,
    convex,
    importance,
    lower,
    schedules,
    smooth,
    storm,
    table1,
)
from pfbench.verification import Paper

PAPER = Paper.of(
    "relatives",
    "Loopless and recursive estimates in smooth and in Frank-Wolfe steps",
    (smooth, cheapest, convex, schedules, importance, condg, table1, lower, storm),
)
"""All that is said of them."""
