"""Result of a check."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pfbench.verification.statistics import Decision


@dataclass(frozen=True)
class Evidence:
    """The outcome of a check.

    Attributes
    ----------
    decision
        Verdict, reason and what was measured.
    claimed
        What the claim says of the measured numbers, by name.
    repetitions
        Number of runs (or of independent cases) behind it.
    """

    decision: Decision
    claimed: Mapping[str, Any] = field(default_factory=dict)
    repetitions: int = 1
