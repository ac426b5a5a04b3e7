"""The ledger: exact counts, the budget, the time limit, and the time spent inside oracles."""

import math
from collections.abc import Callable
from time import perf_counter
from typing import Any, TypeVar

from pfbench.base.counts import COUNTED, Budget, Counts
from pfbench.base.errors import BudgetExhausted, TimeLimitReached
from pfbench.base.sample import MOST_COUNTED

FO, SFO, SSO, HVP, LO, PO, FV = range(len(COUNTED))

Answer = TypeVar("Answer")

Charges = tuple[tuple[int, int], ...]
"""What a call costs: pairs of a count and an amount."""

_QUIET_SECONDS = 1.2e-3
"""So long the ledger is quiet after a call: it counts the next ones, and reads no clock."""

_QUIET_CALLS = 63
"""So many calls like the last one are counted so at most."""


class Ledger:
    """Counts of one run; only the oracles write to it.

    Parameters
    ----------
    budget
        What the run may spend.

    Attributes
    ----------
    deadline
        Time on the clock of `time.perf_counter` after which a call raises `TimeLimitReached`.
    spent, limits
        The counts so far and the budget, in the order of `COUNTED`.
    quiet
        For SFO and LO, the count up to which calls need neither a clock nor a look at the budget.
    seconds
        Time spent inside the backend, in seconds; quick calls in between are taken to last as long,
        for each component gradient or linear minimisation, as the next one that is timed.
    ended
        Why no further call is answered; empty while the run may go on.
    overflowing
        Whether that is because a count would no longer be exact, and not the budget.
    """

    __slots__ = (
        *("_timed", "deadline", "ended", "limits", "overflowing", "quiet", "seconds"),
        "spent",
    )

    def __init__(self, budget: Budget | None = None) -> None:
        self.spent = [0] * len(COUNTED)
        allowed = budget or Budget()
        self.limits = [min(getattr(allowed, name), MOST_COUNTED) for name in COUNTED]
        self.deadline = math.inf
        self.seconds = 0.0
        self.ended, self.overflowing = "", False
        self.quiet = [0] * len(COUNTED)
        self._timed = [0] * len(COUNTED)

    def start(self, until: float) -> None:
        """Start the run's clock: from this time of `time.perf_counter` on, no call is answered."""
        self.deadline = until

    def stop(self) -> None:
        """Stop the run's clock: until it is started again, no call is late."""
        self.deadline = math.inf

    def counts(self) -> Counts:
        """Return the counts so far."""
        return Counts(*self.spent)

    def ask(self, charges: Charges, call: Callable[..., Answer], *arguments: Any) -> Answer:
        """Charge a call, make it, and add its time.

        Raises
        ------
        BudgetExhausted
            If the call would exceed a limit, or an earlier one did (even where the algorithm
            swallowed that exception); the counts stay as they were.
        TimeLimitReached
            If the deadline has passed; the counts stay as they were.
        """
        started = perf_counter()
        if started > self.deadline:
            self.quiet[:] = [0] * len(COUNTED)
            raise TimeLimitReached
        for kind, amount in charges:
            if self.spent[kind] + amount > self.limits[kind]:
                self._refuse(kind, amount)
        for kind, amount in charges:
            self.spent[kind] += amount
            self._timed[kind] += amount
            self.quiet[kind] = min(self.quiet[kind] + amount, self.limits[kind])
        answer = call(*arguments)
        self.seconds += perf_counter() - started
        return answer

    def ask_often(self, kind: int, amount: int, call: Callable[..., Answer], *a: Any) -> Answer:
        """As `ask`, for the verbs of inner loops: be quiet for a while, if calls are quick."""
        before = self.seconds
        untimed = self.spent[kind] - self._timed[kind]
        answer = self.ask(((kind, amount),), call, *a)
        took = self.seconds - before
        self.seconds += took * untimed / max(amount, 1)
        self._timed[kind] = self.spent[kind]
        further = min(_QUIET_CALLS, int(_QUIET_SECONDS / max(took, 1e-9))) * amount
        self.quiet[kind] = min(self.spent[kind] + further, self.limits[kind])
        return answer

    def _refuse(self, kind: int, amount: int) -> None:
        if not self.ended:
            total, limit = self.spent[kind] + amount, self.limits[kind]
            self.overflowing = total > MOST_COUNTED
            beyond = f"the budget of {limit:.15g}"
            if self.overflowing:
                beyond = "2^53 - 1, the most that is counted exactly"
            self.ended = f"the next call would make {total} {COUNTED[kind]}, beyond {beyond}"
            self.limits[:] = self.quiet[:] = [-1] * len(COUNTED)
        raise BudgetExhausted(self.ended)
