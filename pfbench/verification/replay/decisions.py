"""Decisions between two readings of one transcript, and how the next reading is chosen."""

from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Decision:
    """One decision.

    Attributes
    ----------
    step
        The step at which it was made.
    horizon
        The number of steps within which it can prove wrong.
    options, chosen
        How many options there are, and which was taken.
    """

    step: int
    horizon: int
    options: int
    chosen: int


@dataclass
class Decisions:
    """The decisions of one replay.

    Attributes
    ----------
    forced
        What is decided first, one after the other; from then on the likeliest option is taken.
    made
        The decisions so far.
    """

    forced: Sequence[int] = ()
    made: list[Decision] = field(default_factory=list)

    def decide(self, step: int, options: int, horizon: int = 2) -> int:
        """Return which of some options is taken, the likeliest being 0."""
        place = len(self.made)
        chosen = self.forced[place] if place < len(self.forced) else 0
        self.made.append(Decision(step, horizon, options, chosen))
        return chosen

    def next_reading(self, step: int) -> list[int] | None:
        """Return other decisions after a mismatch at a step; None if there are none.

        The newest decision that is still open is changed.
        """
        for place in range(len(self.made) - 1, -1, -1):
            one = self.made[place]
            if one.step + one.horizon >= step and one.chosen + 1 < one.options:
                return [*(before.chosen for before in self.made[:place]), one.chosen + 1]
        return None
