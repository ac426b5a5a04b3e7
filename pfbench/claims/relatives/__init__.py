"""Recent methods related to the others: loopless and recursive estimates.

The bounds are pfbench's.
"""

from pfbench.verification.paper_tables import read_listed_paper

PAPER = read_listed_paper(__name__)
