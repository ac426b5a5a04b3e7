"""Open-loop steps g(t)/(t + g(t)) of Frank-Wolfe, the log-adaptive one among them.

The abstract of the paper was read: its step is at least as fast as every fixed l. The bounds, with
their constants and proofs, are pfbench's.
"""

from pfbench.verification.paper_tables import read_listed_paper

PAPER = read_listed_paper(__name__)
