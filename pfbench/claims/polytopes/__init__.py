"""Frank-Wolfe on polytopes: away, pairwise and blended pairwise steps, and the open loop."""

from pfbench.verification.paper_tables import read_paper

PAPER = read_paper(
    __name__, "Frank-Wolfe on polytopes: active sets and open loops", "good_steps openloop table1"
)
"""Claims about the papers."""
