"""Result of the check of a claim."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pfbench.verification.statistics import Decision


@dataclass(frozen=True)
class Evidence:
    """Result of the check of a claim: decision, claimed values and number of runs.

    Attributes
    ----------
    decision
        Verdict, reason and measured numbers.
    claimed
        Claimed value of each measured number, by name.
    repetitions
        Number of runs, or of independent cases.
    """

    decision: Decision
    claimed: Mapping[str, Any] = field(default_factory=dict)
    repetitions: int = 1
