"""Choices between several readings of a recorded run's draws, with backtracking."""

from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True)
class ReadingDecision:
    """Choice between possible draws of a recorded run, which a later mismatch may revise.

    Attributes
    ----------
    step
        The step of the decision.
    revisable_steps
        Number of steps within which a mismatch may show that it was wrong.
    option_count, chosen
        Number of options, and index of the chosen one.
    """

    step: int
    revisable_steps: int
    option_count: int
    chosen: int


@dataclass
class ReadingDecisions:
    """Choices made while one recorded run is compared with its reference implementation.

    Attributes
    ----------
    forced
        Options of the first decisions, in order; all later decisions take option 0, the likeliest.
    log
        The decisions so far.
    """

    forced: Sequence[int] = ()
    log: list[ReadingDecision] = field(default_factory=list)

    def choose_option(self, step: int, option_count: int, revisable_steps: int = 2) -> int:
        """Return the index of the option to take, and log it; option 0 is the likeliest."""
        position = len(self.log)
        chosen = self.forced[position] if position < len(self.forced) else 0
        self.log.append(ReadingDecision(step, revisable_steps, option_count, chosen))
        return chosen

    def revise_decisions(self, step: int) -> list[int] | None:
        """Return the options to take in the next attempt after a mismatch at `step`.

        They take the next option at the newest choice that may still be revised. Return None if no
        choice may be.
        """
        for index in range(len(self.log) - 1, -1, -1):
            decision = self.log[index]
            if (
                decision.step + decision.revisable_steps >= step
                and decision.chosen + 1 < decision.option_count
            ):
                return [*(before.chosen for before in self.log[:index]), decision.chosen + 1]
        return None
