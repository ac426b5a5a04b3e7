"""Claims about every built-in method: it matches its reference and its published schedule.

The schedules are stated in one file for each family, as in `pfbench/algorithms/`.
"""

from pfbench.verification.paper_tables import read_listed_paper

PAPER = read_listed_paper(__name__)
