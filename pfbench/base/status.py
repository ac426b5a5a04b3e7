"""The status of a run: why it ended, and what that says."""

from enum import StrEnum


class Status(StrEnum):
    """The status of a run; as text the word that JSON, tables and stores have."""

    TARGET = "target"
    BUDGET = "budget"
    FINISHED = "finished"
    TIMEOUT = "timeout"
    DIVERGED = "diverged"
    ERROR = "error"
    KILLED = "killed"
    REFUSED = "refused"

    @property
    def meaning(self) -> str:
        """Reason for the end of the run, in words."""
        return _MEANINGS[self]

    @property
    def has_answer(self) -> bool:
        """Whether the run ended with an answer, which stays its answer at any later count."""
        return self in (Status.FINISHED, Status.TARGET, Status.BUDGET, Status.TIMEOUT)

    @property
    def is_void(self) -> bool:
        """Whether the run says nothing about its algorithm: any other run replaces it."""
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
