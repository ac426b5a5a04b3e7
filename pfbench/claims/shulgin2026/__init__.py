"""MARS, momentum with a scaled correction: its error, and the bounds of its squared gradients.

The main text was read, in a copy made by machine, without the proofs. The law of the error is
pfbench's.
"""

from pfbench.verification.paper_tables import read_listed_paper

PAPER = read_listed_paper(__name__)
