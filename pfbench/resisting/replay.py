"""Two independent checks of a certificate (shen2019, theorem 5.1).

Check (i): at every recorded query, the fixed function gives the recorded answer. Check (ii): an
algorithm that receives the recorded answers makes the recorded queries. Together they prove that
this deterministic algorithm on this function produces this transcript. A run on the function
itself would prove less. The chain amplifies rounding errors, so that two runs differ completely
after some 80 steps.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from pfbench.base.arrays import Floats, norm
from pfbench.base.counts import Counts
from pfbench.base.errors import InputError
from pfbench.base.protocols import Algorithm
from pfbench.base.state import State
from pfbench.kernels import chain
from pfbench.problems.zero_chain import ZeroChain, chain_smoothness
from pfbench.resisting.resisting_oracle import CountingBackend, run_against_oracle
from pfbench.resisting.span import SPAN_TOLERANCE, OrthonormalBasis, ball_gap
from pfbench.resisting.transcript import KINDS, Event, Transcript, fingerprint

TOLERANCE = 1e-9
"""Largest relative error in (i) and (ii), and largest distance from the span in (14)."""

GRADIENT, VALUE, LO, PROX, YIELD = range(len(KINDS))


def relative_error(values: Floats, recorded: Floats) -> float:
    """Return |values - recorded| divided by the larger of the two norms; 0 if both are 0."""
    scale = max(norm(values), norm(recorded))
    return 0.0 if scale == 0.0 else norm(values - recorded) / scale


# --- (i), and the gaps ----------------------------------------------------------------------------


@dataclass(frozen=True)
class VisitedPoint:
    """Frank-Wolfe gap at a queried or yielded point, with the numbers of calls before the point.

    Attributes
    ----------
    gap
        Its Frank-Wolfe gap on the fixed function.
    lo, gradient
        Number of LO outputs, and of gradient answers at new points, before it.
    """

    gap: float
    lo: int
    gradient: int


@dataclass(frozen=True)
class AnswerCheck:
    """Largest error of the answers in a transcript, with the visited points and query count.

    This is check (i).

    Attributes
    ----------
    error
        Largest error of a recorded answer, relative to its two parts: for a value |x|^2/10 + |H_T|,
        for a gradient |x|/5 + |grad H_T|, since they cancel near a stationary point.
    visited_points
        Every point that was queried or yielded, in order.
    queries
        Gradient queries at new points.
    """

    error: float
    visited_points: list[VisitedPoint]
    queries: int

    def min_gap_before_call(self, T: int, count_kind: str) -> float:
        """Return the smallest gap at the points before the T-th call of the given kind.

        `count_kind` is the kind of calls that is counted, "lo" or "gradient".
        """
        return min(p.gap for p in self.visited_points if getattr(p, count_kind) < T)

    def calls_to_gap(self, target: float, count_kind: str) -> int | None:
        """Return the number of calls until the gap is first at most `target`; None if it never is.

        `count_kind` is the kind of calls that is counted, "lo" or "gradient".
        """
        reached = (p for p in self.visited_points if p.gap <= target)
        return next((int(getattr(p, count_kind)) for p in reached), None)


def check_answers(fixed: ZeroChain, transcript: Transcript) -> AnswerCheck:
    """Compare recorded answers with those of the problem `fixed`; compute the gap at each point."""
    T, mu, R = fixed.horizon, fixed.mu, fixed.set.radius
    height = fixed.L * mu**2 / chain_smoothness()
    coordinates = _row_coordinates_over_scale(fixed, transcript)
    fingerprints: set[bytes] = set()
    passed: list[VisitedPoint] = []
    slopes = np.empty(T)
    worst, outputs = 0.0, 0
    for event in transcript.events():
        if event.kind in (LO, PROX):
            outputs += event.kind == LO
            continue
        x, y = transcript.point(event), coordinates[event.point]
        if event.toward >= 0:
            y = (1.0 - event.weight) * y + event.weight * coordinates[event.toward]
        square = float(x @ x) / mu**2
        chain.write_chain_gradient(y, slopes)
        gap = height * ball_gap(square, y, slopes, R / mu)
        passed.append(VisitedPoint(gap, outputs, len(fingerprints)))
        if event.kind == GRADIENT:
            parts = height / mu * (0.2 * math.sqrt(square) + norm(slopes))
            error = norm(fixed.gradient(x) - transcript.rows[event.answer])
            worst = max(worst, error / parts)
            fingerprints.add(fingerprint(x))
        elif event.kind == VALUE:
            quadratic, link = 0.1 * square, chain.chain_value(y)
            error = abs(height * (quadratic + link) - event.number)
            worst = max(worst, error / (height * (quadratic + abs(link))))
    return AnswerCheck(worst, passed, len(fingerprints))


def _row_coordinates_over_scale(fixed: ZeroChain, transcript: Transcript) -> dict[int, Floats]:
    """Return recorded points' inner products with the chain's directions, over the chain's scale.

    The scale mu is that of the chain.
    """
    used = np.unique(np.append(transcript.columns["point"], transcript.columns["toward"]))
    used = used[used >= 0]
    coordinates: dict[int, Floats] = {}
    for block in np.array_split(used, math.ceil(len(used) / 256)):
        y = transcript.rows[block] @ transcript.directions.T / fixed.mu
        coordinates.update(zip(block.tolist(), y, strict=True))
    return coordinates


def orthonormality_error(directions: Floats) -> float:
    """Return the largest absolute entry of A A' - I, where A is the matrix `directions`."""
    return float(np.abs(directions @ directions.T - np.eye(len(directions))).max())


# --- (ii), and the span ---------------------------------------------------------------------------


class ReplayDiverged(BaseException):
    """Exception for an algorithm whose queries or points differ from those of the transcript.

    It is not a subclass of Exception, so that no ``except Exception`` catches it.
    """


class RecordedAnswersBackend(CountingBackend):
    """Backend that answers an algorithm's queries with the recorded answers.

    It also tracks the span of the recorded outputs of linear minimisation (LO).

    Attributes
    ----------
    error
        Largest relative difference between a query, an LO output or a yielded point and the record.
    distance
        Largest relative distance of a point that was queried or yielded before T LO calls from the
        span of the LO outputs before it.
    departure
        The point at which the algorithm left the record, in words; empty if it did not.
    ledger
        Counts of the replay; None if it stopped early.
    """

    def __init__(self, problem: ZeroChain, transcript: Transcript) -> None:
        super().__init__()
        self.set, self.T, self.d = problem.set, problem.horizon, problem.columns
        self._transcript, self._events = transcript, transcript.events()
        self._outputs = OrthonormalBasis(self.d)
        self._position = 0
        self._largest_gradient_norm = 0.0
        self.error = self.distance = 0.0
        self.departure = ""
        self.ledger: Counts | None = None

    def _gradient(self, x: Floats) -> Floats:
        """Return the recorded gradient, after comparing x with the recorded query."""
        event = self._next_event(GRADIENT)
        recorded = self._transcript.rows[event.point]
        self._compare(x, recorded)
        self._measure_distance_from_lo_span(recorded)
        answer: Floats = self._transcript.rows[event.answer]
        self._largest_gradient_norm = max(self._largest_gradient_norm, norm(answer))
        return answer.copy()

    def value(self, x: Floats) -> float:
        """Return the recorded value, after comparing x with the recorded query."""
        self.count(fv=1)
        event = self._next_event(VALUE)
        self._compare(x, self._transcript.point(event))
        if event.toward < 0:  # else it lies between two vectors that are followed already
            self._measure_distance_from_lo_span(self._transcript.rows[event.point])
        return event.number

    def lo(self, g: Floats) -> Floats:
        """Return the recorded vertex u; raise if <g, u> is not minimal within a tolerance.

        The tolerance is relative to |g|, or to the largest gradient so far if that is larger. At
        the end of an inner loop, g is a small difference of large vectors, and depends on the
        machine.
        """
        self.count(lo=1)
        u: Floats = self._transcript.rows[self._next_event(LO).answer]
        R, length = self.set.radius, norm(g)
        scale = max(length, self._largest_gradient_norm)
        excess = (float(g @ u) + R * length) / (R * scale) if scale > 0.0 else 0.0
        self._record_or_raise_error(max(abs(excess), norm(u) / R - 1.0))
        if self.counts().lo < self.T:
            _, outside = self._outputs.split(u)
            if norm(outside) > SPAN_TOLERANCE * R:
                self._outputs.add(outside)
        return u.copy()

    def prox(self, x: Floats, g: Floats, lam: float) -> Floats:
        """Return the recorded answer; raise if it is not nearly the projection of x - lam g."""
        self.count(po=1)
        answer: Floats = self._transcript.rows[self._next_event(PROX).answer]
        self._compare(self.set.project(x - lam * g), answer)
        return answer.copy()

    def note(self, state: State) -> None:
        """Compare the points of a state that the algorithm yields with the recorded points."""
        for x in (state.x, state.at, state.output):
            if x is not None:
                recorded = self._transcript.rows[self._next_event(YIELD).point]
                self._compare(x, recorded)
                self._measure_distance_from_lo_span(recorded)

    def finish(self) -> None:
        """Raise ReplayDiverged if the algorithm stops before the end of the transcript."""
        left = len(self._transcript) - self._position
        if left:
            raise ReplayDiverged(f"the algorithm stops {left} events before the transcript ends")

    # --- inside -------------------------------------------------------------------------------

    def _next_event(self, kind: int) -> Event:
        event = next(self._events, None)
        self._position += 1
        if event is None:
            raise ReplayDiverged(
                f"the algorithm goes on after the transcript's end, with a {KINDS[kind]}"
            )
        if event.kind != kind:
            raise ReplayDiverged(
                f"event {self._position} of the algorithm is a {KINDS[kind]}, but that of the "
                f"transcript is a {KINDS[event.kind]}"
            )
        return event

    def _compare(self, x: Any, recorded: Floats) -> None:
        if not isinstance(x, np.ndarray) or x.shape != recorded.shape:
            raise ReplayDiverged(
                f"the point of event {self._position} is not an array of shape ({self.d},)"
            )
        self._record_or_raise_error(relative_error(x, recorded))

    def _record_or_raise_error(self, error: float) -> None:
        """Record the relative error of a query or point; raise ReplayDiverged if it is large."""
        if not error <= TOLERANCE:
            self.error = math.inf if math.isnan(error) else max(self.error, error)
            raise ReplayDiverged(
                f"event {self._position} differs from the transcript's by {error:.2g}"
            )
        self.error = max(self.error, error)

    def _measure_distance_from_lo_span(self, x: Floats) -> None:
        """Update the largest distance of a point x from the span of LO outputs, relative to |x|.

        LO stands for linear minimisation.
        """
        if self.counts().lo >= self.T:
            return
        length = norm(x)
        if length > 0.0:
            _, outside = self._outputs.split(x)
            self.distance = max(self.distance, norm(outside) / length)


def replay_queries(
    algorithm: Algorithm, problem: ZeroChain, transcript: Transcript, rng: np.random.Generator
) -> RecordedAnswersBackend:
    """Answer an algorithm's queries from a transcript; return the backend that stores the errors.

    This is check (ii). The backend has the errors, and the point at which the algorithm departs
    from the transcript.
    """
    backend = RecordedAnswersBackend(problem, transcript)
    try:
        backend.ledger = run_against_oracle(algorithm, backend, rng)
        backend.finish()
    except ReplayDiverged as reason:
        backend.departure = str(reason)
    except InputError as failure:
        backend.departure = f"the algorithm fails on the recorded answers: {failure}".rstrip(".")
    return backend
