"""Row normalisation in Muon: a lower bound of the steps, by a function built along the run.

The main text was read, in a copy made by machine.
"""

from pfbench.verification.paper_tables import read_paper

PAPER = read_paper(
    __name__, "Zhang, Lin: The Row Normalization Puzzle in Muon, 2026", "normuon_steps"
)
"""Claims about the paper."""
