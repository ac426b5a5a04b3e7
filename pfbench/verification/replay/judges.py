"""Judges of recorded inner loops and line searches, whose exact steps a paper leaves open."""

from collections.abc import Callable
from typing import Any

import numpy as np

from pfbench.algorithms.frank_wolfe import line_search
from pfbench.base.arrays import Floats
from pfbench.points import combine, gap_and_distance, keep, tilt
from pfbench.verification.replay.oracles import MismatchError, ReplayOracles

_TIE = 1e-7
"""Relative distance within which a gap may count as below or above its tolerance."""

_END = 1e-8
"""Distance to an end of its segment within which a step may count as the end."""

_SNAP = 1e-11
"""Distance to an end of its segment within which a step counts as the end."""

_LOSS = 1e-6
"""Fraction of the decrease that an exact line search may lose."""

_VALUE_ROUNDING = 1e-13

_SAME = 1e-6
"""Relative difference up to which factors of directions count as equal."""

_MAX_INNER = 100_000


class RecordedChoiceJudges:
    """Replacements of `condg` and `line_search` that repeat the choices of a recorded run.

    Parameters
    ----------
    replay
        The oracles of the reference.
    is_step_printed
        Whether the source prints the step of its inner loop; else any point with a small enough gap
            is accepted.
    """

    def __init__(self, replay: ReplayOracles, is_step_printed: bool) -> None:
        self.replay, self.is_step_printed = replay, is_step_printed

    def condg(self, ask: Any, l: Any, u: Any, lam: float, eta: float) -> Any:  # noqa: E741
        """Follow the recorded inner loop from u, and return its point with a gap of at most eta."""
        replay, x = self.replay, keep(u)
        for _ in range(_MAX_INNER):
            g = tilt(l, x, u, 1.0 / lam)
            slope = replay._dense_array(g)
            pending = replay.find_minimisation(slope)
            if pending is None:
                if self.is_step_printed:
                    replay.lo(g)  # raises
                return self._find_recorded_point(l, u, lam, eta)
            v, direction = replay.consume_minimisation(pending), np.asarray(pending.query.direction)
            gap, length = gap_and_distance(g, x, v)
            ends = gap <= eta
            if abs(gap - eta) <= _TIE * eta:
                ends = ends == (replay.decisions.choose_option(replay.step, 2) == 0)
            moved = combine(keep(x), v, min(1.0, gap * lam / length**2)) if length > 0.0 else x
            if ends:
                further = replay._dense_array(tilt(l, moved, u, 1.0 / lam))
                if length > 0.0 and self._is_next_query_of_inner_loop(further, slope, direction):
                    replay.notes.append("an inner loop goes on after its gap is small enough")
                else:
                    return x
            x = moved
        raise MismatchError(replay.step, "an inner loop of the method does not end")

    def _is_next_query_of_inner_loop(
        self, next_direction: Floats, g: Floats, recorded_direction: Floats
    ) -> bool:
        """Return whether the next recorded linear minimisation belongs to the current inner loop.

        It does if its direction and the preceding one are scaled by equal factors, or both have
        norm 1.
        """
        replay = self.replay
        pending = replay.find_minimisation(next_direction)
        first = next(
            (pending for pending in replay.window.pending if pending.query.kind == "lo"), None
        )
        if pending is None or pending is not first or pending.query.direction is None:
            return False
        lengths = [
            float(np.linalg.norm(item))
            for item in (pending.query.direction, next_direction, recorded_direction, g)
        ]
        if not all(lengths):
            return False
        factors = lengths[0] / lengths[1], lengths[2] / lengths[3]
        is_unit = all(abs(lengths[k] - 1.0) <= _SAME for k in (0, 2))
        return is_unit or abs(factors[0] - factors[1]) <= _SAME * factors[1]

    def _find_recorded_point(self, l: Any, u: Any, lam: float, eta: float) -> Any:  # noqa: E741
        """Return the first recorded point of an inner loop whose gap is at most eta.

        Raise `MismatchError` if there is none.
        """
        replay = self.replay
        slope, centre = replay._dense_array(l), replay._dense_array(u)
        for pending in [item for item in replay.window.pending if item.query.kind == "lo"]:
            assert pending.query.direction is not None
            x = centre + lam * (pending.query.direction - slope)
            v = np.asarray(replay._dense_array(replay.consume_minimisation(pending)))
            if float(np.vdot(pending.query.direction, x - v)) <= eta * (1.0 + _TIE):
                return x
        replay.raise_mismatch(f"ends its inner loop at a gap of at most {eta:g}")

    def line_search(
        self, value: Callable[[float], float], upper: float, *other_steps: float
    ) -> float:
        """Return the recorded step size, if f decreases as with exact line search.

        Raise `MismatchError` if f decreases by clearly less.
        """
        replay = self.replay
        replay.has_search = True
        if not replay._is_known(replay.step):
            return line_search(value, upper, *other_steps)
        points = list[Floats]()
        values = dict[float, float]()

        def watch_value(gamma: float) -> float:
            if gamma not in values:
                values[gamma] = value(gamma)
            return values[gamma]

        own = replay.value
        replay.is_searching = True
        replay.value = lambda x: points.append(replay._dense_array(x)) or own(x)  # type: ignore[method-assign,func-returns-value]
        try:
            start = watch_value(0.0)
            end = watch_value(upper)
            a, b = points[0], points[-1]
            x = replay.transcript.states[replay.step].x
            length = float(np.vdot(b - a, b - a))
            part = float(np.vdot(x - a, b - a)) / length if length > 0.0 else 0.0
            deviation = float(np.abs(a + part * (b - a) - x).max())
            if (
                deviation > 100.0 * replay.window.point_tolerance
                or not -_SNAP <= part <= 1.0 + _SNAP
            ):
                replay.raise_mismatch(
                    f"moves along a segment from which the recorded iterate is {deviation:.3g} away"
                )
            gamma = self._snap_to_end(part) * upper
            best = min(
                line_search_minimum(watch_value, upper), start, end, *map(watch_value, other_steps)
            )
            loss = watch_value(gamma) - best
            allowed = _LOSS * (start - best) + _VALUE_ROUNDING * max(abs(start), abs(best))
            if loss > allowed:
                replay.raise_mismatch(
                    f"searches along a line: the recorded step {gamma:.6g} of at most {upper:.6g} "
                    f"loses {loss:.3g} of a decrease of {start - best:.3g}"
                )
            return gamma
        finally:
            replay.is_searching = False
            del replay.value

    def _snap_to_end(self, part: float) -> float:
        """Return a fraction of a segment, or 0 or 1 if the fraction is very close to it.

        For distances from 1e-11 to 1e-8, both the fraction and the end are possible, and each may
        be tried.
        """
        for end in (0.0, 1.0):
            if abs(part - end) <= _SNAP:
                return end
            if abs(part - end) <= _END:
                return (part, end)[self.replay.decisions.choose_option(self.replay.step, 2, 60)]
        return min(max(part, 0.0), 1.0)


def line_search_minimum(value: Callable[[float], float], upper: float) -> float:
    """Return the value of f at the step of exact line search."""
    return value(line_search(value, upper))
