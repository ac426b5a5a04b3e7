"""Frank-Wolfe for non-convex objectives.

Notation: g_t the Frank-Wolfe gap at x_t, C >= C_f the curvature, h0 = f(x_0) - min f.
"""

from pfbench.verification.paper_tables import read_listed_paper

PAPER = read_listed_paper(__name__)
