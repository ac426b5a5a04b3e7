"""One update of a run that is followed: what was yielded, and what was asked for it."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pfbench.base.arrays import Floats
from pfbench.base.counts import Counts
from pfbench.base.state import Point, State
from pfbench.verification.instruments.witness import Witness
from pfbench.verification.seen import Seen
from pfbench.verification.subject import Raised, Untestable

MOST_ASKED = 200_000
"""Linear minimisations, or values of f, that one step may ask where it is followed.

No check asks conditional gradient sliding for more than its theorem's 150 000.
"""


@dataclass(frozen=True, slots=True)
class Step:
    """One update of an algorithm, and what it asked for it.

    Attributes
    ----------
    state
        What it yielded.
    minimised
        What reached the linear minimisation since the last update, in order.
    counts
        Returns the counts so far.
    before
        What reached the linear minimisation for the update before.
    seen
        Notes that the linear minimisation is queried along something else than the estimate.
    """

    state: State
    minimised: tuple[Any, ...]
    counts: Callable[[], Counts]
    before: tuple[Any, ...] = ()
    seen: Seen = field(default_factory=Seen, compare=False, repr=False)

    @property
    def at(self) -> Point:
        """Where the gradient estimate was formed.

        Raises
        ------
        Untestable
            If the algorithm does not say.
        """
        if self.state.at is None:
            raise Untestable("it does not yield `at`, where its gradient estimate was formed")
        return self.state.at

    @property
    def yielded(self) -> Floats:
        """The gradient estimate as it was yielded.

        Raises
        ------
        Untestable
            If it was not.
        """
        found = _floats(self.state.estimate)
        if found is None:
            raise Untestable("it does not yield `estimate`, its gradient estimate")
        return found

    @property
    def estimate(self) -> Floats:
        """The gradient estimate as it was yielded; else what reached the one `lo` of this step.

        Raises
        ------
        Untestable
            If neither is there.
        """
        asked = self.minimised[0] if len(self.minimised) == 1 else None
        if not isinstance(asked, np.ndarray):
            return self.yielded
        yielded = _floats(self.state.estimate)
        if yielded is None:
            return asked
        # An algorithm may normalise it first, or minimise a step ahead.
        recent = (asked, *self.before)
        self.seen.has_other_direction |= not any(is_multiple(yielded, g) for g in recent)
        return yielded


def is_direction(g: Floats) -> bool:
    """Return whether an array has length 1, as a gradient has that was normalised."""
    return abs(float(np.linalg.norm(g)) - 1.0) <= 1e-12


def is_multiple(g: Floats, of: Any) -> bool:
    """Return whether an array is a positive multiple of another one, up to rounding."""
    if not isinstance(of, np.ndarray) or g.shape != of.shape:
        return False
    one, other = float(np.linalg.norm(g)), float(np.linalg.norm(of))
    if not (one and other):
        return one == other
    return bool(np.linalg.norm(g / one - of / other) <= 1e-9)


class Recorder(Witness):
    """A witness that keeps what reaches `lo` in a step.

    Inner loops ask `lo` or `value`: one that does not end is stopped, by `Raised`.
    """

    def __init__(self, backend: Any) -> None:
        super().__init__(backend)
        self.begin()

    def begin(self) -> None:
        """Begin a step, of which nothing is noted yet."""
        self.minimised: list[Any] = []
        self._values = 0

    def _note(self, verb: str, *arguments: Any) -> None:
        super()._note(verb, *arguments)
        if verb == "lo":
            (g,) = arguments
            self.minimised.append(np.array(g) if isinstance(g, np.ndarray) else g)
            _check_end(len(self.minimised), "linear minimisations")
        elif verb == "value":
            self._values += 1
            _check_end(self._values, "values")


def _check_end(asked: int, what: str) -> None:
    """Refuse a step that asks so much that it will not end."""
    if asked > MOST_ASKED:
        raise Raised(f"one of its steps does not end: it has asked {asked} {what}")


def _floats(g: Any) -> Floats | None:
    """Return a gradient as an array of floats; None where there is none, or it is no such array."""
    try:
        return None if g is None else np.asarray(g, dtype=np.float64)
    except (TypeError, ValueError):
        return None
