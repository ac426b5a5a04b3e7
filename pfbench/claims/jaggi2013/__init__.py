"""Frank-Wolfe for convex objectives."""

from pfbench.verification.paper_tables import read_listed_paper

PAPER = read_listed_paper(__name__)
