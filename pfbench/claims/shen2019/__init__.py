"""Normalised Frank-Wolfe updates with five gradient estimators; a bound of linear minimisations.

Notation: n components, S the batch, p the epoch length, j = t mod p the steps since the snapshot,
eta the step, D the diameter, L = max(L_f, L_ms), L2 = L2_ms, Delta the gap of f at the start, V the
Frank-Wolfe gap.
"""

from pfbench.verification.paper_tables import read_paper

PAPER = read_paper(
    __name__,
    "Shen, Fang, Zhao, Huang, Qian: Complexities in Projection-Free Stochastic Non-convex "
    "Minimization, AISTATS 2019",
    "table1_counts theorem31 remark31 error_laws unbiased table1 sagafw recovery_claims theorem51",
)
"""Claims about the paper."""
