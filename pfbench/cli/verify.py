"""``pfbench verify``: verify claims, and print verdicts with their evidence."""

from collections.abc import Iterable, Iterator, Sequence, Sized
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Group, RenderableType
from rich.text import Text

from pfbench.base.errors import InputError, end_sentence
from pfbench.base.status import Verdict as VerdictName
from pfbench.cli import options, terminal
from pfbench.cli.catalogue import CatalogueItem
from pfbench.cli.formatting import format_duration, format_plural
from pfbench.cli.options import argument, flag, option
from pfbench.cli.terminal import make_table, section_with_title
from pfbench.cli.verification_job import VerificationJob, announce_claims, open_job

if TYPE_CHECKING:
    from pfbench.claims.harder_instances import HardestInstance
    from pfbench.verification.claim import Claim, Erratum
    from pfbench.verification.homogeneity import Homogeneity
    from pfbench.verification.session import ErratumFinding, Verification
    from pfbench.verification.verdict import Verdict


def verify(
    claims: list[str] | None = argument("CLAIM"),
    quick: bool = flag("Test the claims that take seconds each (default).", "--quick"),
    full: bool = options.FULL,
    algorithm: str | None = option("FILE.py:NAME", "Check the claims on your own algorithm."),
    harder_instances: bool = flag(
        "Also test user-defined bounds on the catalogue's harder instances.", "--harder-instances"
    ),
    listing: bool = flag("List the claims and the expected time.", "--list"),
    seed: int = options.SEED,
    case_seed: int | None = option(
        "N",
        "Seed for test sizes and start points (default: 0; random with --algorithm).",
        minimum=0,
    ),
    store: Path = options.STORE,
    jobs: int | None = options.JOBS,
    scheduler: str | None = options.SCHEDULER,
    table: Path | None = option("FILE.md", "Write the verdicts as Markdown."),
    as_json: bool = options.AS_JSON,
) -> None:
    """Verify claims, and print the verdicts with their evidence.

    Verdicts: holds; within-10 (holds, and at least a tenth of the bound was measured); attained (at
    least 0.99 of it); violated; failed (the method raised, hung, or lacks what is needed: nothing
    was measured); disputed (its proof is known to be broken); inconclusive. Results in the store
    are reused, and after an interruption the same command continues. Exit status 1 if a claim is
    violated or failed, or a check was lost.
    """
    from pfbench.claims.catalogue import ERRATA, select_claims
    from pfbench.runs.planning.name_resolution import unquote_selector

    if quick and full:
        raise InputError("--quick and --full cannot be combined: leave out one of the two.")
    if harder_instances and algorithm:
        raise InputError(
            "--harder-instances and --algorithm cannot be combined: leave out one of the two."
        )
    algorithm = algorithm and unquote_selector(algorithm)
    if listing:
        names, effort = (announce_claims(claims, as_json), "full" if full else "quick")
        show_claims(select_claims(names, effort), effort, () if names else ERRATA, as_json=as_json)
        return
    output: dict[str, Any] = {"store": store, "jobs": jobs, "scheduler": scheduler}
    with open_job(claims, as_json, table, full=full, seed=seed, **output) as work:
        if algorithm is not None:
            _verify_algorithm(work, algorithm, case_seed)
        else:
            _verify_claims(work, case_seed, include_held_bounds=harder_instances)


def _verify_claims(
    work: VerificationJob, case_seed: int | None, *, include_held_bounds: bool
) -> None:
    """Verify claims on the methods that they are about, and try to reproduce errata."""
    from pfbench.claims.catalogue import ERRATA, load_user_papers, select_claims
    from pfbench.verification.added_searches import search_counterexamples
    from pfbench.verification.session import choose_zero_or_random_case_seed

    claims = select_claims(work.names, work.effort)
    errata = [] if work.names else list(ERRATA.values())
    errata += [erratum for paper in load_user_papers(work.names) for erratum in paper.errata]
    work.case_seed = choose_zero_or_random_case_seed(case_seed, claims, None)
    _announce_case_seed(work)
    report_unit_consistency(claims, work)
    errors = "erratum" if len(errata) == 1 else "errata"
    both = f" of {format_plural(len(claims), 'claim')} and {len(errata)} {errors}" if errata else ""
    with work.progress_of_checks(f"verification{both}", len(claims) + len(errata)) as steps:
        session = work.make_session(steps)
        done = session.verify(claims)
        includes_catalogue = work.table is not None
        done = search_counterexamples(session, done, includes_catalogue=includes_catalogue)
        findings = session.examine(errata)
    instances = _search_harder_instances(work, done.rows, include_held_bounds)
    report_results_and_exit_if_unexpected(done, findings, work, instances)


def _verify_algorithm(work: VerificationJob, reference: str, case_seed: int | None) -> None:
    """Verify claims on a user-defined algorithm.

    Claims about methods come first, then the quickest ones.
    """
    from pfbench.claims.catalogue import load_algorithm_and_claims, methods_first_then_quickest_key
    from pfbench.verification.session import choose_zero_or_random_case_seed
    from pfbench.verification.subject import Subject

    if not work.is_quiet:
        terminal.announce_imports([reference])
    algorithm, claims = load_algorithm_and_claims(reference, work.names)
    if not claims:
        raise InputError(
            f"{reference} names no claims: name claims, or list them in the attribute `claims` of "
            "its class; `pfbench check` needs none."
        )
    subject = Subject(algorithm=algorithm)
    subject.check_importable()
    work.case_seed = choose_zero_or_random_case_seed(case_seed, claims, reference)
    _announce_case_seed(work)
    report_unit_consistency(claims, work)
    with work.progress_of_checks("verification", len(claims)) as steps:
        order = methods_first_then_quickest_key(work.effort)
        done = replace(work.make_session(steps), order=order).verify(claims, subject)
    report_results_and_exit_if_unexpected(done, [], work)


def _announce_case_seed(work: VerificationJob) -> None:
    if work.case_seed and not work.is_quiet:
        terminal.print_note(
            f"full-size runs have sizes and start points by --case-seed {work.case_seed}"
        )


def report_results_and_exit_if_unexpected(
    done: "Verification",
    findings: "Sequence[ErratumFinding]",
    work: VerificationJob,
    instances: "Sequence[HardestInstance]" = (),
) -> None:
    """Write and print verdicts and errata; exit with status 1 if a result is unexpected.

    Unexpected are, for example, a violated claim and an erratum that is not reproduced.
    """
    from pfbench.claims.catalogue import PAPERS, load_user_papers, paper_titles
    from pfbench.verification.statistics import MOST_TESTS
    from pfbench.verification.summaries import format_summary
    from pfbench.verification.verdict_tables import verdict_table

    names = {"tried": "tried_count", "lacks": "unmet_assumptions"}
    harder = [terminal.dataclass_as_dict(instance, **names) for instance in instances]
    units = check_all_homogeneity([row.claim for row in done.rows], [f.erratum for f in findings])
    content = done.as_json() | {
        "findings": [terminal.rename_keys(f.as_json(), ruling="conclusion") for f in findings],
        "units": [homogeneity.as_json() for homogeneity in units],
        **({"harder_instances": harder} if harder else {}),
    }
    titles = paper_titles([*PAPERS.values(), *load_user_papers(work.names)])
    work.write(content, lambda command: verdict_table(done, findings, titles, command))
    work.print(
        _render_verdicts(done),
        *(instance.format() for instance in instances),
        section_with_title("findings", _render_findings(findings)) if findings else None,
        format_summary(done.summary),
    )
    for text in sentences_on_unreproduced_errata(findings):
        terminal.print_error(text)
    tests = done.tests + sum(instance.tests for instance in instances)
    if tests > MOST_TESTS:
        terminal.print_error(f"{tests} tests exceed the {MOST_TESTS} allowed: verify fewer claims.")
    terminal.exit_if(not (done.is_clean and all(finding.is_shown for finding in findings)))


def sentences_on_unreproduced_errata(findings: "Sequence[ErratumFinding]") -> Iterator[str]:
    """Yield a sentence for each erratum that the evidence does not reproduce."""
    for finding in findings:
        if finding.failure_reason:
            reason = end_sentence(finding.failure_reason)
            yield f"erratum {finding.erratum.name} could not be examined: {reason}"
        elif not finding.is_shown:
            yield f"erratum {finding.erratum.name} is not reproduced by its evidence."


# --- tables ---------------------------------------------------------------------------------------


def _render_verdicts(done: "Verification") -> RenderableType:
    from pfbench.verification.replay.replay_checks import NOT_COMPARED
    from pfbench.verification.reproducibility import WORDS
    from pfbench.verification.statements.horizons import LEFT_OUT
    from pfbench.verification.statements.rate import NO_EVIDENCE
    from pfbench.verification.step_record import sizes_in_words
    from pfbench.verification.summaries import describe_worst_ratio, summarise_main_numbers

    rows: list[tuple[str | Text, ...]] = []
    reasons, searched = list[str](), list[str]()
    for row in done.rows:
        verdict = Text(row.verdict, row.verdict.terminal_style)
        numbers = summarise_main_numbers(row.measured) or format_plural(row.repetitions, "run")
        sizes, time = sizes_in_words(row.measured), format_duration(row.seconds)
        name = row.claim.name.partition("[")[0]  # without the case, which the reason names
        rows.append((name, verdict, numbers, sizes, time))
        phrases = WORDS, NO_EVIDENCE, LEFT_OUT, NOT_COMPARED
        is_telling = any(words in row.reason for words in phrases)
        if is_telling or not row.verdict.keeps_bound:
            needed = _describe_evidence_needed_to_decide(row)
            reasons.append(f"{name}: {row.reason}{needed}")
        if text := describe_worst_ratio(row.measured):
            searched.append(f"{row.claim.name}: worst ratio found {text}; not a proof.")
    table = make_table(("claim", "verdict", "measured", "tested on", "time"), rows)
    sentences = [*reasons, *searched]
    return Group(table, *([terminal.multiline_cell(*sentences)] if sentences else []))


def _describe_evidence_needed_to_decide(row: "Verdict") -> str:
    """Describe the evidence that would decide an inconclusive user-defined bound.

    The text is empty for every other verdict.
    """
    is_undecided = row.verdict == VerdictName.INCONCLUSIVE and not row.lost
    if not is_undecided or row.claim.kind != "bound" or row.claim.user_source is None:
        return ""
    return " (More runs (--full), or instances on which the bound is tighter, may decide it.)"


def _render_findings(findings: "Sequence[ErratumFinding]") -> RenderableType:
    rows = []
    for finding in findings:
        error, evidence = finding.erratum, "shown" if finding.is_shown else "NOT SHOWN"
        if finding.failure_reason:
            evidence = "NOT EXAMINED"
        rows.append((error.name, error.ruling, error.as_printed, error.corrected, evidence))
    names = "erratum", "conclusion", "as printed or read", "corrected", "evidence"
    return make_table(names, rows)


def show_claims(
    claims: "Sequence[Claim]", effort: str, errata: Sized = (), *, as_json: bool
) -> None:
    """Print claims with their expected times, and the number of errata; or print JSON."""
    if as_json:
        items = (CatalogueItem(c.name, "claim", c.source, c.statement).as_json() for c in claims)
        times = ({"seconds": c.seconds(effort)} for c in claims)
        terminal.print_json([item | time for item, time in zip(items, times, strict=True)])
        return
    rows = [(c.name, c.kind, c.source, format_duration(c.seconds(effort))) for c in claims]
    minutes = sum(claim.seconds(effort) for claim in claims) / 60
    end = f"{format_plural(len(claims), 'claim')}, about {minutes:.1f} min on one core ({effort})"
    if errata:
        end += f"; {len(errata)} errata are examined, too: {len(claims) + len(errata)} checks"
    terminal.print_parts(make_table(("claim", "kind", "source", "time"), rows), end)


# --- units ----------------------------------------------------------------------------------------


def report_unit_consistency(claims: "Sequence[Claim]", work: VerificationJob) -> None:
    """Print whether the bounds and schedules of user-defined theorems have consistent units."""
    if user_defined := [claim for claim in claims if claim.user_source]:
        checked = check_all_homogeneity(user_defined)
        work.print(terminal.multiline_cell(*(f"units of {c.name}: {c.sentence}" for c in checked)))


def check_all_homogeneity(
    claims: "Iterable[Claim]", errata: "Iterable[Erratum]" = ()
) -> "list[Homogeneity]":
    """Return the unit checks of claims, of their user-defined schedules, and of errata."""
    from pfbench.verification.homogeneity import (
        check_claim_units,
        check_erratum_units,
        check_schedule,
    )

    methods = [claim.algorithm for claim in claims if not isinstance(claim.algorithm, str)]
    schedules = map(check_schedule, {id(method): method for method in methods}.values())
    return [
        *map(check_claim_units, claims),
        *filter(None, schedules),
        *(homogeneity for erratum in errata for homogeneity in check_erratum_units(erratum)),
    ]


# --- harder instances -----------------------------------------------------------------------------


def _search_harder_instances(
    work: VerificationJob, rows: "Sequence[Verdict]", include_held_bounds: bool
) -> "list[HardestInstance]":
    """Search for harder instances, on which user-defined bounds or rates may fail."""
    from pfbench.claims.harder_instances import (
        SECONDS,
        bounds_quantity_other_than_calls,
        find_hardest_instance,
        is_refutable_rate,
    )
    from pfbench.runs.engines.workers import Task

    undecided = [VerdictName.INCONCLUSIVE, *([VerdictName.HOLDS] if include_held_bounds else [])]
    claims = [
        row.claim
        for row in rows
        if row.claim.user_source and not row.lost
        if (row.verdict in undecided and bounds_quantity_other_than_calls(row.claim))
        or (row.verdict is VerdictName.HOLDS and is_refutable_rate(row.claim))
    ]
    if not claims:
        return []
    seconds = SECONDS[work.effort] / len(claims)
    if not work.is_quiet:
        names = ", ".join(claim.name for claim in claims)
        limit = f"at most {seconds:.3g} s of processor time each"
        terminal.print_note(f"searching harder instances for {limit}: {names}")
    fixed = work.effort, work.seeds[0], seconds
    # A step may hang, and a busy machine is slow.
    tasks = [Task(find_hardest_instance, (claim, *fixed), 3.0 * seconds) for claim in claims]
    instances: dict[int, HardestInstance] = {}
    for result in work.engine.do(tasks):
        if result.status == "done":
            instances[result.index] = result.value
        else:
            name, reason = claims[result.index].name, end_sentence(result.reason)
            terminal.print_error(f"{name}: no harder instance: {result.status}: {reason}")
    return [instances[index] for index in sorted(instances)]
