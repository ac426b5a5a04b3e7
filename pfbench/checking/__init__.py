"""Conformance checks of user-defined algorithms, estimators, sets, problems and penalties.

Each object is checked against its definition, on a small built-in problem or on a problem of the
user; see `check`.
"""

from pfbench.checking.findings import CheckReport, CheckResult
from pfbench.checking.resolver import KINDS, check

__all__ = ["KINDS", "CheckReport", "CheckResult", "check"]
