"""Computed worst cases (performance estimation) against the bounds of claims and our own runs.

Needs the extra `certify`: PEPit, cvxpy and Clarabel.

    from pfbench.verification.worst_case import CASES, certify, print_table
    print_table(certify(["frank-wolfe-gap"], horizons=range(1, 9)))
"""

from pfbench.verification.worst_case.cases import CASES, Case, Row, certify, print_table, saga_age
from pfbench.verification.worst_case.estimation import Estimation

__all__ = ["CASES", "Case", "Estimation", "Row", "certify", "print_table", "saga_age"]
