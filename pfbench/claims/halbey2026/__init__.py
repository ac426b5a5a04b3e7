"""Frank-Wolfe on the ball from its worst start, constructed backward from the optimum.

The abstract and the introduction of the paper were read; pfbench derives the construction.
"""

from pfbench.verification.paper_tables import read_paper

PAPER = read_paper(
    __name__, "Halbey et al.: Lower bounds for Frank-Wolfe on strongly convex sets", "worst_start"
)
"""Claims about the paper."""
