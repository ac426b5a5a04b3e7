"""``pfbench faults``: the faults, planted and generated, that each claim catches."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich.console import Group, RenderableType
from rich.text import Text

from pfbench.base.errors import InputError
from pfbench.base.escaping import escape_text
from pfbench.cli import terminal
from pfbench.cli.report_command import current_command_line
from pfbench.cli.terminal_tables import READABLE, make_table, print_parts, section_with_title

if TYPE_CHECKING:
    from pfbench.cli.verification_job import VerificationJob
    from pfbench.verification.claim import Claim
    from pfbench.verification.faults.fault import Fault
    from pfbench.verification.mutation_study import StudiedFault
    from pfbench.verification.outcomes import MutantOutcome

MAX_FAULTS = 12
"""Default number of generated faults of a method without --full and --max-faults."""


def show_fault_detection(
    work: "VerificationJob",
    algorithm: str | None,
    max_faults_per_method: int | None,
    max_late_faults_per_method: int = 0,
) -> None:
    """Report which faults each claim catches: of built-in methods, or of a user's algorithm."""
    if algorithm is None:
        report_planted_and_generated_faults(work, max_faults_per_method, max_late_faults_per_method)
        return
    if not work.is_quiet:
        terminal.announce_imports([algorithm])
    report_user_algorithm_faults(work, algorithm, max_faults_per_method, max_late_faults_per_method)


def report_planted_and_generated_faults(
    work: "VerificationJob", max_faults_per_method: int | None, max_late_faults_per_method: int = 0
) -> None:
    """Test planted faults against claims that must catch them, generated ones against all.

    `max_faults_per_method` and `max_late_faults_per_method` are the maximum numbers of generated
    and of late generated faults for each method; if both are 0, no generated faults are tested.
    """
    from pfbench.claims.catalogue import select_mutants

    planted = select_mutants(work.names)
    alone = max_faults_per_method == 0 and not max_late_faults_per_method
    expected = (
        0 if max_faults_per_method == 0 else _fault_limit(work, max_faults_per_method),
        max_late_faults_per_method,
    )
    faults, claims, sample = ([], [], "none") if alone else generate_faults(work, *expected)
    with work.step_progress(
        "mutants", sum(len(mutant.expected_claims) for mutant in planted)
    ) as steps:
        caught = work.make_session(steps).catch_mutants(planted)
    studied = [] if alone else study_faults(work, faults, claims)
    mutants = [terminal.rename_keys(outcome.as_json(), about="description") for outcome in caught]
    _write_study(work, {"mutants": mutants}, studied, sample)
    number = sum(bool(outcome.catching_verdicts) for outcome in caught)
    if not work.is_quiet:
        print_parts(
            make_table(("mutant", "planted fault [caught by]"), map(_caught_row, caught)),
            Text(f"{number} of {len(caught)} planted faults caught"),
            None
            if alone
            else section_with_title(f"generated faults, {sample}", _render_study(studied)),
            max_width=READABLE,
        )
    if number < 0.9 * len(caught):
        terminal.exit_with_error("fewer than 90 % of the planted faults are caught.")


def report_user_algorithm_faults(
    work: "VerificationJob",
    algorithm: str,
    max_faults_per_method: int | None,
    max_late_faults_per_method: int = 0,
) -> None:
    """Report which faults in a user's algorithm the named claims catch."""
    from pfbench.claims.catalogue import algorithm_and_claims
    from pfbench.verification.faults.generate import generate_faults, sample_faults
    from pfbench.verification.subject import Subject

    tested, claims = algorithm_and_claims(algorithm, work.names)
    if not claims:
        raise InputError(
            f"--algorithm {algorithm} needs claims to test its faults against: name "
            "them, or list them in an attribute `claims` of its class."
        )
    Subject(tested).check_importable()
    full_list = generate_faults(tested)
    if not full_list:
        raise InputError(f"no faults can be generated in {algorithm}: its modules lack its code.")
    later = generate_faults(tested, late=True) if max_late_faults_per_method else []
    faults = [
        *sample_faults(full_list, _fault_limit(work, max_faults_per_method)),
        *sample_faults(later, max_late_faults_per_method),
    ]
    words = f"{len(faults)} of {len(full_list) + len(later)}"
    studied = study_faults(work, faults, claims)
    _write_study(work, {}, studied, words)
    if not work.is_quiet:
        print_parts(
            section_with_title(f"faults in {algorithm}, {words}", _render_study(studied)),
            max_width=READABLE,
        )


def _fault_limit(work: "VerificationJob", limit: int | None) -> int:
    return limit or (10**9 if work.effort == "full" else MAX_FAULTS)


def generate_faults(
    work: "VerificationJob", max_faults_per_method: int, max_late_faults_per_method: int = 0
) -> "tuple[list[Fault], list[Claim], str]":
    """Return faults of the methods of the named claims, these claims, and the sample in words.

    `max_faults_per_method` and `max_late_faults_per_method` are maximum numbers for each method.
    """
    from pfbench.claims.catalogue import CLAIMS, select_claims
    from pfbench.verification.faults.generate import generate_faults, sample_faults
    from pfbench.verification.trial import claim_method

    claims = select_claims(work.names, work.effort) if work.names else list(CLAIMS.values())
    subject = dict.fromkeys(claim_method(claim) for claim in claims if claim.algorithm)
    chosen, words = list["Fault"](), list[str]()
    for number, is_late in ((max_faults_per_method, False), (max_late_faults_per_method, True)):
        full_list = [generate_faults(method, late=is_late) for method in subject] if number else []
        results = [fault for faults in full_list for fault in sample_faults(faults, number)]
        chosen += results
        if number:
            words.append(f"{len(results)} of {sum(map(len, full_list))}{' late ones' * is_late}")
    return chosen, claims, " and ".join(words)


def study_faults(
    work: "VerificationJob", faults: "Sequence[Fault]", claims: "Sequence[Claim]"
) -> "list[StudiedFault]":
    """Test faults against the claims about their method, or against all if there are none."""
    from pfbench.claims.admissible import ADMISSIBLE
    from pfbench.verification.mutation_study import run_mutation_study
    from pfbench.verification.trial import claim_method

    claim_methods = {claim.name: claim_method(claim) for claim in claims if claim.algorithm}

    def select_claims(fault: "Fault") -> "Sequence[Claim]":
        if fault.algorithm not in claim_methods.values():
            return claims
        return [claim for claim in claims if claim_methods.get(claim.name) is fault.algorithm]

    def full_size_settings(fault: "Fault") -> "Claim | None":
        runs = (claim for claim in select_claims(fault) if claim.name.startswith("methods-run-"))
        return next(runs, None)

    efforts = ("quick", "full") if work.effort == "full" else ("quick",)
    with work.step_progress("generated faults", None) as steps:
        sessions = [work.make_session(steps, effort=effort) for effort in efforts]
        return run_mutation_study(sessions, faults, select_claims, ADMISSIBLE, full_size_settings)


def _write_study(
    work: "VerificationJob",
    results: Mapping[str, Any],
    studied_faults: "Sequence[StudiedFault]",
    sample: str,
) -> None:
    """Write the results as JSON and as Markdown, as requested."""
    from pfbench.verification.mutation_study import report
    from pfbench.verification.outcomes import Verification

    nothing = Verification().as_json() | {"findings": []}
    names = {"where": "location", "found_by": "caught_by"}
    generated = [terminal.rename_keys(study.as_json(), **names) for study in studied_faults]
    work.write_json({**nothing, **results, "generated": generated})
    if work.table is not None:
        terminal.write_text(report(studied_faults, current_command_line(), sample), work.table)


def _render_study(studied_faults: "Sequence[StudiedFault]") -> RenderableType:
    from pfbench.verification.mutation_study import (
        count_first_catches_by_claim,
        detection_rate,
        group_by_method,
        list_missed_faults,
    )

    rows: list[tuple[Any, ...]] = []
    for name, faults in group_by_method(studied_faults).items():
        same = sum(bool(study.equivalent) for study in faults)
        covered = sum(bool(study.admissible) for study in faults)
        rows.append((name, str(len(faults)), str(same), str(covered), str(detection_rate(faults))))
    lines = [
        Text(escape_text(f"{study.fault.method}: {study.fault.format}"))
        for study in list_missed_faults(studied_faults)
    ]
    claims = [
        (name, str(number)) for name, number in count_first_catches_by_claim(studied_faults).items()
    ]
    return Group(
        make_table(("method", "faults", "equivalent", "admissible", "caught"), rows),
        make_table(("claim", "caught first"), claims),
        *([section_with_title("missed", Group(*lines))] if lines else []),
        Text(f"{detection_rate(studied_faults)} caught of those neither equivalent nor admissible"),
    )


def _caught_row(outcome: "MutantOutcome") -> tuple[str, Text]:
    names = escape_text(", ".join(verdict.claim.name for verdict in outcome.catching_verdicts))
    by = (
        f"[{names}]"
        if names
        else Text(f"[not caught: {_explain_why_fault_was_missed(outcome)}]", "bold red")
    )
    return outcome.mutant.name, Text.assemble(
        escape_text(outcome.mutant.description, "\n"), "\n", by
    )


def _explain_why_fault_was_missed(outcome: "MutantOutcome") -> str:
    """Return the reason why no claim catches a fault, and the kind of claim that would."""
    from pfbench.verification.summaries import slack_factor

    why = []
    for row in outcome.verdicts:
        times = slack_factor(row.measured)
        left = f", with {times:.3g} times room in its bound" if times and times > 1.0 else ""
        why.append(f"{row.claim.name} ({row.claim.kind}) says {row.verdict}{left}")
    kinds = {row.claim.kind for row in outcome.verdicts}
    finer = [kind for kind in ("count", "law", "identity") if kind not in kinds]
    hint = f"; a claim of kind {' or '.join(finer)} would be exact" if finer else ""
    return escape_text("; ".join(why) + hint)
