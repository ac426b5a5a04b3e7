"""What is known of a method while claims are still being tested on it."""

import threading
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Self

from pfbench.cli.formatting import format_plural
from pfbench.cli.progress import SHARE, StepProgress, format_remaining

if TYPE_CHECKING:
    from pfbench.verification.claim import Claim
    from pfbench.verification.outcomes import Verification
    from pfbench.verification.session import Session
    from pfbench.verification.subject import Subject
    from pfbench.verification.verdict import Verdict

AFTER = 20.0
"""Seconds after which it is told."""

_NAMED = 3
"""So many claims that are still open are named."""


def verify_informative_first(
    session: "Session", claims: "Sequence[Claim]", subject: "Subject", steps: StepProgress
) -> "Verification":
    """Put claims to the test, first those in which something is known soon; tell what is known."""
    from pfbench.claims.catalogue import methods_first_then_quickest_key

    with InterimReport(claims, session.effort, session.engine.slots, steps) as report:
        soon = replace(
            session, progress=report.count, order=methods_first_then_quickest_key(session.effort)
        )
        return soon.verify(claims, subject)


class InterimReport:
    """The verdicts so far, and the time that the others will take; told once, after `AFTER`.

    Parameters
    ----------
    claims
        What is tested.
    effort
        By which effort.
    slots
        How many at a time.
    steps
        Counts them, and says so.
    """

    def __init__(
        self, claims: "Sequence[Claim]", effort: str, slots: int, steps: StepProgress
    ) -> None:
        self._steps, self._slots = steps, slots
        self._open = {claim.name: claim.seconds(effort) for claim in claims}
        self._rows: list[Verdict] = []
        self._expected_seconds = self._took = 0.0
        self._timer = threading.Timer(AFTER, lambda: steps.write_line(self.format()))
        self._timer.daemon = True

    def __enter__(self) -> Self:
        self._steps.remaining_seconds = self.seconds_left
        self._timer.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._timer.cancel()

    def count(self, row: "Verdict", created: bool) -> None:
        """Note one more verdict, and whether it was made now (not found in the store)."""
        usual = self._open.pop(row.claim.name, 0.0)
        if created:
            self._expected_seconds, self._took = (
                self._expected_seconds + usual,
                self._took + row.seconds,
            )
        self._rows.append(row)
        self._steps.count(row, created)

    def seconds_left(self) -> float | None:
        """Return the seconds that the others will take; None if nothing was made yet.

        Each takes its usual time, longer or shorter as those that were made did. They are begun in
        their order, so that the last one may run alone.
        """
        if not self._expected_seconds:
            return None
        rest = list(self._open.values())
        alone = max(rest, default=0.0)
        return self._took / self._expected_seconds * max(alone, sum(rest) / self._slots)

    def format(self) -> str:
        """Return what is known, by verdicts, and what is not."""
        from pfbench.verification.outcomes import Verification
        from pfbench.verification.summaries import format_summary

        wrong = [row.claim.name for row in self._rows if row.is_wrong]
        total = len(self._rows) + len(self._open)
        which = f" (not as it should be: {', '.join(wrong)})" if wrong else ""
        summary = format_summary(Verification(self._rows).summary) or "nothing"
        names = list(self._open)
        rest = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
        left = self.seconds_left() if len(self._rows) >= SHARE * total else None
        return (
            f"so far, of {format_plural(total, 'claim')}: {summary}{which}; to come: "
            f"{', '.join(names[:_NAMED])}{rest}{format_remaining(left)}"
        )
