"""Checks of what a researcher brings: algorithms, estimators, sets, problems and penalties.

Each is held to its own definition, on small problems or on his: see `check`.
"""

from pfbench.checking.door import KINDS, check
from pfbench.checking.findings import Finding, Findings

__all__ = ["KINDS", "Finding", "Findings", "check"]
