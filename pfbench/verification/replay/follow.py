"""Comparison of a recorded run with a reference implementation that makes the same draws.

The draws are inferred from the recorded queries. If several inferences are possible, each is tried.
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import numpy as np

from pfbench.algorithms.base import get_parameters
from pfbench.base.arrays import Floats
from pfbench.base.errors import format_error_with_notes
from pfbench.base.state import State
from pfbench.verification.references import REFERENCES
from pfbench.verification.replay.draws import ReadingDecision, ResolvedDraws
from pfbench.verification.replay.judges import InnerSolverReplacements
from pfbench.verification.replay.matching import VALUE_TOLERANCE
from pfbench.verification.replay.oracles import MismatchError, ReplayOracles
from pfbench.verification.replay.recorded_run import Transcript

MAX_READINGS = 16
"""Maximum number of consecutive readings of the draws that explain no further step."""

MAX_REPLAYS = 64
"""Maximum number of replays of one transcript."""

PERTURBATIONS = 4

TOLERANCE_ALONE = frozenset({"cgs", "storc"})
"""Methods whose source prints only the tolerance of the inner loop, not its steps."""


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
        """Whether the run differs in a way that neither rounding nor other draws can explain."""
        return not (self.agrees or self.decided_by_rounding or self.is_cut_short)


class RunLacksStatesError(MismatchError):
    """Exception raised if the recorded run yields fewer states than the reference."""


def compare_transcript_with_reference(transcript: Transcript, algorithm: Any) -> ReplayOutcome:
    """Compare a recorded run with the reference implementation of a built-in method.

    Parameters
    ----------
    transcript
        The recorded run.
    algorithm
        The built-in method with the parameters of the run.
    """
    forced: list[int] | None = []
    best, best_forced = ReplayOutcome(-1), list[int]()
    readings, total = MAX_READINGS, 0
    while forced is not None and readings and total < MAX_REPLAYS:
        replay = ReplayOracles(transcript, forced)
        try:
            steps = _replay_and_compare_steps(replay, algorithm)
        except MismatchError as error:
            outcome = ReplayOutcome(
                error.step,
                f"{error.reason}{_describe_query_before(replay, error)}",
                isinstance(error, RunLacksStatesError),
                notes=replay.notes,
                log=replay.log,
            )
            if outcome.steps > best.steps:
                best, best_forced, readings = outcome, forced, MAX_READINGS
            forced = _revise_decisions(replay.decisions, error.step)
            readings, total = readings - 1, total + 1
            continue
        return ReplayOutcome(steps, notes=replay.notes, log=replay.log)
    best.is_cut_short = forced is not None and total == MAX_REPLAYS
    best.decided_by_rounding = not best.has_fewer_states and any(
        _is_mismatch_moved_by_noise(transcript, algorithm, best.steps, best_forced, seed)
        for seed in range(PERTURBATIONS)
    )
    replay = ReplayOracles(transcript, best_forced)
    with suppress(MismatchError, TypeError, ValueError):
        if best.decided_by_rounding:
            steps = _replay_and_compare_steps(replay, algorithm, synchronises=True)
            return ReplayOutcome(steps, notes=replay.notes, log=replay.log)
    return best


def _revise_decisions(decisions: Sequence[ReadingDecision], step: int) -> list[int] | None:
    """Return the options to choose in the next attempt, after a mismatch at the step `step`.

    They take the next option at the newest choice that may still be revised. Return None if no
    choice may be.
    """
    for index, decision in reversed(list(enumerate(decisions))):
        if decision.has_alternative(step):
            return [*(before.chosen for before in decisions[:index]), decision.chosen + 1]
    return None


def _describe_query_before(replay: ReplayOracles, error: MismatchError) -> str:
    """Describe the recorded query before a mismatch; return "" if there is none."""
    queries = replay.transcript.queries
    number = error.query.number if error.query else None
    if number is None:
        number = sum(query.step <= error.step for query in queries)
    return f"; the call before it is {replay.describe(queries[number - 1])}" if number else ""


def _is_mismatch_moved_by_noise(
    transcript: Transcript, algorithm: Any, step: int, forced: list[int], seed: int
) -> bool:
    """Return whether a perturbation as small as rounding errors removes or moves a mismatch."""
    replay = ReplayOracles(transcript, forced, noise=np.random.default_rng(seed))
    try:
        _replay_and_compare_steps(replay, algorithm)
    except MismatchError as error:
        return error.step != step
    return True


def _replay_and_compare_steps(
    replay: ReplayOracles, algorithm: Any, synchronises: bool = False
) -> int:
    """Replay a recorded run with its reference implementation; return how many steps agree.

    With `synchronises`, the reference continues from the recorded iterate and estimate of each
    step, so that rounding errors do not grow.

    Raises
    ------
    MismatchError
        At the first step that differs.
    """
    transcript = replay.transcript
    judges = InnerSolverReplacements(replay, algorithm.name not in TOLERANCE_ALONE)
    parameters = SimpleNamespace(
        **get_parameters(algorithm), condg=judges.condg, line_search=judges.line_search
    )
    reference = REFERENCES[algorithm.name]
    replay.begin_step(0, transcript.start)
    step = 0
    for state in reference(replay, transcript.start.copy(), replay, parameters):
        if step == len(transcript.states):
            if not transcript.is_complete:
                return step
            _check_run_raised_nothing(transcript, step)
            if step == 0 and np.array_equal(state.output, transcript.start):
                return step  # both end at the start, where a state may be left out
            raise RunLacksStatesError(step, f"the method yields {step} states, the reference more")
        _compare_states(replay, step, state, getattr(parameters, "beta", 0.0))
        _check_earlier_queries_explained(replay, step)
        recorded = transcript.states[step]
        for own, other in ((state.x, recorded.x), (state.estimate, recorded.estimate)):
            if synchronises and own is not None and other is not None:
                own[...] = other
        step += 1
        replay.begin_step(step, transcript.states[step - 1].x)
    _check_run_raised_nothing(transcript, step)
    if len(transcript.states) > step:
        extra = len(transcript.states)
        raise MismatchError(step, f"the method yields {extra} states, the reference {step}")
    _check_earlier_queries_explained(replay, step + 1)
    return step


def _check_run_raised_nothing(transcript: Transcript, step: int) -> None:
    if transcript.error is not None:
        raise MismatchError(step, f"the run raised {format_error_with_notes(transcript.error)}")


def _compare_states(replay: ReplayOracles, step: int, state: State, beta: float) -> None:
    """Raise `MismatchError` if a step's recorded state differs from the reference state.

    The momentum sum beta M + g may be reported as the estimate, too: it is 1/(1 - beta) times the
    average of gradients.
    """
    transcript, recorded = replay.transcript, replay.transcript.states[step]
    is_final = transcript.is_complete and recorded is transcript.states[-1]
    if is_final and recorded.output is None and state.output is not None:
        rule, limit = transcript.output_rule, VALUE_TOLERANCE * transcript.max_point_entry
        if rule != "last" or not np.allclose(recorded.x, state.output, rtol=0.0, atol=limit):
            words = f"no State.output is set, and output={rule} is not the reference's output"
            raise MismatchError(step, words)
    for part in ("at", "estimate", "x", "output"):
        expected, observed = getattr(state, part), getattr(recorded, part)
        if expected is None or observed is None:
            continue
        if np.isfinite(expected).all() and not np.isfinite(observed).all():
            raise MismatchError(step, f"State.{part} is not finite")
        largest = (
            max(transcript.max_gradient_entry, 1e-300)
            if part == "estimate"
            else transcript.max_point_entry
        )
        limit = VALUE_TOLERANCE * max(largest, float(np.abs(expected).max()))
        is_shape = expected.shape == np.shape(observed)
        is_sum = part == "estimate" and is_shape and 0.0 < beta < 1.0
        if is_sum and float(np.abs(expected - (1.0 - beta) * observed).max()) <= limit:
            continue
        if not (is_shape and float(np.abs(expected - observed).max()) <= limit):
            raise MismatchError(step, f"State.{part} is {_describe_difference(observed, expected)}")
    coins = replay.log.coins
    if recorded.coin is not None and coins and coins[-1] == (step, not recorded.coin):
        raise MismatchError(
            step, f"State.coin is {recorded.coin}, but the queries show {not recorded.coin}"
        )


def _check_earlier_queries_explained(replay: ReplayOracles, step: int) -> None:
    """Raise `MismatchError` if the reference does not make a query recorded before `step`.

    A method may query values that the reference does not use, as for a line search or a print. But
    if the reference tests values, only these and those of iterates may be queried.
    """
    window, values, states = replay.window, replay.value_points, replay.transcript.states
    for part in list(window.pending):
        query = part.query
        if query.step >= step:
            return
        iterates = [state.x for state in states[max(0, query.step - 1) : query.step + 1]]
        points = (*values, *iterates) if query.kind == "value" else ()  # others may have no point
        is_known = any(window.are_points_equal(x, part.point) for x in points)
        if query.kind != "value" or (values and not is_known):
            words = f"the reference does not make this query of iteration {query.step}: "
            words += replay.describe(query)
            raise MismatchError(min(step, len(states)), words, query)
        window.consume_query(part)


def _describe_difference(observed: Floats, expected: Floats) -> str:
    """Describe how two arrays differ: in shape, or in the entry that differs most."""
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
