"""Comparison of a recorded run with a reference implementation that makes the same draws.

The draws are inferred from the recorded queries. If several inferences are possible, each is tried.
"""

import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import numpy as np

from pfbench.algorithms.base import get_parameters
from pfbench.base.arrays import Floats
from pfbench.base.errors import format_error_with_notes
from pfbench.base.state import State
from pfbench.points import keep
from pfbench.verification.replay.draws import DrawNeededNowError, ResolvedDraws
from pfbench.verification.replay.judges import RecordedChoiceJudges
from pfbench.verification.replay.matching import VALUE_TOLERANCE
from pfbench.verification.replay.oracles import MismatchError, ReplayOracles
from pfbench.verification.replay.recorded_run import Transcript, copy_dense

MAX_READINGS = 16
"""Maximum number of consecutive readings of the draws that explain no further step."""

MAX_REPLAYS = 64
"""Maximum number of replays of one transcript."""

PERTURBATIONS = 4

TOLERANCE_ALONE = frozenset({"cgs", "storc"})
"""Methods whose source prints only the tolerance of the inner loop, not its steps."""

PlainReference = Callable[[Any, Any, Any, Any], Iterator[State]]
"""Reference implementation ``reference(ask, x, rng, s)``; see `pfbench.verification.references`."""


@dataclass
class ReplayOutcome:
    """Result of comparing one recorded run with a reference implementation.

    Attributes
    ----------
    steps
        Number of steps that agree.
    reason
        Description of the first mismatch; empty if the whole run agrees.
    has_fewer_states
        Whether the run only yields fewer states than the reference.
    decided_by_rounding
        Whether perturbations of the size of rounding errors remove or move the mismatch.
    is_cut_short
        Whether `MAX_REPLAYS` ended the search while further attempts still matched more steps.
    notes, log
        Observations that are no mismatch, and the draws.
    """

    steps: int
    reason: str = ""
    has_fewer_states: bool = False
    decided_by_rounding: bool = False
    is_cut_short: bool = False
    notes: list[str] = field(default_factory=list)
    log: ResolvedDraws = field(default_factory=ResolvedDraws)

    @property
    def agrees(self) -> bool:
        """Whether all states and queries of the run match the reference implementation."""
        return not self.reason

    @property
    def is_mismatch(self) -> bool:
        """Whether the run differs, and neither rounding nor other draws may explain it."""
        return not (self.agrees or self.decided_by_rounding or self.is_cut_short)


class FewerStatesError(MismatchError):
    """Exception raised if the recorded run yields fewer states than the reference."""


def follow_transcript(
    transcript: Transcript, algorithm: Any, reference: PlainReference | None = None
) -> ReplayOutcome:
    """Compare a recorded run with a built-in method or a reference implementation.

    Parameters
    ----------
    transcript
        The recorded run.
    algorithm
        The built-in method with the parameters of the run.
    reference
        The plain reference to replay instead of the method; None for the method itself.
    """
    forced: list[int] | None = []
    eager, best, best_forced = False, ReplayOutcome(-1), list[int]()
    readings, total = MAX_READINGS, 0
    while forced is not None and readings and total < MAX_REPLAYS:
        replay = _replay(transcript, reference, forced, eager)
        try:
            steps = _replay_and_compare_steps(replay, algorithm, reference)
        except DrawNeededNowError:
            if eager:
                raise
            eager = True
            continue
        except MismatchError as error:
            outcome = ReplayOutcome(
                error.step,
                f"{error.reason}{_describe_query_before(replay, error)}",
                isinstance(error, FewerStatesError),
                notes=replay.notes,
                log=replay.log,
            )
            if outcome.steps > best.steps:
                best, best_forced, readings = outcome, forced, MAX_READINGS
            forced = replay.decisions.revise_decisions(error.step)
            readings, total = readings - 1, total + 1
            continue
        return ReplayOutcome(steps, notes=replay.notes, log=replay.log)
    best.is_cut_short = forced is not None and total == MAX_REPLAYS
    best.decided_by_rounding = not best.has_fewer_states and _rounding_decides(
        transcript, algorithm, reference, best.steps, best_forced, eager
    )
    return best


def _describe_query_before(replay: ReplayOracles, error: MismatchError) -> str:
    """Return a text on the recorded query before a mismatch, or "" if there is none."""
    queries = replay.transcript.queries
    numbers = [query.number for query in queries if query.step <= error.step]
    number = error.query.number if error.query else len(numbers)
    return f"; the call before it is {replay.describe(queries[number - 1])}" if number else ""


def _rounding_decides(
    transcript: Transcript,
    algorithm: Any,
    reference: PlainReference | None,
    step: int,
    forced: list[int],
    eager: bool,
) -> bool:
    """Return whether perturbations as small as rounding errors remove or move a mismatch."""
    for seed in range(PERTURBATIONS):
        noise = np.random.default_rng(seed)
        replay = _replay(transcript, reference, forced, eager, noise)
        try:
            _replay_and_compare_steps(replay, algorithm, reference)
        except MismatchError as error:
            if error.step == step:
                continue
        return True
    return False


def _replay(
    transcript: Transcript,
    reference: PlainReference | None,
    forced: list[int],
    eager: bool,
    noise: np.random.Generator | None = None,
) -> ReplayOracles:
    return ReplayOracles(transcript, forced, eager=eager, noise=noise, dense=reference is not None)


def _replay_and_compare_steps(
    replay: ReplayOracles, algorithm: Any, reference: PlainReference | None
) -> int:
    """Replay a recorded run with its reference implementation; return how many steps agree.

    Raises
    ------
    MismatchError
        At the first step that differs.
    """
    transcript = replay.transcript
    name = getattr(algorithm, "name", "")
    judges = RecordedChoiceJudges(replay, name not in TOLERANCE_ALONE)
    replay.begin_step(0, transcript.start)
    if reference is None:
        judged = copy.copy(algorithm)
        for seam in ("condg", "line_search"):
            object.__setattr__(judged, seam, getattr(judges, seam))
        states = judged.run(replay, transcript.problem.start(), replay.rng)
    else:
        parameters = SimpleNamespace(
            **get_parameters(algorithm), condg=judges.condg, line_search=judges.line_search
        )
        states = reference(replay, keep(transcript.start), replay.rng, parameters)
    step = 0
    for state in states:
        if step == len(transcript.states):
            if not transcript.is_complete:
                return step
            if transcript.error is not None:
                raise MismatchError(
                    step, f"the run raised {format_error_with_notes(transcript.error)}"
                )
            raise FewerStatesError(step, f"the method yields {step} states, the reference more")
        _compare_states(replay, step, state)
        _check_earlier_queries_explained(replay, step)
        step += 1
        replay.begin_step(step, transcript.states[step - 1].x)
    if transcript.error is not None:
        raise MismatchError(step, f"the run raised {format_error_with_notes(transcript.error)}")
    if len(transcript.states) > step:
        extra = len(transcript.states)
        raise MismatchError(step, f"the method yields {extra} states, the reference {step}")
    _check_earlier_queries_explained(replay, step + 1)
    return step


def _compare_states(replay: ReplayOracles, step: int, state: State) -> None:
    """Raise `MismatchError` if a step's recorded state differs from the reference state."""
    transcript, recorded = replay.transcript, replay.transcript.states[step]
    pattern = transcript.pattern
    of_points = VALUE_TOLERANCE * transcript.max_point_entry
    of_gradients = VALUE_TOLERANCE * max(transcript.max_gradient_entry, 1e-300)
    parts: list[tuple[str, Any, Any, float]] = [
        ("at", state.at, recorded.at, of_points),
        ("estimate", state.estimate, recorded.estimate, of_gradients),
        ("x", state.x, recorded.x, of_points),
        ("output", state.output, recorded.output, of_points),
    ]
    for part, expected, observed, tolerance in parts:
        if expected is None or observed is None:
            continue
        right: Floats = np.asarray(copy_dense(expected, pattern))
        if np.isfinite(right).all() and not np.isfinite(observed).all():
            raise MismatchError(step, f"State.{part} is not finite")
        limit = max(tolerance, VALUE_TOLERANCE * float(np.abs(right).max()))
        if right.shape != np.shape(observed) or not float(np.abs(right - observed).max()) <= limit:
            raise MismatchError(
                step, f"State.{part} is {_describe_difference(np.asarray(observed), right)}"
            )
    if recorded.coin is not None and state.coin is not None and state.coin != recorded.coin:
        raise MismatchError(
            step, f"State.coin is {recorded.coin}, but the queries show {state.coin}"
        )


def _check_earlier_queries_explained(replay: ReplayOracles, step: int) -> None:
    """Raise `MismatchError` if the reference does not make a query recorded before `step`."""
    for pending in replay.window.pending:
        if pending.query.step >= step:
            return
        if pending.query.kind != "value":
            words = (
                f"the reference does not make this query of iteration {pending.query.step}: "
                f"{replay.describe(pending.query)}"
            )
            step = min(step, len(replay.transcript.states))
            raise MismatchError(step, words, pending.query)


def _describe_difference(observed: Floats, expected: Floats) -> str:
    """Return a text on how two arrays differ: in shape, or in the entry that differs most."""
    if observed.shape != expected.shape:
        return f"of shape {observed.shape}, expected {expected.shape}"
    deviation = np.abs(observed - expected)
    worst = float(deviation.max())
    argwhere = np.argwhere(~(deviation <= 0.1 * worst))[:3]
    text = ", ".join(
        f"[{', '.join(map(str, location))}]: {observed[tuple(location)]:.10g}, "
        f"expected {expected[tuple(location)]:.10g}"
        for location in argwhere
    )
    return f"off by {worst:.3g}: {text}"
