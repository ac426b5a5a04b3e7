"""Non-convex conditional gradient sliding.

Notation: N or T iterations, L the smoothness, ell the lower smoothness, Delta = f(theta_0) - min f,
G_lambda the gradient mapping, D the diameter of C, M the largest norm in C, theta* a minimiser.
"""

from pfbench.verification.paper_tables import read_paper

PAPER = read_paper(
    __name__,
    "Qu, Li, Xu: Non-convex Conditional Gradient Sliding, ICML 2018",
    "condg_statements theorem1 theorem2 theorem3",
)
"""Claims about the paper."""
