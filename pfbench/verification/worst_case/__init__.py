"""Computed worst cases (performance estimation) against printed bounds and our own runs.

Needs the extra `certify`: PEPit, cvxpy and Clarabel.
"""

from pfbench.verification.worst_case.cases import WORST_CASES, WorstCase, selected
from pfbench.verification.worst_case.estimation import check_installed

__all__ = ["WORST_CASES", "WorstCase", "check_installed", "selected"]
