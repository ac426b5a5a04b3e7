"""Gradient transport in uSCG: the bias of its estimate, and the mean of |grad f(x_k)|_*.

Only the abstract of the paper was read, which states the order epsilon^(-3.5) of one gradient a
step. The statements, their constants and their proofs are pfbench's.
"""

from pfbench.verification.paper_tables import read_listed_paper

PAPER = read_listed_paper(__name__)
