"""Worst cases of methods by performance estimation, to compare with published bounds and runs.

They need the packages of the extra `certify`: PEPit, cvxpy and Clarabel.
"""

from pfbench.verification.worst_case.cases import WORST_CASES, WorstCase, select_cases
from pfbench.verification.worst_case.custom import (
    ComputedWorstCase,
    FunctionClass,
    compute_worst_case,
)
from pfbench.verification.worst_case.estimation import check_installed
from pfbench.verification.worst_case.requests import WorstCaseCheck, iterate_worst_cases

__all__ = [
    "WORST_CASES",
    "ComputedWorstCase",
    "FunctionClass",
    "WorstCase",
    "WorstCaseCheck",
    "check_installed",
    "compute_worst_case",
    "iterate_worst_cases",
    "select_cases",
]
