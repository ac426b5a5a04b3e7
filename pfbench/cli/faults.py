"""``pfbench faults``: find which faults, planted or generated, each claim catches."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.text import Text

from pfbench.base.errors import InputError
from pfbench.base.escaping import escape_hidden
from pfbench.cli import options, terminal
from pfbench.cli.options import argument, flag, option
from pfbench.cli.terminal import make_table
from pfbench.cli.verification_job import VerificationJob, open_job

if TYPE_CHECKING:
    from pfbench.verification.claim import Claim
    from pfbench.verification.faults.fault import Fault
    from pfbench.verification.mutation_study import StudiedFault
    from pfbench.verification.session import MutantOutcome

MAX_FAULTS = 12
"""Default number of generated faults of a method without --full and --max-faults."""


def faults(
    claims: list[str] | None = argument("CLAIM"),
    full: bool = options.FULL,
    planted_only: bool = flag("Use only the planted faults.", "--planted-only"),
    max_faults: int | None = option(
        "N", "Maximum number of generated faults per method (12; with --full, all).", minimum=1
    ),
    late_faults: int | None = option(
        "N", "Maximum number of generated faults per method that act late (default: 0).", minimum=0
    ),
    algorithm: str | None = option("FILE.py:NAME", "Generate faults from your own algorithm."),
    seed: int = options.SEED,
    store: Path = options.STORE,
    jobs: int | None = options.JOBS,
    scheduler: str | None = options.SCHEDULER,
    table: Path | None = options.TABLE,
    as_json: bool = options.AS_JSON,
) -> None:
    """Report which faults each claim catches.

    Faults are planted by hand, or generated from the method's source.
    """
    from pfbench.runs.planning.name_resolution import unquote_selector

    if planted_only and (max_faults, late_faults, algorithm) != (None, None, None):
        raise InputError(
            "--planted-only generates no faults: leave out --max-faults, --late-faults and "
            "--algorithm."
        )
    algorithm = algorithm and unquote_selector(algorithm)
    limit = max_faults or (10**9 if full else MAX_FAULTS)
    output: dict[str, Any] = {"store": store, "jobs": jobs, "scheduler": scheduler}
    with open_job(claims, as_json, table, full=full, seed=seed, **output) as work:
        if algorithm is None:
            _report_caught_catalogue_faults(work, 0 if planted_only else limit, late_faults or 0)
        else:
            _report_caught_user_faults(work, algorithm, limit, late_faults or 0)


def _report_caught_catalogue_faults(
    work: VerificationJob, max_faults: int, max_late_faults: int
) -> None:
    """Test whether claims catch the planted and the generated faults of built-in methods.

    Each planted fault is tested against the claims that must catch it. `max_faults` and
    `max_late_faults` are the maximum numbers of generated faults for each method; if both are 0,
    none are generated.
    """
    from pfbench.claims.catalogue import select_mutants

    planted, is_study = select_mutants(work.names), bool(max_faults or max_late_faults)
    generated, claims, sample = (
        generate_faults(work, max_faults, max_late_faults) if is_study else ([], [], "none")
    )
    with work.progress_of_checks("mutants", sum(len(m.expected_claims) for m in planted)) as steps:
        outcomes = work.make_session(steps).catch_mutants(planted)
    studied = study_method_faults(work, generated, claims) if is_study else []
    mutants = [terminal.rename_keys(outcome.as_json(), about="description") for outcome in outcomes]
    number = sum(bool(outcome.catching_verdicts) for outcome in outcomes)
    work.print(
        make_table(("mutant", "planted fault [caught by]"), map(_mutant_row, outcomes)),
        f"{number} of {len(outcomes)} planted faults caught",
    )
    _report_study(work, {"mutants": mutants}, studied, sample)
    if number < 0.9 * len(outcomes):
        terminal.exit_with_error("fewer than 90 % of the planted faults are caught.")


def _report_caught_user_faults(
    work: VerificationJob, algorithm: str, max_faults: int, max_late_faults: int
) -> None:
    """Report which generated faults in a user-defined algorithm the named claims catch."""
    from pfbench.claims.catalogue import load_algorithm_and_claims
    from pfbench.verification.faults.generate import generate_faults, sample_faults
    from pfbench.verification.subject import Subject

    if not work.is_quiet:
        terminal.announce_imports([algorithm])
    tested, claims = load_algorithm_and_claims(algorithm, work.names)
    if not claims:
        raise InputError(
            f"--algorithm {algorithm} needs claims to test the generated faults against: name "
            "claims, or list them in the attribute `claims` of the algorithm's class."
        )
    Subject(tested).check_importable()
    candidates = generate_faults(tested)
    if not candidates:
        raise InputError(
            f"no faults can be generated in {algorithm}: its runs use no code of its own modules."
        )
    late = generate_faults(tested, late=True) if max_late_faults else []
    chosen = [*sample_faults(candidates, max_faults), *sample_faults(late, max_late_faults)]
    sample = f"{len(chosen)} of {len(candidates) + len(late)}"
    studied = study_method_faults(work, chosen, claims)
    _report_study(work, {}, studied, sample)


def generate_faults(
    work: VerificationJob, max_faults: int, max_late_faults: int = 0
) -> "tuple[list[Fault], list[Claim], str]":
    """Return generated faults, the claims to test against them, and a description of the sample.

    The faults are in the methods that the named claims are about, or in all methods if no claim is
    named. `max_faults` and `max_late_faults` are the maximum numbers of faults and late faults for
    each method.
    """
    from pfbench.claims.catalogue import CLAIMS, select_claims
    from pfbench.verification.faults.generate import generate_faults, sample_faults
    from pfbench.verification.trial import claim_method

    claims = select_claims(work.names, work.effort) if work.names else list(CLAIMS.values())
    methods = dict.fromkeys(claim_method(claim) for claim in claims if claim.algorithm)
    chosen, words = list["Fault"](), list[str]()
    for number, is_late in ((max_faults, False), (max_late_faults, True)):
        if number:
            candidates = [generate_faults(method, late=is_late) for method in methods]
            sample = [fault for faults in candidates for fault in sample_faults(faults, number)]
            chosen += sample
            total = sum(map(len, candidates))
            words.append(f"{len(sample)} of {total}{' late ones' * is_late}")
    return chosen, claims, " and ".join(words)


def study_method_faults(
    work: VerificationJob, faults: "Sequence[Fault]", claims: "Sequence[Claim]"
) -> "list[StudiedFault]":
    """Test each fault against the claims about its method.

    A fault whose method no claim is about is tested against all claims.
    """
    from pfbench.claims.admissible import ADMISSIBLE
    from pfbench.verification.mutation_study import run_mutation_study
    from pfbench.verification.trial import claim_method

    methods = {claim.name: claim_method(claim) for claim in claims if claim.algorithm}

    def select_claims(fault: "Fault") -> "Sequence[Claim]":
        if fault.algorithm not in methods.values():
            return claims
        return [claim for claim in claims if methods.get(claim.name) is fault.algorithm]

    efforts = ("quick", "full") if work.effort == "full" else ("quick",)
    with work.progress_of_checks("generated faults", None) as steps:
        sessions = [work.make_session(steps, effort=effort) for effort in efforts]
        return run_mutation_study(sessions, faults, select_claims, ADMISSIBLE)


def _report_study(
    work: VerificationJob,
    content: Mapping[str, Any],
    studied: "Sequence[StudiedFault]",
    sample: str,
) -> None:
    """Print the results of a fault study, and write them to the requested files."""
    from pfbench.verification.mutation_study import report
    from pfbench.verification.session import Verification

    names = {"where": "location", "found_by": "caught_by"}
    generated = [terminal.rename_keys(study.as_json(), **names) for study in studied]
    nothing = Verification().as_json() | {"findings": []}
    everything = {**nothing, **content, "generated": generated}
    text = report(studied, terminal.current_command_line(), sample)
    work.write(everything, lambda command: text)
    if studied:
        work.print("", text)


def _mutant_row(outcome: "MutantOutcome") -> tuple[str, Text]:
    names = escape_hidden(", ".join(verdict.claim.name for verdict in outcome.catching_verdicts))
    why = "" if names else f"not caught: {_explain_why_fault_was_missed(outcome)}"
    caught = Text(f"[{names or why}]", "" if names else "bold red")
    description = escape_hidden(outcome.mutant.description, "\n")
    return outcome.mutant.name, Text.assemble(description, "\n", caught)


def _explain_why_fault_was_missed(outcome: "MutantOutcome") -> str:
    """Return the verdict of each claim that should catch a fault, and the room in its bound."""
    from pfbench.verification.summaries import slack_factor

    why = []
    for row in outcome.verdicts:
        times = slack_factor(row.measured)
        left = f", with {times:.3g} times room in its bound" if times and times > 1.0 else ""
        why.append(f"{row.claim.name} ({row.claim.kind}) says {row.verdict}{left}")
    return escape_hidden("; ".join(why))
