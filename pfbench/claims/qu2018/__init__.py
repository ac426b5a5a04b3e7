"""Non-convex conditional gradient sliding.

Notation: N or T iterations, L the smoothness, ell the lower smoothness, Delta = f(theta_0) - min f,
G_lambda the gradient mapping, D the diameter of C, M the largest norm in C, theta* a minimiser.
"""

from pfbench.verification.paper_tables import read_listed_paper

PAPER = read_listed_paper(__name__)
