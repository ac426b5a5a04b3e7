"""SAG on strongly convex sums: the rate of theorem 1.

Step, rate and C_0 of the theorem were read in lecture notes that quote it, not in the paper.
"""

from pfbench.verification.paper_tables import read_paper

PAPER = read_paper(
    __name__,
    "Schmidt, Le Roux, Bach: Minimizing Finite Sums with the Stochastic Average Gradient, 2017",
    "theorem1",
)
"""Claims about the paper."""
