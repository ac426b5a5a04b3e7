"""What is known of a method while claims are still being tested on it."""

import threading
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Self

from pfbench.cli.progress import SHARE, Steps, told
from pfbench.cli.words import plural

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


def soon_verified(
    session: "Session", claims: "Sequence[Claim]", subject: "Subject", steps: Steps
) -> "Verification":
    """Put claims to the test, first those in which something is known soon; tell what is known."""
    from pfbench.claims.catalogue import soonest_known

    with Known(claims, session.effort, session.engine.slots, steps) as known:
        soon = replace(session, progress=known.count, order=soonest_known(session.effort))
        return soon.verify(claims, subject)


class Known:
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

    def __init__(self, claims: "Sequence[Claim]", effort: str, slots: int, steps: Steps) -> None:
        self._steps, self._slots = steps, slots
        self._open = {one.name: one.seconds(effort) for one in claims}
        self._rows: list[Verdict] = []
        self._expected = self._took = 0.0
        self._timer = threading.Timer(AFTER, lambda: steps.say(self.in_words()))
        self._timer.daemon = True

    def __enter__(self) -> Self:
        self._steps.left = self.left
        self._timer.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._timer.cancel()

    def count(self, row: "Verdict", made: bool) -> None:
        """Note one more verdict, and whether it was made now (not found in the store)."""
        usual = self._open.pop(row.claim.name, 0.0)
        if made:
            self._expected, self._took = self._expected + usual, self._took + row.seconds
        self._rows.append(row)
        self._steps.count(row, made)

    def left(self) -> float | None:
        """Return the seconds that the others will take; None if nothing was made yet.

        Each takes its usual time, longer or shorter as those that were made did. They are begun in
        their order, so that the last one may run alone.
        """
        if not self._expected:
            return None
        rest = list(self._open.values())
        alone = max(rest, default=0.0)
        return self._took / self._expected * max(alone, sum(rest) / self._slots)

    def in_words(self) -> str:
        """Return what is known, by verdicts, and what is not."""
        from pfbench.verification.outcomes import Verification
        from pfbench.verification.summaries import in_words

        wrong = [row.claim.name for row in self._rows if row.wrong]
        total = len(self._rows) + len(self._open)
        which = f" (not as it should be: {', '.join(wrong)})" if wrong else ""
        found = in_words(Verification(self._rows).summary) or "nothing"
        names = list(self._open)
        others = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
        left = self.left() if len(self._rows) >= SHARE * total else None
        return (
            f"so far, of {plural(total, 'claim')}: {found}{which}; to come: "
            f"{', '.join(names[:_NAMED])}{others}{told(left)}"
        )
