"""Local linear minimisation: its steps, and two rates for convex f.

The abstract was read. All statements with constants are pfbench's.
"""

from pfbench.verification.paper_tables import read_paper

PAPER = read_paper(
    __name__,
    "Richtarik, Gruntkowska, Li: Local LMO, Constrained Gradient Optimization via a Local Linear "
    "Minimization Oracle, 2026",
    "local_steps",
)
"""Claims about the paper."""
