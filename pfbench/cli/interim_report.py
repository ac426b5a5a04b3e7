"""Interim summary of the verdicts while claims are still being verified."""

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
"""Seconds after which the summary is printed."""

_NAMED = 3
"""Maximum number of remaining claims that are named."""


def verify_informative_first(
    session: "Session", claims: "Sequence[Claim]", subject: "Subject", steps: StepProgress
) -> "Verification":
    """Verify claims, those on methods and then quick ones first, with an interim summary."""
    from pfbench.claims.catalogue import methods_first_then_quickest_key

    with InterimReport(claims, session.effort, session.engine.slots, steps) as report:
        soon = replace(
            session, progress=report.count, order=methods_first_then_quickest_key(session.effort)
        )
        return soon.verify(claims, subject)


class InterimReport:
    """Verdicts so far, and the remaining time; printed once, after `AFTER` seconds.

    Parameters
    ----------
    claims
        Claims to be verified.
    effort
        "quick" or "full".
    slots
        Number of concurrent checks.
    steps
        Progress that counts and prints the verdicts.
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
        """Record one more verdict, and whether it was computed now (not cached)."""
        usual = self._open.pop(row.claim.name, 0.0)
        if created:
            self._expected_seconds, self._took = (
                self._expected_seconds + usual,
                self._took + row.seconds,
            )
        self._rows.append(row)
        self._steps.count(row, created)

    def seconds_left(self) -> float | None:
        """Return the estimated remaining seconds; None if nothing was computed yet.

        The estimate scales the expected time of each claim by the ratio observed so far. The
        longest remaining claim may be the last, and run alone.
        """
        if not self._expected_seconds:
            return None
        rest = list(self._open.values())
        alone = max(rest, default=0.0)
        return self._took / self._expected_seconds * max(alone, sum(rest) / self._slots)

    def format(self) -> str:
        """Return the summary: verdicts so far, and remaining claims."""
        from pfbench.verification.outcomes import Verification
        from pfbench.verification.summaries import format_summary

        wrong = [row.claim.name for row in self._rows if row.is_wrong]
        total = len(self._rows) + len(self._open)
        which = f" (unexpected: {', '.join(wrong)})" if wrong else ""
        summary = format_summary(Verification(self._rows).summary)
        names = list(self._open)
        rest = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
        left = self.seconds_left() if len(self._rows) >= SHARE * total else None
        return (
            f"{len(self._rows)} of {format_plural(total, 'claim')} verified"
            f"{': ' * bool(summary)}{summary}{which}; remaining: "
            f"{', '.join(names[:_NAMED])}{rest}{format_remaining(left)}"
        )
