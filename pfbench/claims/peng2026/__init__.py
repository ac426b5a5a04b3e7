"""Muon with Nesterov's momentum: the printed bound of one matrix, and a smaller bound of pfbench.

Notation: M_t = beta1 M_{t-1} + (1 - beta1) g_t, M_0 = 0, N_t = beta2 M_t + (1 - beta2) g_t,
W_{t+1} = W_t - eta O(N_t), t = 1 .. K. The main text was read, in a copy made by machine.
"""

from pfbench.verification.paper_tables import read_listed_paper

PAPER = read_listed_paper(__name__)
