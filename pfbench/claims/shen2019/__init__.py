"""Normalised Frank-Wolfe updates with five gradient estimators; a bound of linear minimisations.

Notation: n components, S the batch, p the epoch length, j = t mod p the steps since the snapshot,
eta the step, D the diameter, L = max(L_f, L_ms), L2 = L2_ms, Delta the gap of f at the start, V the
Frank-Wolfe gap.
"""

from pfbench.verification.paper_tables import read_listed_paper

PAPER = read_listed_paper(__name__)
