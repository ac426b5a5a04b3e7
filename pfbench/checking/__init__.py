"""Conformance checks of user-defined algorithms, estimators, sets, problems and penalties.

Each is checked against its definition, on small problems or on the user's: see `check`.
"""

from pfbench.checking.findings import CheckReport, CheckResult
from pfbench.checking.resolver import KINDS, check

__all__ = ["KINDS", "CheckReport", "CheckResult", "check"]
