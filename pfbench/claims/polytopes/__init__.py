"""Frank-Wolfe on polytopes: away, pairwise and blended pairwise steps, and the open loop."""

from pfbench.verification.paper_tables import read_listed_paper

PAPER = read_listed_paper(__name__)
