"""Recent methods related to the others: loopless and recursive estimates.

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
from pfbench.verification.paper_tables import read_paper

PAPER = read_paper(
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
