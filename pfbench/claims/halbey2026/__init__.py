"""Frank-Wolfe on the ball from its worst start, constructed backward from the optimum.

The abstract and the introduction of the paper were read; pfbench derives the construction.
"""

from pfbench.verification.paper_tables import read_listed_paper

PAPER = read_listed_paper(__name__)
