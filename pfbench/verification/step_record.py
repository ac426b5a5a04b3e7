"""Records of runs: the state and the oracle calls of each step, and the largest sizes."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np

from pfbench.base.arrays import Floats
from pfbench.base.counts import Counts
from pfbench.base.protocols import Problem
from pfbench.base.state import Point, State
from pfbench.verification.instruments.oracle_tally import ComponentTally
from pfbench.verification.subject import MethodFailed, NotTestable

MAX_CALLS_PER_STEP = 200_000
"""Maximum number of linear minimisations, or of values of f, in one step of a followed run.

Conditional gradient sliding needs at most the 150 000 of its theorem in any check.
"""


HORIZONS = "horizons"
"""Key of the tested horizons among the measured values of a verdict."""

_SIZES = ("n", "d", "T", "components")

_STEP, _ENTRY = 1e-4, 2e-9
"""Typical seconds of a step, and of one entry of a gradient, on one core."""


@dataclass
class CoveredSizes:
    """Largest sizes of the problems and runs in the check of a claim.

    Attributes
    ----------
    n, d
        Number of components, and of entries of a point.
    T
        Number of iterations.
    components
        Number of distinct components queried in one run, if they are counted.
    work
        Estimated seconds of all runs together, from their steps and calls.
    horizons
        The horizons that were tested, if there were several.
    has_other_direction
        Whether the method queries `lo` at something else than its yielded estimate.
    """

    n: int = 0
    d: int = 0
    T: int = 0
    components: int = 0
    work: float = 0.0
    horizons: tuple[int, ...] = ()
    has_other_direction: bool = False

    def add_run(self, problem: Problem, iterations: int, tally: Any) -> None:
        """Include a run of `iterations` steps on a problem, with its oracle calls in `tally`."""
        d = prod(getattr(problem.start(), "shape", ()))
        n = int(problem.n or 0)
        result = (n, int(d), iterations, tally.distinct_components)
        for name, number in zip(_SIZES, result, strict=True):
            setattr(self, name, max(getattr(self, name), number))
        measured = iterations * (_STEP + 2.0 * _ENTRY * n * d)
        self.work += measured + _ENTRY * d * sum(tally.charged)

    def reset(self, sizes: "CoveredSizes") -> None:
        """Set all sizes to those of another object, e.g. of a copy made earlier."""
        vars(self).update(vars(sizes))

    @property
    def as_measured(self) -> dict[str, Any]:
        """Sizes by name, as entries of a verdict's measured values; empty if no run was added."""
        if not self.T:
            return {}
        sizes = {f"largest {name}": float(getattr(self, name)) for name in _SIZES}
        group = {HORIZONS: list(self.horizons)} if self.horizons else {}
        return {name: number for name, number in sizes.items() if number > 0.0} | group


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


def sizes_in_words(measured: Mapping[str, Any], with_horizons: bool = False) -> str:
    """Return the largest tested sizes of a verdict as text, e.g. "T <= 3 200, n <= 64, d <= 3".

    With `with_horizons`, the text lists all tested horizons if there were several.
    """
    sizes = {name: measured.get(f"largest {name}") for name in ("T", "n", "d")}
    parts = [f"{name} <= {_format_thousands(size)}" for name, size in sizes.items() if size]
    group = measured.get(HORIZONS) if with_horizons else None
    if group and parts:
        parts[0] = f"T = {', '.join(map(_format_thousands, group))}"
    return ("; " if group else ", ").join(parts)


def _format_thousands(number: float) -> str:
    return f"{int(number):,}".replace(",", " ")
