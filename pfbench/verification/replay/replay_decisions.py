"""Decisions between two readings of one transcript, and how the next reading is chosen."""

from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True)
class ReadingDecision:
    """One choice between readings of a transcript, and for how many steps it can be revised.

    Attributes
    ----------
    step
        The step at which it was made.
    revisable_steps
        The number of steps within which it can prove wrong.
    option_count, chosen
        How many options there are, and which was taken.
    """

    step: int
    revisable_steps: int
    option_count: int
    chosen: int


@dataclass
class ReadingDecisions:
    """The decisions of one replay.

    Attributes
    ----------
    forced
        What is decided first, one after the other; from then on the likeliest option is taken.
    log
        The decisions so far.
    """

    forced: Sequence[int] = ()
    log: list[ReadingDecision] = field(default_factory=list)

    def choose_option(self, step: int, option_count: int, revisable_steps: int = 2) -> int:
        """Return the index of the option to take, 0 being the likeliest."""
        position = len(self.log)
        chosen = self.forced[position] if position < len(self.forced) else 0
        self.log.append(ReadingDecision(step, revisable_steps, option_count, chosen))
        return chosen

    def revise_decisions(self, step: int) -> list[int] | None:
        """Return other decisions after a mismatch at a step; None if there are none.

        The newest decision that is still open is changed.
        """
        for index in range(len(self.log) - 1, -1, -1):
            decision = self.log[index]
            if (
                decision.step + decision.revisable_steps >= step
                and decision.chosen + 1 < decision.option_count
            ):
                return [*(before.chosen for before in self.log[:index]), decision.chosen + 1]
        return None
