"""Ledger of one run: exact counts, the budget, the time limit, and the time inside oracles."""

import math
from collections.abc import Callable
from time import perf_counter
from typing import Any, TypeVar

from pfbench.base.counts import COUNTED, Budget, Counts
from pfbench.base.errors import BudgetExhausted, TimeLimitReached
from pfbench.base.sample import MOST_COUNTED

FO, SFO, SSO, HVP, LO, PO, FV, LLO = range(len(COUNTED))

Answer = TypeVar("Answer")

Charges = tuple[tuple[int, int], ...]
"""Cost of a call: pairs of a count and an amount."""


class Ledger:
    """Oracle counts of one run; only the oracles write to it.

    Parameters
    ----------
    budget
        Budget of the run.

    Attributes
    ----------
    deadline
        Time on the clock of `time.perf_counter` after which a call raises `TimeLimitReached`.
    counts_array, limits
        The counts so far and the budget, in the order of `COUNTED`.
    seconds
        Time spent inside the backend, in seconds.
    end_reason
        Reason why further calls raise; empty while the run may continue.
    is_late
        Whether a call raised because the deadline had passed.
    overflowing
        Whether calls raise because a count would no longer be exact, rather than for the budget.
    """

    __slots__ = (
        *("counts_array", "deadline", "end_reason", "is_late", "limits", "overflowing"),
        "seconds",
    )

    def __init__(self, budget: Budget | None = None) -> None:
        self.counts_array = [0] * len(COUNTED)
        allowed = budget or Budget()
        self.limits = [min(getattr(allowed, name), MOST_COUNTED) for name in COUNTED]
        self.deadline = math.inf
        self.seconds = 0.0
        self.end_reason, self.overflowing, self.is_late = "", False, False

    def start_clock(self, deadline: float) -> None:
        """Start the run's clock; oracle calls after `deadline` raise an error."""
        self.deadline = deadline

    def stop_clock(self) -> None:
        """Stop the run's clock; until it starts again, no deadline applies to oracle calls."""
        self.deadline = math.inf

    def counts(self) -> Counts:
        """Return the numbers of oracle calls so far, by kind."""
        return Counts(*map(int, self.counts_array))

    def charge(self, charges: Charges, call: Callable[..., Answer], *arguments: Any) -> Answer:
        """Count an oracle call, execute it, add its time to the oracle time, and return its answer.

        Raises
        ------
        BudgetExhausted
            If the call would exceed a limit, or an earlier one did (even where the algorithm
            swallowed that exception); the counts do not change.
        TimeLimitReached
            If the deadline has passed; the counts do not change.
        """
        started = perf_counter()
        if started > self.deadline:
            self.is_late = True
            raise TimeLimitReached
        counts, limits = self.counts_array, self.limits
        for kind, amount in charges:
            if counts[kind] + amount > limits[kind]:
                self._refuse(kind, amount)
        for kind, amount in charges:
            counts[kind] += amount
        answer = call(*arguments)
        self.seconds += perf_counter() - started
        return answer

    def _refuse(self, kind: int, amount: int) -> None:
        if not self.end_reason:
            total, limit = self.counts_array[kind] + amount, self.limits[kind]
            self.overflowing = total > MOST_COUNTED
            excess = f"the budget of {limit:.15g}"
            if self.overflowing:
                excess = "2^53 - 1, the largest exact count"
            self.end_reason = f"the next call makes {total} {COUNTED[kind].upper()}, above {excess}"
            self.limits[:] = [-1] * len(COUNTED)
        raise BudgetExhausted(self.end_reason)
