"""Frank-Wolfe for convex objectives."""

from pfbench.verification.paper_tables import read_paper

PAPER = read_paper(__name__, "Jaggi: Revisiting Frank-Wolfe, ICML 2013", "theorem1")
"""Claims about the paper."""
