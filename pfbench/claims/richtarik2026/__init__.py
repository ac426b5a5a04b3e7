"""Local linear minimisation: its steps, and two rates for convex f.

The abstract was read. All statements with constants are pfbench's.
"""

from pfbench.verification.paper_tables import read_listed_paper

PAPER = read_listed_paper(__name__)
