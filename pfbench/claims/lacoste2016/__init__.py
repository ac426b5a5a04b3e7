"""Frank-Wolfe for non-convex objectives.

Notation: g_t the Frank-Wolfe gap at x_t, C >= C_f the curvature, h0 = f(x_0) - min f.
"""

from pfbench.verification.paper_tables import read_paper

PAPER = read_paper(
    __name__,
    "Lacoste-Julien: Convergence Rate of Frank-Wolfe for Non-Convex Objectives, 2016",
    "theorem1 sections_2_and_3",
)
"""Claims about the paper."""
