"""Frank-Wolfe with inexact gradients.

The abstract and the first page of the paper were read. The bound, its constants and its proof are
pfbench's, and so is what an error of delta means.
"""

from pfbench.verification.paper_tables import read_listed_paper

PAPER = read_listed_paper(__name__)
