"""The ledger: exact counts, the budget, the time limit, and the time spent inside oracles."""

import math
from time import perf_counter

from pfbench.base.counts import COUNTED, Budget, Counts
from pfbench.base.errors import BudgetExhausted, TimeLimitReached

FO, SFO, SSO, HVP, LO, PO, FV = range(len(COUNTED))


class Ledger:
    """Counts of one run; only the oracles write to it.

    Parameters
    ----------
    budget
        What the run may spend.
    deadline
        Time on the clock of `time.perf_counter` after which every call raises `TimeLimitReached`.

    Attributes
    ----------
    seconds
        Time spent inside the backend, in seconds.
    ended
        Why no further call is answered; empty while the run may go on.
    """

    __slots__ = ("deadline", "ended", "limits", "seconds", "spent")

    def __init__(self, budget: Budget | None = None, deadline: float = math.inf) -> None:
        self.spent = [0] * len(COUNTED)
        self.limits = [getattr(budget or Budget(), name) for name in COUNTED]
        self.deadline = deadline
        self.seconds = 0.0
        self.ended = ""

    def counts(self) -> Counts:
        """Return the counts so far."""
        return Counts(*self.spent)

    def charge(self, kind: int, amount: int) -> float:
        """Charge a call before it is made, and return the time at which it starts.

        Raises
        ------
        BudgetExhausted, TimeLimitReached
            If the call would exceed a limit, or an earlier one did (even where the algorithm
            swallowed that exception); the counts stay as they were.
        """
        now = perf_counter()
        total = self.spent[kind] + amount
        if self.ended or total > self.limits[kind]:
            self._refuse(kind, total)
        if now > self.deadline:
            raise TimeLimitReached
        self.spent[kind] = total
        return now

    def charge_gradient(self, n: int) -> float:
        """Charge one full gradient, 1 FO and n SFO, as `charge` does."""
        if self.spent[FO] + 1 > self.limits[FO]:
            self._refuse(FO, self.spent[FO] + 1)
        started = self.charge(SFO, n)
        self.spent[FO] += 1
        return started

    def stop(self, started: float) -> None:
        """Add the time since `started` to the time spent inside the backend."""
        self.seconds += perf_counter() - started

    def _refuse(self, kind: int, total: int) -> None:
        if not self.ended:
            name, limit = COUNTED[kind], self.limits[kind]
            self.ended = (
                f"the next call would make {total} {name}, beyond the budget of {limit:.15g}"
            )
        raise BudgetExhausted(self.ended)
