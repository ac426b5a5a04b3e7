"""Muon with Newton-Schulz or the commonly used quintic in place of the polar factor.

Notation: M_t = beta M_{t-1} + G_t, M_0 = 0; X_0 = M_t/|M_t|_F, then q times X <- p(XX')X; eta is
the step. The paper was read in part, and in a machine-made copy.
"""

from pfbench.verification.paper_tables import read_listed_paper

PAPER = read_listed_paper(__name__)
