"""The primal-dual gap of Frank-Wolfe with the steps 2/(t + 2).

The abstract, a summary with the formulas, and reviews of the paper were read. The recursion and the
smaller bound are derived by pfbench.
"""

from pfbench.verification.paper_tables import read_paper

PAPER = read_paper(
    __name__,
    "Martinez-Rubio, Pokutta: Beyond Short Steps in Frank-Wolfe Algorithms, 2025",
    "primal_dual_gap",
)
"""Claims about the paper."""
