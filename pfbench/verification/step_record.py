"""Record of one step of an algorithm: the yielded state, and the oracle calls of the step."""

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
"""Maximum number of linear minimisations, or of values of f, in one step of a followed run.

Conditional gradient sliding needs at most the 150 000 of its theorem in any check.
"""


@dataclass(frozen=True, slots=True)
class StepRecord:
    """Record of one step of an algorithm: its state, and the inputs of linear minimisations.

    Attributes
    ----------
    state
        The yielded state.
    lo_inputs
        Inputs of `lo` in this step, in order.
    counts
        Function that returns the counts so far.
    previous
        Inputs of `lo` in the step before.
    coverage
        Sizes of the trial, which also record whether `lo` gets something else than the estimate.
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
            If the algorithm does not yield `at`.
        """
        if self.state.at is None:
            raise NotTestable(
                "the method yields no `at`, the point of its gradient estimate: yield State(x, at)"
            )
        return self.state.at

    @property
    def estimate_yielded(self) -> Floats:
        """Gradient estimate that the algorithm yields in its state.

        Raises
        ------
        NotTestable
            If the algorithm does not yield `estimate`.
        """
        floats = _as_floats_or_none(self.state.estimate)
        if floats is None:
            raise NotTestable(
                "the method yields no gradient estimate: yield State(x, at, estimate)"
            )
        return floats

    @property
    def estimate(self) -> Floats:
        """Gradient estimate of the step: the yielded one, or else the input of its only `lo` call.

        Raises
        ------
        NotTestable
            If the step has neither.
        """
        lo_input = self.lo_inputs[0] if len(self.lo_inputs) == 1 else None
        if not isinstance(lo_input, np.ndarray):
            return self.estimate_yielded
        yielded = _as_floats_or_none(self.state.estimate)
        if yielded is None:
            return lo_input
        # An algorithm may normalise it first, or minimise a step ahead.
        recent = (lo_input, *self.previous)
        self.coverage.has_other_direction |= not any(
            is_positive_multiple(yielded, g) for g in recent
        )
        return yielded


def is_unit_length(g: Floats) -> bool:
    """Return whether an array has norm 1 up to rounding, as a normalised gradient has."""
    return abs(float(np.linalg.norm(g)) - 1.0) <= 1e-12


def is_positive_multiple(g: Floats, source: Any) -> bool:
    """Return whether g is a positive multiple of `source`, up to rounding."""
    if not isinstance(source, np.ndarray) or g.shape != source.shape:
        return False
    norm, other = float(np.linalg.norm(g)), float(np.linalg.norm(source))
    if not (norm and other):
        return norm == other
    return bool(np.linalg.norm(g / norm - source / other) <= 1e-9)


class StepRecorder(ComponentTally):
    """Tally of oracle calls that also stores the inputs of linear minimisations in a step.

    It raises `MethodFailed` if a step makes so many calls of `lo` or `value` that it seems endless.
    """

    def __init__(self, backend: Any) -> None:
        super().__init__(backend)
        self.start_step()

    def start_step(self) -> None:
        """Begin a step: forget the inputs of `lo`, and set the number of `value` calls to 0."""
        self.lo_inputs: list[Any] = []
        self._values = 0

    def _count(self, verb: str, arguments: tuple[Any, ...], answer: Any) -> None:
        super()._count(verb, arguments, answer)
        if verb == "lo":
            (g,) = arguments
            self.lo_inputs.append(np.array(g) if isinstance(g, np.ndarray) else g)
            _check_step_call_limit(len(self.lo_inputs), "linear minimisations")
        elif verb == "value":
            self._values += 1
            _check_step_call_limit(self._values, "value calls")


def _check_step_call_limit(call_count: int, oracle_calls: str) -> None:
    """Raise `MethodFailed` if a step has made too many calls."""
    if call_count > MAX_CALLS_PER_STEP:
        raise MethodFailed(f"a step of the method did not end: it made {call_count} {oracle_calls}")


def _as_floats_or_none(g: Any) -> Floats | None:
    """Return a gradient as a float64 array; None if it is None or cannot be converted."""
    try:
        return None if g is None else np.asarray(g, dtype=np.float64)
    except (TypeError, ValueError):
        return None
