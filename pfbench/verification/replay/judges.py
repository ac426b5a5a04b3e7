"""Judges of recorded inner loops and line searches, whose exact steps a paper leaves open."""

from collections.abc import Callable
from typing import Any

import numpy as np

from pfbench.algorithms.frank_wolfe import line_search
from pfbench.base.arrays import Floats
from pfbench.verification.replay.oracles import MismatchError, ReplayOracles
from pfbench.verification.replay.recorded_run import RecordedQuery, copy_dense

_TIE = 1e-7
"""Relative distance within which a gap may count as below or above its tolerance."""

_END = 1e-8
"""Distance to an end of its segment within which a step may count as the end."""

_SNAP = 1e-11
"""Distance to an end of its segment within which a step counts as the end."""

_LOSS = 1e-6
"""Fraction of the decrease that an exact line search may lose."""

_STEP_TOLERANCE = 1e-5
"""Fraction of its segment by which a step may miss the best one, as SciPy's searches do."""

_VALUE_ROUNDING = 1e-13

_SAME = 1e-6
"""Relative difference up to which factors of directions count as equal."""

_MAX_INNER = 100_000


class InnerSolverReplacements:
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

    def condg(self, ask: Any, l: Floats, u: Floats, lam: float, eta: float) -> Floats:  # noqa: E741
        """Repeat the inner loop that the run made from u; return its point with a gap <= eta."""
        replay, x = self.replay, u
        for _ in range(_MAX_INNER):
            g = l + (x - u) / lam
            pending = replay.window.find(RecordedQuery("lo", direction=g))
            if pending is None:
                if self.is_step_printed:
                    replay.lo(g)  # raises
                return self._find_recorded_point(l, u, lam, eta)
            recorded = replay.window.consume_query(pending)
            d = copy_dense(recorded.answer) - x
            gap, square = -float(np.vdot(g, d)), float(np.vdot(d, d))
            ends = gap <= eta
            if abs(gap - eta) <= _TIE * eta:
                ends = ends == (replay.choose_option(2) == 0)
            moved = x + min(1.0, gap * lam / square) * d if square > 0.0 else x
            if ends:
                further = l + (moved - u) / lam
                if square == 0.0 or not self._continues_inner_loop(further, g, recorded):
                    return x
                replay.notes.append("an inner loop goes on after its gap is small enough")
            x = moved
        raise MismatchError(replay.step, "an inner loop of the method does not end")

    def _continues_inner_loop(self, following: Floats, g: Floats, recorded: RecordedQuery) -> bool:
        """Return whether the next recorded linear minimisation belongs to the current inner loop.

        It does if its direction and that of the `recorded` one are `following` and `g` scaled by
        equal factors, or if both have norm 1.
        """
        window = self.replay.window
        pending = window.find(RecordedQuery("lo", direction=following))
        if pending is None or pending is not window.find_kind("lo"):
            return False
        directions = (pending.query.direction, following, recorded.direction, g)
        lengths = [float(np.linalg.norm(np.asarray(direction))) for direction in directions]
        if not all(lengths):
            return False
        factors = lengths[0] / lengths[1], lengths[2] / lengths[3]
        is_unit = all(abs(lengths[k] - 1.0) <= _SAME for k in (0, 2))
        return is_unit or abs(factors[0] - factors[1]) <= _SAME * factors[1]

    def _find_recorded_point(self, l: Floats, u: Floats, lam: float, eta: float) -> Floats:  # noqa: E741
        """Return the first recorded point of an inner loop at which the gap is at most eta.

        Raise `MismatchError` if there is none.
        """
        window = self.replay.window
        while pending := window.find_kind("lo"):
            query = window.consume_query(pending)
            assert query.direction is not None
            x = u + lam * (query.direction - l)
            if float(np.vdot(query.direction, x - copy_dense(query.answer))) <= eta * (1.0 + _TIE):
                return x
        self.replay.raise_mismatch(f"ends its inner loop at a gap of at most {eta:g}")

    def line_search(
        self, value: Callable[[float], float], upper: float, *other_steps: float
    ) -> float:
        """Return the recorded step size, if f decreases as much as with exact line search.

        Raise `MismatchError` if f decreases by clearly less, and the best step is not near.
        """
        replay = self.replay
        if not replay.has_recorded_state(replay.step):
            return line_search(value, upper, *other_steps)
        replay.searched_points = points = list[Floats]()
        try:
            start, end = value(0.0), value(upper)
            gamma = self._find_recorded_fraction(*points) * upper
            exact = line_search(value, upper, *other_steps)
            best = min(value(exact), start, end)
            loss = value(gamma) - best
        finally:
            replay.searched_points = None
        allowed = _LOSS * (start - best) + _VALUE_ROUNDING * max(abs(start), abs(best))
        if loss > allowed and abs(gamma - exact) > _STEP_TOLERANCE * upper:
            replay.raise_mismatch(
                f"searches along a line: the recorded step {gamma:.6g} of at most {upper:.6g} "
                f"loses {loss:.3g} of a decrease of {start - best:.3g}"
            )
        return gamma

    def _find_recorded_fraction(self, a: Floats, b: Floats) -> float:
        """Return the fraction of the segment from a to b at which the next recorded iterate is.

        It is 0 or 1 if it is very close to it. For distances from 1e-11 to 1e-8, both the fraction
        and the end are possible, and each may be tried.
        """
        replay = self.replay
        x = replay.transcript.states[replay.step].x
        square = float(np.vdot(b - a, b - a))
        part = float(np.vdot(x - a, b - a)) / square if square > 0.0 else 0.0
        deviation = float(np.abs(a + part * (b - a) - x).max())
        is_off = deviation > 100.0 * replay.window.point_tolerance
        if is_off or not -_SNAP <= part <= 1.0 + _SNAP:
            replay.raise_mismatch(
                f"moves along a segment from which the recorded iterate is {deviation:.3g} away"
            )
        for end in (0.0, 1.0):
            if abs(part - end) <= _SNAP:
                return end
            if abs(part - end) <= _END:
                return (part, end)[replay.choose_option(2, 60)]
        return part
