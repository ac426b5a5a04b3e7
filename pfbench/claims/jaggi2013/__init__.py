"""Frank-Wolfe for convex objectives."""

from pfbench.claims.jaggi2013 import theorem1
from pfbench.verification import Paper

PAPER = Paper.from_files("jaggi2013", "Jaggi: Revisiting Frank-Wolfe, ICML 2013", (theorem1,))
"""Claims about the paper."""
