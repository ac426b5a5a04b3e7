"""The primal-dual gap of Frank-Wolfe with the steps 2/(t + 2).

The abstract, a summary with the formulas, and reviews of the paper were read. The recursion and the
smaller bound are derived by pfbench.
"""

from pfbench.verification.paper_tables import read_listed_paper

PAPER = read_listed_paper(__name__)
