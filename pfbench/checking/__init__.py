"""Checks of what a researcher brings: algorithms, estimators, sets, problems and penalties.

Each is held to its own definition, on small problems or on his: see `check`.
"""

from pfbench.checking.findings import CheckReport, CheckResult
from pfbench.checking.resolver import KINDS, check

__all__ = ["KINDS", "CheckReport", "CheckResult", "check"]
