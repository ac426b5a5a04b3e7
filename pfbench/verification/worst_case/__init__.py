"""Worst cases of methods by performance estimation, to compare with published bounds and runs.

They need the packages of the extra `certify`: PEPit, cvxpy and Clarabel.
"""

from pfbench.verification.worst_case.cases import WORST_CASES as WORST_CASES
from pfbench.verification.worst_case.cases import WorstCase as WorstCase
from pfbench.verification.worst_case.cases import select_cases as select_cases
from pfbench.verification.worst_case.custom import ComputedWorstCase as ComputedWorstCase
from pfbench.verification.worst_case.custom import FunctionClass as FunctionClass
from pfbench.verification.worst_case.custom import compute_worst_case as compute_worst_case
from pfbench.verification.worst_case.estimation import check_installed as check_installed
from pfbench.verification.worst_case.requests import WorstCaseCheck as WorstCaseCheck
from pfbench.verification.worst_case.requests import (
    iterate_user_worst_cases as iterate_user_worst_cases,
)
