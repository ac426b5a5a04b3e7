"""SAGA on rows with weights: its mean, its theorem 1, and the step that weights need.

Theorem 1 was read in the package PEPit. All statements about weights are pfbench's. F is the mean
of h_i = (n w_i/W) f_i, W the sum of the w_i, so that components are drawn uniformly.

The source replaces the entry of the drawn component. `saga` draws another one for that: the mean of
the next estimate and of V, which has no product of x and the entries, are the same.
"""

from pfbench.verification.paper_tables import read_listed_paper

PAPER = read_listed_paper(__name__)
