"""Recent methods related to the others: loopless and recursive estimates.

The bounds are pfbench's.
"""

from pfbench.verification.paper_tables import read_paper

PAPER = read_paper(
    __name__,
    "Loopless and recursive estimates in smooth and in Frank-Wolfe steps",
    "smooth convex epoch_free_schedules importance inner_loops table1 least_costs storm",
)
"""Claims about the papers."""
