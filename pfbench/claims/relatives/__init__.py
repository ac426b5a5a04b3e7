"""Recent relatives of the other methods: loopless and recursive estimates.

The bounds are pfbench's.
"""

from pfbench.claims.relatives import (
    convex,
    epoch_free_schedules,
    importance,
    inner_loops,
    lower_bound,
    page_cost,
    smooth,
    storm,
    table1,
)
from pfbench.verification import Paper

PAPER = Paper.from_files(
    "relatives",
    "Loopless and recursive estimates in smooth and in Frank-Wolfe steps",
    (
        smooth,
        page_cost,
        convex,
        epoch_free_schedules,
        importance,
        inner_loops,
        table1,
        lower_bound,
        storm,
    ),
)
"""Claims about the papers."""
