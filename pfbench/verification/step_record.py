"""One step of a followed run: the yielded state, and the oracle calls of the step."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pfbench.base.arrays import Floats
from pfbench.base.counts import Counts
from pfbench.base.state import Point, State
from pfbench.verification.coverage import CoveredSizes
from pfbench.verification.instruments.oracle_tally import ComponentTally
from pfbench.verification.subject import MethodFailed, NotTestable

MAX_CALLS_PER_STEP = 200_000
"""Linear minimisations, or values of f, that one step may ask where it is followed.

No check asks conditional gradient sliding for more than its theorem's 150 000.
"""


@dataclass(frozen=True, slots=True)
class StepRecord:
    """One update of an algorithm, and what it asked for it.

    Attributes
    ----------
    state
        What it yielded.
    lo_inputs
        What reached the linear minimisation since the last update, in order.
    counts
        Returns the counts so far.
    previous
        What reached the linear minimisation for the update before.
    coverage
        Notes that the linear minimisation is queried along something else than the estimate.
    """

    state: State
    lo_inputs: tuple[Any, ...]
    counts: Callable[[], Counts]
    previous: tuple[Any, ...] = ()
    coverage: CoveredSizes = field(default_factory=CoveredSizes, compare=False, repr=False)

    @property
    def estimate_point(self) -> Point:
        """Point at which the gradient estimate was formed.

        Raises
        ------
        NotTestable
            If the algorithm does not say.
        """
        if self.state.at is None:
            raise NotTestable("it does not yield `at`, where its gradient estimate was formed")
        return self.state.at

    @property
    def estimate_yielded(self) -> Floats:
        """The gradient estimate as it was yielded.

        Raises
        ------
        NotTestable
            If it was not.
        """
        floats = _floats(self.state.estimate)
        if floats is None:
            raise NotTestable("it does not yield `estimate`, its gradient estimate")
        return floats

    @property
    def estimate(self) -> Floats:
        """The gradient estimate as it was yielded; else what reached the one `lo` of this step.

        Raises
        ------
        NotTestable
            If neither is there.
        """
        lo_input = self.lo_inputs[0] if len(self.lo_inputs) == 1 else None
        if not isinstance(lo_input, np.ndarray):
            return self.estimate_yielded
        yielded = _floats(self.state.estimate)
        if yielded is None:
            return lo_input
        # An algorithm may normalise it first, or minimise a step ahead.
        recent = (lo_input, *self.previous)
        self.coverage.has_other_direction |= not any(is_multiple(yielded, g) for g in recent)
        return yielded


def is_unit_length(g: Floats) -> bool:
    """Return whether an array has length 1, as a gradient has that was normalised."""
    return abs(float(np.linalg.norm(g)) - 1.0) <= 1e-12


def is_multiple(g: Floats, source: Any) -> bool:
    """Return whether an array is a positive multiple of another one, up to rounding."""
    if not isinstance(source, np.ndarray) or g.shape != source.shape:
        return False
    norm, other = float(np.linalg.norm(g)), float(np.linalg.norm(source))
    if not (norm and other):
        return norm == other
    return bool(np.linalg.norm(g / norm - source / other) <= 1e-9)


class StepRecorder(ComponentTally):
    """A component tally that also keeps the inputs of `lo` in the present step.

    Inner loops ask `lo` or `value`: one that does not end is stopped, by `MethodFailed`.
    """

    def __init__(self, backend: Any) -> None:
        super().__init__(backend)
        self.start_step()

    def start_step(self) -> None:
        """Begin a step, of which nothing is noted yet."""
        self.lo_inputs: list[Any] = []
        self._values = 0

    def _note(self, verb: str, arguments: tuple[Any, ...]) -> None:
        super()._note(verb, arguments)
        if verb == "lo":
            (g,) = arguments
            self.lo_inputs.append(np.array(g) if isinstance(g, np.ndarray) else g)
            _check_call_limit(len(self.lo_inputs), "linear minimisations")
        elif verb == "value":
            self._values += 1
            _check_call_limit(self._values, "values")


def _check_call_limit(asked_count: int, subject: str) -> None:
    """Refuse a step that asks so much that it will not end."""
    if asked_count > MAX_CALLS_PER_STEP:
        raise MethodFailed(f"one of its steps does not end: it has asked {asked_count} {subject}")


def _floats(g: Any) -> Floats | None:
    """Return a gradient as an array of floats; None where there is none, or it is no such array."""
    try:
        return None if g is None else np.asarray(g, dtype=np.float64)
    except (TypeError, ValueError):
        return None
