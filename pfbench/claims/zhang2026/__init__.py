"""Row normalisation in Muon: a lower bound of the steps, by a function built along the run.

The main text was read, in a copy made by machine.
"""

from pfbench.verification.paper_tables import read_listed_paper

PAPER = read_listed_paper(__name__)
