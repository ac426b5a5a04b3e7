"""Frank-Wolfe for convex objectives."""

from pfbench.claims.jaggi2013 import theorem1
from pfbench.verification.paper_tables import read_paper

PAPER = read_paper("jaggi2013", "Jaggi: Revisiting Frank-Wolfe, ICML 2013", (theorem1,))
"""Claims about the paper."""
