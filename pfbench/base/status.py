"""Status of a run: the reason for its end, and its consequences."""

from enum import StrEnum


class Status(StrEnum):
    """Status of a run; its text is the word in JSON, tables and stores."""

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
        """Reason for the end of the run, in words."""
        return _MEANINGS[self]

    @property
    def is_completed(self) -> bool:
        """Whether the run ended with an answer that no larger budget would change."""
        return self in (Status.FINISHED, Status.TARGET, Status.BUDGET, Status.TIMEOUT)

    @property
    def is_void(self) -> bool:
        """Whether the run says nothing about its algorithm, so that any other run replaces it."""
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
