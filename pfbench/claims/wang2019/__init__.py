"""SpiderBoost, its proximal form and its form with momentum.

Notation: K iterations, q the epoch length and S the batch (q = |S| = sqrt n), eta the step,
L = max(L_f, L_ms), G the gradient mapping at 1/(2L), Delta the gap at the start.
"""

from pfbench.verification.paper_tables import read_listed_paper

PAPER = read_listed_paper(__name__)
