"""Comparison of a method's runs, draws and oracle counts with a reference implementation."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import MISSING, fields, replace
from typing import Any

import numpy as np

from pfbench.algorithms.catalogue import ALGORITHMS
from pfbench.base.counts import COUNTED, Budget, OracleKind
from pfbench.base.errors import (
    BudgetExhausted,
    InputError,
    PfbenchError,
    UndeclaredOracleError,
    end_sentence,
    format_error_with_notes,
)
from pfbench.base.status import Verdict
from pfbench.oracles import Ledger
from pfbench.runs.loop.steps import steps
from pfbench.verification.faults.fault import Fault
from pfbench.verification.replay.draw_streams import draw_cases_and_run_counts, examine_draw_law
from pfbench.verification.replay.draws import ResolvedDraws
from pfbench.verification.replay.follow import ReplayOutcome, compare_transcript_with_reference
from pfbench.verification.replay.forms import UNUSED, format_parameters, list_method_forms
from pfbench.verification.replay.outputs import decide_output_distribution
from pfbench.verification.replay.recorded_run import Transcript
from pfbench.verification.replay.replay_instances import (
    LONG_COUNT,
    ReplayCase,
    iterate_count_cases,
    iterate_replay_cases,
    make_case,
    make_small_instances,
)
from pfbench.verification.replay.small_cases import find_smallest_mismatch
from pfbench.verification.statistics import Decision, Evidence, combine_all
from pfbench.verification.subject import (
    ClaimBroken,
    MethodFailed,
    NotTestable,
    SubjectLacksParameter,
    list_unset_parameters,
    make_unset_parameters_error,
    select_accepted,
)
from pfbench.verification.trial import Trial

REFUSALS = (PfbenchError, ValueError, NotImplementedError)
"""Errors by which a method, or its schedule, refuses parameters or a problem."""

NOT_COMPARED = "Not compared"
"""Beginning of a sentence on runs that were left out; verdicts with it show their reason."""

_CLAIMED = {"mismatches": 0.0}

_DOUBTFUL = 1e-3
"""Largest p-value, shared by all streams, that is doubtful: below it nothing is decided."""

_EXACT = tuple(kind for kind in COUNTED if kind not in (OracleKind.FO, OracleKind.FV))
"""Compared counts; not FO, as a full gradient may be queried as a batch of all components."""


def compare_runs_with_reference(
    trial: Trial, *, name: str, values: Mapping[str, Any] | None = None
) -> Evidence:
    """Compare the method under test with its reference implementation, step by step.

    With `values`, compare it only on the case that they describe; see `make_case`. Otherwise a
    small case is searched once a run differs.
    """
    comparison = Comparison(trial, name)
    cases: Iterable[ReplayCase] = iterate_replay_cases(
        comparison.method, trial.effort, trial.case_seed
    )
    if values:
        cases = [make_case(comparison.method, values)]
    (seed,) = trial.seeds(1, "run")
    for case, algorithm in comparison.iterate_runnable_cases(cases):
        transcript = comparison.record(case, algorithm, seed)
        if transcript is None:
            continue
        if not comparison.steps:
            comparison.check_seed_and_budget(case, algorithm)
        if comparison.violation:
            break
        outcome = comparison.compare_run(case, transcript)
        comparison.add_outcome(case, transcript, outcome)
        if comparison.violation:
            is_generated = isinstance(trial.subject.algorithm, Fault)
            small = None if values or is_generated else find_smallest_mismatch(trial, case)
            if small:
                evidence = small.check(replace(trial, claim=small))
                first = f"{case}: iteration {outcome.steps} (repeat: {trial.command})"
                comparison.violation = f"{evidence.decision.reason} First seen on {first}"
            break
    right = "Every step, estimate, output and query is that of the reference."
    return Evidence(comparison.decide(right), _CLAIMED, max(1, comparison.runs))


def compare_draws_with_reference(trial: Trial, *, name: str) -> Evidence:
    """Test whether draws and output are distributed as in the reference implementation."""
    comparison, parts = Comparison(trial, name), dict[str, Decision]()
    output = decide_output_distribution(trial, comparison.method)
    if output is not None:
        parts["output"] = output
        if output.verdict == Verdict.VIOLATED:
            return Evidence(combine_all(parts), {}, 1)
    usual, declared = comparison.method.output, getattr(trial.algorithm, "output", None)
    if declared not in (None, usual) and not select_accepted(trial.algorithm, ("output",)):
        comparison.skipped.append(f"output={usual}")
    streams = list(draw_cases_and_run_counts(comparison.method, trial.case_seed, trial.effort))
    for tested, run_count in streams:
        case = comparison.set_required_parameters(tested)
        logs, differs = comparison.draws_until_mismatch(case, trial.seeds(run_count, "draws"))
        if differs:
            break
        if len(logs) == run_count:
            comparison.runs += 1
            parts[str(case)] = _decide_draw_law(comparison, case, logs, _DOUBTFUL / len(streams))
            if parts[str(case)].verdict == Verdict.VIOLATED:
                break
    if streams and not parts and not comparison.doubts:
        raise comparison.make_refusal_error()
    decision = comparison.decide("The draws and the output have the reference's law.")
    return Evidence(combine_all({"": decision, **parts}), {}, max(1, comparison.runs))


def _decide_draw_law(
    comparison: "Comparison", case: ReplayCase, logs: Sequence[ResolvedDraws], doubtful: float
) -> Decision:
    """Decide whether draws have the reference's law; a p-value of at most `doubtful` is doubted."""
    law = examine_draw_law(logs, case.problem().n, case.parameters.get("refresh"))
    words, batch = law.violation, comparison.method.parameters().get("batch")
    if law.law and "with replacement" in getattr(batch, "description", ""):
        words = words or f"the batches are drawn {law.law}, the source's with replacement"
    if words:
        seeds = comparison.trial.seeds(len(logs), "draws")
        runs = f"seed {seeds[0]}{' and others' if len(seeds) > 1 else ''}"
        words += f" ({runs}; repeat: {comparison.trial.command})"
        return Decision("violated", f"iteration {law.step}: {words}.", {}, law.p_value)
    comparison.notes += [f"the batches are drawn {law.law}"] if law.law else []
    if law.p_value <= doubtful:
        return Decision("inconclusive", "The drawn indices look dependent.", {}, law.p_value)
    return Decision("holds", "", {}, law.p_value)


def compare_counts_with_reference(trial: Trial, *, name: str) -> Evidence:
    """Compare a method's oracle counts with those of its reference implementation."""
    comparison = Comparison(trial, name)
    claimed = dict[str, float]()
    cases = iterate_count_cases(comparison.method, trial.effort, trial.case_seed)
    (seed,) = trial.seeds(1, "counts")
    for case, algorithm in comparison.iterate_runnable_cases(cases):
        transcript = comparison.record(case, algorithm, seed)
        if transcript is None:
            continue
        spent = _count_calls(transcript)
        expected = _count_calls(case.record(comparison.method(**case.parameters), seed=seed))
        kind = next((kind for kind in _EXACT if spent[kind] != expected[kind]), None)
        if kind is not None:
            outcome = comparison.compare_run(case, transcript)
            if outcome.agrees:  # the reference makes the same calls if it makes the same draws
                kind, expected = None, spent
                comparison.notes += outcome.notes
                comparison.doubts += [
                    f"not the source's count: {note}" for note in outcome.notes[:1]
                ]
            elif "refresh" in case.parameters or "condg" in dir(comparison.method):
                comparison.doubts.append(
                    f"{case}: iteration {outcome.steps}: {outcome.reason}: its counts cannot be "
                    "compared, as the run differs from the reference"
                )
                continue
        comparison.runs += 1
        if kind is None and case.horizon >= LONG_COUNT:
            continue
        comparison.steps += len(transcript.states)
        claimed |= {f"{case}: {kind}": number for kind, number in expected.items()}
        if kind is not None:
            comparison.violation = f"{case}: {kind} is {spent[kind]:g}, not {expected[kind]:g}"
            break
    decision = comparison.decide("Every count is that of the reference.")
    return Evidence(decision, claimed, max(1, comparison.runs))


class Comparison:
    """Results of comparing a method with its reference: agreeing steps, mismatch and remarks.

    A method without the text parameters by which the built-in one selects a kind, as `step`, is
    compared with the kind whose reference it follows longest.

    Attributes
    ----------
    trial, method
        Context of the check, and the class of the built-in method.
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
    unset
        Fewest parameters that the method requires, and to which a case gives no value.
    """

    def __init__(self, trial: Trial, name: str) -> None:
        self.trial, self.method = trial, ALGORITHMS[name]
        self.runs = self.steps = 0
        self.violation = self.refusal = ""
        self.unset = list[str]()
        self.doubts, self.notes, self.skipped = list[str](), list[str](), list[str]()
        self.kind: Mapping[str, str] = self._find_kind()
        if self.kind:
            self.notes.append(f"Compared with {format_parameters(self.kind)}")

    def _find_kind(self) -> Mapping[str, str]:
        forms = list_method_forms(self.method)
        splits = [self._split_accepted_and_lacking(parameters) for parameters in forms]
        longest, kind = -1.0, dict[str, str]()
        if not all(lacking for _, lacking in splits):
            return kind
        for parameters, (accepted, lacking) in zip(forms, splits, strict=True):
            if not all(isinstance(value, str) for value in lacking.values()):
                continue
            case = ReplayCase(make_small_instances(self.method)[0], parameters)
            with suppress(NotTestable):
                transcript = case.record(self.trial.make(**accepted), subject=self.trial.subject)
                outcome = self.compare_run(case, transcript)
                steps_followed = math.inf if outcome.agrees else outcome.steps
                if transcript.error is None and steps_followed > longest:
                    longest, kind = steps_followed, lacking
        return kind

    def _split_accepted_and_lacking(
        self, parameters: Mapping[str, Any]
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the parameters that the method under test accepts, and those that it lacks."""
        required = self.method.list_required_parameters()
        names = set(select_accepted(self.trial.algorithm, (*parameters,), required))
        accepted = {name: value for name, value in parameters.items() if name in names}
        names |= set(UNUSED.get(parameters.get("step"), ()))
        return accepted, {name: value for name, value in parameters.items() if name not in names}

    def set_required_parameters(self, case: ReplayCase) -> ReplayCase:
        """Return a case with a value of each parameter that the method under test requires.

        A value is the built-in method's default, or else that of its first form with a value.
        """
        usual = {f.name: f.default for f in fields(self.method) if f.default not in (None, MISSING)}
        for form in (usual, *list_method_forms(self.method)):
            names = list_unset_parameters(self.trial.algorithm, case.parameters)
            values = {name: form[name] for name in names if name in form}
            with suppress(InputError):
                self.method(**case.parameters, **values)
                case = replace(case, parameters={**case.parameters, **values})
        return case

    def make_method(self, case: ReplayCase) -> Any:
        """Return the method under test with a case's parameters, or None if it rejects them."""
        accepted, lacking = self._split_accepted_and_lacking(case.parameters)
        if lacking and lacking != self.kind:
            self.skipped += sorted(set(lacking) - set(self.kind))
            return None
        defaults = {f.name: f.default for f in fields(self.method)}
        kind = {k: v for k, v in defaults.items() if isinstance(v, str) and k != "output"}
        accepted = self._split_accepted_and_lacking(kind)[0] | accepted
        if unset := list_unset_parameters(self.trial.algorithm, accepted):
            self.unset = min(self.unset or unset, unset, key=len)
            self.skipped.append(f"{_format_kind(case.parameters)} (needs {', '.join(unset)})")
            return None
        try:
            return self.trial.make(**accepted)
        except NotTestable as error:
            if error.__cause__ and not isinstance(error.__cause__, REFUSALS):
                raise
            needed = {*self.method.list_required_parameters(), "iterations"}
            own = {k: v for k, v in case.parameters.items() if k not in needed}
            self.skipped.append(f"{format_parameters(own or kind or case.parameters)} (refused)")
            return None

    def iterate_runnable_cases(
        self, cases: Iterable[ReplayCase]
    ) -> Iterator[tuple[ReplayCase, Any]]:
        """Yield each case whose parameters the method under test accepts, and the method with them.

        Raises
        ------
        NotTestable
            If the method can run no case.
        """
        runs = 0
        for case in map(self.set_required_parameters, cases):
            algorithm = self.make_method(case)
            if algorithm is not None:
                runs += 1
                yield case, algorithm
        if not runs:
            raise self.make_refusal_error()

    def record(self, case: ReplayCase, algorithm: Any, seed: int) -> Transcript | None:
        """Return the record of a run, or None if the method cannot handle the points of the case.

        Raises
        ------
        MethodFailed, ClaimBroken
            If the method raises, does not end, or queries outside the ledger.
        """
        transcript = case.record(algorithm, seed=seed, subject=self.trial.subject)
        self.trial.coverage.add_run(transcript.problem, len(transcript.states), transcript)
        error, how_to_repeat = transcript.error, f"(repeat: {self.trial.command})"
        location = f"{case}: iteration {len(transcript.states)}"
        if error is None:
            return transcript
        if isinstance(error, ClaimBroken):
            raise type(error)(f"{location}: {error} {how_to_repeat}") from error
        words = f"{location}: the run raised {format_error_with_notes(error)} {how_to_repeat}"
        refused = f"{_format_kind(case.parameters)} (refused)"
        is_refusal = isinstance(error, REFUSALS) and not transcript.states
        if isinstance(error, UndeclaredOracleError):
            raise MethodFailed(words) from error
        if case.is_factored:
            self.skipped.append(f"factored points ({type(error).__name__})")
        elif case.has_matrix_points and refused not in self.skipped:
            self.doubts.append(words)
        elif is_refusal and not transcript.queries:
            self.skipped.append(refused)
            self.refusal = self.refusal or words
        elif is_refusal and case.is_extreme:
            self.skipped.append(f"{case} (refused)")
        else:
            raise MethodFailed(words) from error
        return None

    def compare_run(self, case: ReplayCase, transcript: Transcript) -> ReplayOutcome:
        """Compare a recorded run with the reference of the built-in method."""
        return compare_transcript_with_reference(transcript, self.method(**case.parameters))

    def draws_until_mismatch(
        self, case: ReplayCase, seeds: Iterable[int]
    ) -> tuple[list[ResolvedDraws], bool]:
        """Return the draws of runs up to the first that cannot be followed, and if it differs."""
        logs = list[ResolvedDraws]()
        algorithm = self.make_method(case)
        for seed in seeds if algorithm is not None else ():
            transcript = self.record(case, algorithm, seed)
            if transcript is None:
                break
            outcome = self.compare_run(case, transcript)
            if not outcome.agrees:
                reason = f"a run differs: {case}: iteration {outcome.steps}: {outcome.reason}"
                if outcome.decided_by_rounding:
                    reason = f"rounding decides a run: {case}: from iteration {outcome.steps} on"
                self.doubts.append(f"the draws are not tested, as {reason}")
                return logs, outcome.is_mismatch
            self.doubts += outcome.notes if outcome.log.has_table_repeats_queried_once else []
            logs.append(outcome.log)
        return logs, False

    def add_outcome(self, case: ReplayCase, transcript: Transcript, outcome: ReplayOutcome) -> None:
        """Add the result of comparing one run with its reference implementation."""
        location = f"{case}, seed {transcript.seed}: iteration {outcome.steps}"
        if outcome.agrees:
            self.runs += 1
            self.steps += outcome.steps
            self.notes += outcome.notes
            if outcome.notes:
                self.doubts.append(f"{case}: {outcome.notes[0]}")
        elif outcome.decided_by_rounding:
            self.steps += outcome.steps
            if 2 * outcome.steps < len(transcript.states):  # even the built-in method may differ
                right = self.compare_run(case, case.record(self.method(**case.parameters)))
                if not (right.decided_by_rounding and right.steps <= 2 * outcome.steps):
                    self.doubts.append(f"{location}: rounding decides the run from there on")
        elif outcome.is_cut_short:
            self.doubts.append(f"{location}: its draws have too many possible readings")
        elif self._yields_fewer_states_at_same_cost(case, transcript):
            words = f"{case}: the run yields {len(transcript.states)} states for all its queries"
            self.doubts.append(f"{words}: yield a State after each update")
        else:
            words = _describe_case_for_hand_check(case, outcome)
            self.violation = f"{location}: {outcome.reason}{words} (repeat: {self.trial.command})"

    def _yields_fewer_states_at_same_cost(self, case: ReplayCase, transcript: Transcript) -> bool:
        """Return whether a run yields fewer states than its reference, at equal oracle counts."""
        right = case.record(self.method(**case.parameters))
        fewer = 0 < len(transcript.states) < len(right.states)
        spent, expected = _count_calls(transcript), _count_calls(right)
        kinds = ("lo", "po") if "refresh" in case.parameters else ("sfo", "lo", "po")
        return fewer and all(spent[kind] == expected[kind] for kind in kinds)

    def check_seed_and_budget(self, case: ReplayCase, algorithm: Any) -> None:
        """Check that runs with equal seeds are identical, and that a spent budget ends a run."""
        (seed,) = self.trial.seeds(1, "repeated")
        first, second = (self.record(case, algorithm, seed) for _ in range(2))
        if first is None or second is None:
            return
        for step, (state, other) in enumerate(zip(first.states, second.states, strict=False)):
            if not np.array_equal(state.x, other.x):
                self.violation = (
                    f"{case}: iteration {step}: two runs with seed {first.seed} differ: draw only "
                    f"from the stream `rng` (repeat: {self.trial.command})"
                )
                return
        for kind, spent in zip(COUNTED, first.charged, strict=True):
            if kind in ("sfo", "lo", "po") and spent > 1 and not self.violation:
                ledger = Ledger(Budget(**{kind: spent // 2}))
                problem = self.trial.subject.problem_under_test(case.problem())
                if words := _describe_run_past_budget(problem, algorithm, first.seed, ledger):
                    self.violation = f"{case}: it {words}. Do not catch exceptions of the oracles"

    def make_refusal_error(self) -> NotTestable:
        """Return an error that names what the method lacks, requires or refuses."""
        if self.unset:
            return make_unset_parameters_error(self.unset)
        names = " or ".join(sorted(set(self.skipped)))
        return SubjectLacksParameter(f"the method does not accept {names}")

    def decide(self, reason_if_equal: str) -> Decision:
        """Return the decision on all comparisons, with `reason_if_equal` if nothing differs.

        Raises
        ------
        MethodFailed
            If the method refused every run.
        """
        numbers = {"mismatches": bool(self.violation), "runs": self.runs, "iterations": self.steps}
        measured = {name: float(number) for name, number in numbers.items()}
        if self.violation:
            return Decision("violated", end_sentence(self.violation), measured, None)
        if self.doubts:
            return Decision("inconclusive", end_sentence(self.doubts[0]), measured, None)
        if self.refusal and not self.runs:
            raise MethodFailed(self.refusal)
        words = "".join(f" {note}." for note in dict.fromkeys(self.notes))
        lacks = ", ".join(dict.fromkeys(self.skipped))
        words += f" {NOT_COMPARED}: {lacks}." if lacks else ""
        return Decision("holds", f"{reason_if_equal}{words}", measured, None)


def _format_kind(parameters: Mapping[str, Any]) -> str:
    """Return the text parameters, which select the kind of method, or else all, as text."""
    options = {name: value for name, value in parameters.items() if isinstance(value, str)}
    return format_parameters(options or parameters)


def _describe_case_for_hand_check(case: ReplayCase, outcome: ReplayOutcome) -> str:
    """Return the formulas, start and draws of a quadratic case as text; "" for other cases."""
    formula = getattr(case.problem(), "formula", "")
    draws = outcome.log
    batches = [
        *draws.all_uniform_batches,
        *draws.list_batches("weighted"),
        *draws.list_batches("subsets"),
    ]
    texts = [f"batch {batch.tolist()} at t={step}" for step, batch in batches]
    texts += [f"coin {'heads' if coin else 'tails'} at t={step}" for step, coin in draws.coins]
    texts += [f"pick {index} of {count} from t={step}" for step, index, count in draws.picks]
    return formula and "; ".join(["", f"here {formula}", *texts])


def _describe_run_past_budget(problem: Any, algorithm: Any, seed: int, ledger: Ledger) -> str:
    """Describe how a run goes on after its budget is spent; return "" if the run stops."""
    run = steps(problem, algorithm, seed=seed, ledger=ledger)
    with suppress(BudgetExhausted):
        if any(ledger.end_reason for _ in run.states) or ledger.end_reason:
            return f"goes on after its budget is spent: {ledger.end_reason}"
    return ""


def _count_calls(transcript: Transcript) -> Mapping[str, float]:
    return dict(zip(COUNTED, map(float, transcript.charged), strict=True))
