"""Status of a run, and verdict on a claim."""

from enum import StrEnum
from typing import Any, Self


class Status(StrEnum):
    """Status of a run; its string value is the word in JSON, tables and stores."""

    TARGET = "target"
    BUDGET = "budget"
    FINISHED = "finished"
    TIMEOUT = "timeout"
    DIVERGED = "diverged"
    ERROR = "error"
    KILLED = "killed"
    REFUSED = "refused"

    @property
    def end_reason(self) -> str:
        """Reason why a run with this status has ended, in words."""
        return _MEANINGS[self]

    @property
    def is_completed(self) -> bool:
        """Whether the run ended with a result: at the target, a limit, or the last iteration."""
        return self in (Status.FINISHED, Status.TARGET, Status.BUDGET, Status.TIMEOUT)

    @property
    def is_killed(self) -> bool:
        """Whether the run was killed, so that it says nothing about its algorithm."""
        return self is Status.KILLED


_MEANINGS = {
    Status.TARGET: "a target was reached",
    Status.BUDGET: "the next oracle call would have exceeded the budget",
    Status.FINISHED: "the schedule ran out",
    Status.TIMEOUT: "the time limit was reached",
    Status.DIVERGED: "a number that must be finite was not",
    Status.ERROR: "the algorithm, an oracle or a measure raised an exception",
    Status.KILLED: "the run was interrupted",
    Status.REFUSED: "the run was refused before its first call",
}


class Verdict(StrEnum):
    """Verdict on a claim; its string value is the word in JSON and stores.

    ``docs/claims.md`` has the conditions. The words are also explained in ``docs/glossary.md``,
    ``docs/reviewing-a-rate.md``, ``docs/notebooks/claimed-rate.ipynb``, ``SKILL.md``, and in the
    help of ``cli/verify.py``: change all of them together.
    """

    HOLDS = "holds"
    WITHIN_10 = "within-10"
    ATTAINED = "attained"
    VIOLATED = "violated"
    FAILED = "failed"
    DISPUTED = "disputed"
    INCONCLUSIVE = "inconclusive"

    @classmethod
    def _missing_(cls, value: object) -> Self | None:
        return cls(_FORMER_NAMES[value]) if value in _FORMER_NAMES else None

    @property
    def rank_from_worst(self) -> int:
        """Position of the verdict in the order from the worst, 0, to the best."""
        return _WORST_FIRST.index(self)

    @property
    def is_wrong(self) -> bool:
        """Whether the claim was found to be violated, or the method failed."""
        return self in (Verdict.VIOLATED, Verdict.FAILED)

    @property
    def keeps_bound(self) -> bool:
        """Whether the verdict says that a bound is respected: "holds", "within-10", "attained"."""
        return self in (Verdict.HOLDS, *NEAR)

    @property
    def terminal_style(self) -> str:
        """Style, such as a colour, in which a terminal shows the verdict."""
        return _COLOURS[self]


NEAR = (Verdict.WITHIN_10, Verdict.ATTAINED)
"""Verdicts on a bound of which at least a tenth was measured."""

_FORMER_NAMES: dict[Any, str] = {"tight": "within-10"}
"""Present names of verdicts, by their names in older stores and archives."""

VERDICT_NAMES = (*Verdict, *_FORMER_NAMES)
"""Names of verdicts that are accepted as input, including former names."""

_WORST_FIRST = (
    *(Verdict.VIOLATED, Verdict.FAILED, Verdict.INCONCLUSIVE, Verdict.DISPUTED),
    *(Verdict.HOLDS, *NEAR),
)

_COLOURS = {
    Verdict.HOLDS: "green",
    **dict.fromkeys(NEAR, "bold green"),
    **dict.fromkeys((Verdict.VIOLATED, Verdict.FAILED), "bold red"),
    Verdict.DISPUTED: "magenta",
    Verdict.INCONCLUSIVE: "yellow",
}
