"""Comparison of a method's runs, draws and oracle counts with a reference implementation."""

import math
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from pfbench.algorithms.catalogue import ALGORITHMS
from pfbench.base.counts import COUNTED, Budget, OracleKind
from pfbench.base.errors import BudgetExhausted, PfbenchError, format_error_with_notes
from pfbench.base.protocols import Problem
from pfbench.base.status import Verdict
from pfbench.oracles import Ledger
from pfbench.runs.loop.solve import solve
from pfbench.runs.loop.steps import steps
from pfbench.verification.faults.fault import Fault
from pfbench.verification.replay.draw_streams import examine_draw_law, iterate_draw_streams
from pfbench.verification.replay.follow import ReplayOutcome, follow_transcript
from pfbench.verification.replay.forms import MethodForm, list_method_forms
from pfbench.verification.replay.outputs import decide_output_distribution
from pfbench.verification.replay.recorded_run import (
    EndlessStepError,
    Transcript,
    UncountedError,
    record_run,
)
from pfbench.verification.replay.replay_instances import (
    LONG_COUNT,
    ReplayCase,
    iterate_count_cases,
    iterate_replay_cases,
    make_case,
    make_small_instances,
)
from pfbench.verification.replay.small_cases import find_small_case
from pfbench.verification.statistics import Decision, Evidence, combine_all
from pfbench.verification.subject import (
    ClaimBroken,
    MethodFailed,
    NotTestable,
    SubjectLacksParameter,
    select_accepted,
)
from pfbench.verification.trial import Trial

REFUSALS = (PfbenchError, ValueError, NotImplementedError)
"""Errors by which a method refuses its parameters or a problem."""

NOT_COMPARED = "Not compared"
"""Beginning of a sentence on runs that were left out; verdicts with it show their reason."""

_CLAIMED = {"mismatches": 0.0}

_DOUBTFUL = 1e-3
"""Largest p-value, shared by all streams, that is doubtful: below it nothing is decided."""

_SHORTEST_CONVERGED = 80
"""Number of steps before which no run has converged up to rounding."""

_EXACT = tuple(kind for kind in COUNTED if kind not in (OracleKind.FO, OracleKind.FV))
"""Compared counts; not FO, as a full gradient may be queried as a batch of all components."""


@dataclass
class ComparisonTally:
    """Summary of comparisons with a reference: agreeing runs and steps, mismatch, remarks.

    Attributes
    ----------
    runs, steps
        Numbers of runs and steps that agree.
    violation
        Description of the first mismatch; empty if there is none.
    doubts
        Reasons why some runs are undecided.
    notes
        Observations that do not affect the decision.
    skipped
        Parameters that the class lacks, and runs that it refuses.
    kind
        Values of text parameters that the method lacks, which select the compared kind of method.
    refusal
        Error of the first run that the method refused before any query; empty if there is none.
    """

    runs: int = 0
    steps: int = 0
    violation: str = ""
    doubts: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    kind: Mapping[str, str] = field(default_factory=dict)
    refusal: str = ""

    def make_refusal_error(self) -> SubjectLacksParameter:
        """Return an error that names what the method lacks or refuses."""
        names = " or ".join(sorted(set(self.skipped)))
        return SubjectLacksParameter(f"the method does not accept {names}")

    def decide(self, reason_if_equal: str) -> Decision:
        """Return the decision on the comparisons; `reason_if_equal` is used if nothing differs.

        Raises
        ------
        MethodFailed
            If the method refused every run.
        """
        measured = {
            "mismatches": float(bool(self.violation)),
            "runs": float(self.runs),
            "iterations": float(self.steps),
        }
        if self.violation:
            return Decision("violated", f"{self.violation}.", measured, None)
        if self.doubts:
            return Decision("inconclusive", f"{self.doubts[0]}.", measured, None)
        if self.refusal and not self.runs:
            raise MethodFailed(self.refusal)
        words = "".join(f" {note}." for note in dict.fromkeys(self.notes))
        lacks = ", ".join(dict.fromkeys(self.skipped))
        words += f" {NOT_COMPARED}: {lacks}." if lacks else ""
        return Decision("holds", f"{reason_if_equal}{words}", measured, None)


def compare_runs_with_reference(
    trial: Trial, *, name: str, values: Mapping[str, Any] | None = None
) -> Evidence:
    """Compare the method under test with its reference implementation, step by step.

    With `values`, compare it only on the case that they describe; see `make_case`. Otherwise a
    small case is searched once a run differs.
    """
    method, comparison = ALGORITHMS[name], _start_comparison(trial, name)
    cases = (
        [make_case(method, values)]
        if values
        else iterate_replay_cases(method, trial.effort, trial.case_seed)
    )
    is_first = True
    for case, algorithm in _runnable_cases(trial, method, comparison, cases):
        transcript = _record_case(trial, case, algorithm, comparison, "run")
        if transcript is None:
            continue
        if is_first:
            _check_seed_and_budget(trial, case, algorithm, comparison)
            is_first = False
        if comparison.violation:
            break
        outcome = follow_transcript(transcript, method(**case.parameters))
        _add_outcome(trial, case, transcript, outcome, comparison)
        if comparison.violation:
            is_generated = isinstance(trial.subject.algorithm, Fault)
            small = None if values or is_generated else find_small_case(trial, case)
            if small:
                evidence = small.check(replace(trial, claim=small))
                first = f"{case}: iteration {outcome.steps} (repeat: {trial.command})"
                comparison.violation = f"{evidence.decision.reason} First seen on {first}"
            break
    right = "Every step, estimate, output and query is that of the reference."
    return Evidence(comparison.decide(right), _CLAIMED, max(1, comparison.runs))


def compare_draws_with_reference(trial: Trial, *, name: str) -> Evidence:
    """Test whether draws and output are distributed as in the reference implementation."""
    method, parts = ALGORITHMS[name], dict[str, Decision]()
    comparison = _start_comparison(trial, name)
    output = decide_output_distribution(trial, method)
    if output is not None:
        parts["output"] = output
        if output.verdict == Verdict.VIOLATED:
            return Evidence(combine_all(parts), {}, 1)
    full_list = list(iterate_draw_streams(method, trial.case_seed))
    for stream in full_list:
        algorithm = _make_method(trial, method, stream.case, comparison)
        if algorithm is None:
            continue
        logs, outcome = [], ReplayOutcome(0)
        for seed in trial.seeds(stream.run_count, "draws"):
            transcript = _record_case(trial, stream.case, algorithm, comparison, "draws", seed)
            if transcript is None:
                break
            outcome = follow_transcript(transcript, method(**stream.case.parameters))
            if not outcome.agrees:
                words = f"{stream.case}: iteration {outcome.steps}: {outcome.reason}"
                comparison.doubts.append(f"the draws are not tested, as a run differs: {words}")
                break
            logs.append(outcome.log)
        if outcome.is_mismatch:
            break
        if len(logs) < stream.run_count:
            continue
        comparison.runs += 1
        n, chance = stream.case.problem().n, stream.case.parameters.get("refresh")
        law = examine_draw_law(logs, n, chance)
        if law.violation or (law.law and _documents_replacement(method)):
            words = (
                law.violation or f"the batches are drawn {law.law}, the source's with replacement"
            )
            reason = f"iteration {law.step}: {words} (repeat: {trial.command})."
            parts[str(stream.case)] = Decision("violated", reason, {}, law.p_value)
            break
        comparison.notes += [f"the batches are drawn {law.law}"] if law.law else []
        doubtful = law.p_value <= _DOUBTFUL / len(full_list)
        parts[str(stream.case)] = Decision(
            "inconclusive" if doubtful else "holds",
            "The drawn indices look dependent." if doubtful else "",
            {},
            law.p_value,
        )
    if full_list and not parts and not comparison.doubts:
        raise comparison.make_refusal_error()
    right = "The draws and the output have the reference's law."
    return Evidence(
        combine_all({"": comparison.decide(right), **parts}), {}, max(1, comparison.runs)
    )


def compare_counts_with_reference(trial: Trial, *, name: str) -> Evidence:
    """Compare a method's oracle counts with those of its reference implementation."""
    method, comparison = ALGORITHMS[name], _start_comparison(trial, name)
    claimed, measured = dict[str, float](), dict[str, float]()
    cases = iterate_count_cases(method, trial.effort, trial.case_seed)
    for case, algorithm in _runnable_cases(trial, method, comparison, cases):
        reference = method(**case.parameters)
        if case.horizon >= LONG_COUNT and _has_equal_counts(trial, case, algorithm, reference):
            comparison.runs += 1
            continue
        transcript = _record_case(trial, case, algorithm, comparison, "counts")
        if transcript is None:
            continue
        outcome = follow_transcript(transcript, reference)
        right = record_run(case.problem(), reference, seed=transcript.seed)
        spent, expected = _count_calls(transcript), _count_calls(right)
        if outcome.agrees:
            expected = spent
            comparison.notes += outcome.notes
            if outcome.notes:
                comparison.doubts.append(f"not the source's count: {outcome.notes[0]}")
        elif "refresh" in case.parameters or "condg" in dir(method):
            comparison.doubts.append(
                f"{case}: iteration {outcome.steps}: {outcome.reason}: its counts cannot be "
                "compared, as the run differs from the reference"
            )
            continue
        comparison.runs += 1
        comparison.steps += len(transcript.states)
        claimed |= {f"{case}: {kind}": number for kind, number in expected.items()}
        measured |= {f"{case}: {kind}": number for kind, number in spent.items()}
        wrong = [kind for kind in _EXACT if spent[kind] != expected[kind]]
        if wrong:
            kind = wrong[0]
            comparison.violation = f"{case}: {kind} is {spent[kind]:g}, not {expected[kind]:g}"
            break
    decision = comparison.decide("Every count is that of the reference.")
    return Evidence(decision, claimed, max(1, comparison.runs))


# --- runs -----------------------------------------------------------------------------------------


def _runnable_cases(
    trial: Trial, method: Any, comparison: ComparisonTally, cases: Iterable[ReplayCase]
) -> Iterator[tuple[ReplayCase, Any]]:
    """Yield each test case, and the method under test with the parameters of the case.

    Cases whose parameters the method refuses are left out.

    Raises
    ------
    SubjectLacksParameter
        If the method can run no case.
    """
    runs = 0
    for case in cases:
        algorithm = _make_method(trial, method, case, comparison)
        if algorithm is not None:
            runs += 1
            yield case, algorithm
    if not runs:
        raise comparison.make_refusal_error()


def _make_method(trial: Trial, method: Any, case: ReplayCase, comparison: ComparisonTally) -> Any:
    """Return the method under test with a case's parameters, or None if it rejects them."""
    accepted, lacking = _split_parameters(trial, method, case.parameters)
    if lacking and lacking != comparison.kind:
        comparison.skipped += sorted(set(lacking) - set(comparison.kind))
        return None
    try:
        return trial.make(**accepted)
    except NotTestable as error:
        if isinstance(error.__cause__, REFUSALS) or not error.__cause__:
            comparison.skipped.append(f"{case} (refused)")
            return None
        raise


def _split_parameters(
    trial: Trial, method: Any, parameters: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the parameters that the method under test accepts, and those that it lacks."""
    required = method.list_required_parameters()
    names = set(select_accepted(trial.algorithm, (*parameters,), required))
    accepted = {name: value for name, value in parameters.items() if name in names}
    return accepted, {name: value for name, value in parameters.items() if name not in names}


def _start_comparison(trial: Trial, name: str) -> ComparisonTally:
    """Return an empty comparison with the kind of method that the method under test can be.

    A method without the text parameters by which the built-in one selects a kind, as `step`, is
    compared with the kind whose reference it follows longest.
    """
    method, longest, comparison = ALGORITHMS[name], -1.0, ComparisonTally()
    forms = [form.parameters for form in list_method_forms(method)]
    splits = [_split_parameters(trial, method, parameters) for parameters in forms]
    if not all(lacking for _, lacking in splits):
        return comparison
    for parameters, (accepted, lacking) in zip(forms, splits, strict=True):
        if not all(isinstance(value, str) for value in lacking.values()):
            continue
        case = ReplayCase(make_small_instances(method)[0], parameters)
        with suppress(NotTestable):
            transcript = record_run(
                trial.subject.problem_under_test(case.problem()),
                trial.make(**accepted),
                max_steps=case.max_recorded_steps,
            )
            transcript.problem = case.problem()
            outcome = follow_transcript(transcript, method(**parameters))
            steps_followed = math.inf if outcome.agrees else outcome.steps
            if transcript.error is None and steps_followed > longest:
                longest, comparison.kind = steps_followed, lacking
    comparison.notes = [f"Compared with {MethodForm(comparison.kind)}"] if comparison.kind else []
    return comparison


def _record_case(
    trial: Trial,
    case: ReplayCase,
    algorithm: Any,
    comparison: ComparisonTally,
    purpose: str,
    seed: int = -1,
) -> Transcript | None:
    """Return the record of a run, or None if the method cannot handle the points of the case.

    Raises
    ------
    MethodFailed, ClaimBroken
        If the method raises, does not end, or queries outside the ledger.
    """
    problem = case.problem()
    seed = trial.seeds(1, purpose)[0] if seed < 0 else seed
    transcript = record_run(
        trial.subject.problem_under_test(problem),
        algorithm,
        seed=seed,
        max_steps=case.max_recorded_steps,
    )
    transcript.problem = problem
    trial.coverage.add_run(problem, len(transcript.states), _ComponentCounts(transcript))
    error = transcript.error
    location = f"{case}: iteration {len(transcript.states)}"
    if error is None:
        return transcript
    if isinstance(error, UncountedError):
        raise ClaimBroken(f"{location}: {error} (repeat: {trial.command})") from error
    if isinstance(error, EndlessStepError):
        raise MethodFailed(f"{location}: {error} (repeat: {trial.command})") from error
    words = f"{location}: the run raised {format_error_with_notes(error)} (repeat: {trial.command})"
    options = {k: value for k, value in case.parameters.items() if isinstance(value, str)}
    refused = f"{MethodForm(options or case.parameters)} (refused)"
    is_refusal = isinstance(error, REFUSALS) and not transcript.states
    if case.is_factored:
        comparison.skipped.append(f"factored points ({type(error).__name__})")
    elif case.has_matrix_points and refused not in comparison.skipped:
        comparison.doubts.append(words)
    elif is_refusal and not transcript.queries:
        comparison.skipped.append(refused)
        comparison.refusal = comparison.refusal or words
    elif is_refusal and case.is_extreme:
        comparison.skipped.append(f"{case} (refused)")
    else:
        raise MethodFailed(words) from error
    return None


def _add_outcome(
    trial: Trial,
    case: ReplayCase,
    transcript: Transcript,
    outcome: ReplayOutcome,
    comparison: ComparisonTally,
) -> None:
    """Add the result of comparing one run with its reference implementation to the summary."""
    location = f"{case}, seed {transcript.seed}: iteration {outcome.steps}"
    if outcome.agrees:
        comparison.runs += 1
        comparison.steps += outcome.steps
        comparison.notes += outcome.notes
        if outcome.notes:
            comparison.doubts.append(f"{case}: {outcome.notes[0]}")
    elif outcome.decided_by_rounding:
        comparison.steps += outcome.steps
        if 2 * outcome.steps < len(transcript.states) and not _is_mismatch_due_to_rounding(
            trial, case, outcome.steps
        ):
            comparison.doubts.append(f"{location}: rounding decides the run from there on")
    elif outcome.is_cut_short:
        comparison.doubts.append(f"{location}: its draws have too many possible readings")
    elif _yields_fewer_states_at_same_cost(case, transcript, trial):
        words = f"{case}: the run yields {len(transcript.states)} states for all its queries"
        comparison.doubts.append(f"{words}: yield a State after each update")
    else:
        words = _describe_case_for_hand_check(case, outcome)
        comparison.violation = f"{location}: {outcome.reason}{words} (repeat: {trial.command})"


def _describe_case_for_hand_check(case: ReplayCase, outcome: ReplayOutcome) -> str:
    """Return the formulas, start and draws of a case with simple numbers as text, else ""."""
    formula = getattr(case.problem(), "formula", "")
    draws = outcome.log
    batches = [*draws.batches, *draws.weighted, *draws.subsets]
    texts = [f"batch {batch.tolist()} at t={step}" for step, batch in batches]
    texts += [f"coin {'heads' if coin else 'tails'} at t={step}" for step, coin in draws.coins]
    texts += [f"pick {index} of {count} from t={step}" for step, index, count in draws.picks]
    return formula and "; ".join(["", f"here {formula}", *texts])


def _is_mismatch_due_to_rounding(trial: Trial, case: ReplayCase, steps: int) -> bool:
    """Return whether rounding makes even the built-in method differ early from its reference.

    Rounding excuses no mismatch in the first `_SHORTEST_CONVERGED` steps, as no run has converged
    by then.
    """
    if steps < _SHORTEST_CONVERGED:
        return False
    method = ALGORITHMS[trial.claim.method](**case.parameters)
    right = record_run(case.problem(), method, max_steps=case.max_recorded_steps)
    outcome = follow_transcript(right, method)
    return outcome.decided_by_rounding and outcome.steps <= 2 * steps


def _yields_fewer_states_at_same_cost(
    case: ReplayCase, transcript: Transcript, trial: Trial
) -> bool:
    """Return whether a run yields fewer states than its reference, but has equal oracle counts."""
    right = record_run(case.problem(), ALGORITHMS[trial.claim.method](**case.parameters))
    fewer = 0 < len(transcript.states) < len(right.states)
    spent, expected = _count_calls(transcript), _count_calls(right)
    kinds = ("lo", "po") if "refresh" in case.parameters else ("sfo", "lo", "po")
    return fewer and all(spent[kind] == expected[kind] for kind in kinds)


def _check_seed_and_budget(
    trial: Trial, case: ReplayCase, algorithm: Any, comparison: ComparisonTally
) -> None:
    """Check that runs with equal seeds are identical, and that a spent budget ends a run."""
    first = _record_case(trial, case, algorithm, comparison, "repeated")
    second = _record_case(trial, case, algorithm, comparison, "repeated")
    if first is None or second is None:
        return
    for step, (state, other) in enumerate(zip(first.states, second.states, strict=False)):
        if not np.array_equal(state.x, other.x):
            comparison.violation = (
                f"{case}: iteration {step}: two runs with seed {first.seed} differ: draw only "
                f"from the stream `rng` (repeat: {trial.command})"
            )
            return
    for kind, spent in zip(COUNTED, first.spent, strict=True):
        if kind in ("sfo", "lo", "po") and spent > 1 and not comparison.violation:
            budget = Budget(**{kind: spent // 2})
            if words := _describe_run_past_budget(trial, case, algorithm, first.seed, budget):
                comparison.violation = f"{case}: it {words}. Do not catch exceptions of the oracles"


def _describe_run_past_budget(
    trial: Trial, case: ReplayCase, algorithm: Any, seed: int, budget: Budget
) -> str:
    """Return a text on how a run goes on after its budget is spent, or "" if the run stops."""
    problem: Problem = trial.subject.problem_under_test(case.problem())
    run = steps(problem, algorithm, seed=seed, ledger=Ledger(budget))
    try:
        for _ in run.states:
            if run.ledger.end_reason:
                return f"goes on after its budget is spent: {run.ledger.end_reason}"
    except BudgetExhausted:
        return ""
    return f"ends by itself after its budget is spent: {run.ledger.end_reason}" * bool(
        run.ledger.end_reason
    )


def _count_calls(transcript: Transcript) -> Mapping[str, float]:
    return dict(zip(COUNTED, map(float, transcript.spent), strict=True))


def _has_equal_counts(trial: Trial, case: ReplayCase, algorithm: Any, reference: Any) -> bool:
    """Return whether a run has the oracle counts of `reference`, without comparing the steps."""
    (seed,) = trial.seeds(1, "counts")
    spent = trial.run(case.problem(), algorithm, seed=seed).counts.as_dict()
    expected = solve(case.problem(), reference, seed=seed).counts.as_dict()
    return all(spent[kind] == expected[kind] for kind in _EXACT)


def _documents_replacement(method: Any) -> bool:
    """Return whether the documentation of a method's `batch` says "with replacement"."""
    batch = method.parameters().get("batch")
    return batch is not None and "with replacement" in batch.description


class _ComponentCounts:
    """Oracle counts of a recorded run, and the number of distinct components it queried."""

    def __init__(self, transcript: Transcript) -> None:
        full = any(query.kind in ("gradient", "table") for query in transcript.queries)
        indices = [query.indices for query in transcript.queries if query.indices is not None]
        some = len(np.unique(np.concatenate(indices))) if indices else 0
        self.distinct_components = transcript.problem.n if full else some
        self.charged = transcript.spent
