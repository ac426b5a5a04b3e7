"""Computed worst cases (performance estimation) against printed bounds and our own runs.

Needs the extra `certify`: PEPit, cvxpy and Clarabel.
"""

from pfbench.verification.worst_case.asked import Asked, asked
from pfbench.verification.worst_case.cases import WORST_CASES, WorstCase, selected
from pfbench.verification.worst_case.estimation import check_installed
from pfbench.verification.worst_case.somebodys import Class, Worst, worst_case

__all__ = [
    "WORST_CASES",
    "Asked",
    "Class",
    "Worst",
    "WorstCase",
    "asked",
    "check_installed",
    "selected",
    "worst_case",
]
