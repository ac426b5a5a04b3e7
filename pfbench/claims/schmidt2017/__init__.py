"""SAG on strongly convex sums: the rate of theorem 1.

Step, rate and C_0 of the theorem were read in lecture notes that quote it, not in the paper.
"""

from pfbench.verification.paper_tables import read_listed_paper

PAPER = read_listed_paper(__name__)
