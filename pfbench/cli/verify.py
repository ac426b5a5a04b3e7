"""``pfbench verify``: verdicts on claims, with their evidence."""

from collections.abc import Sequence, Sized
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.text import Text

from pfbench.base.errors import InputError
from pfbench.base.escaping import escape_text
from pfbench.base.selectors import is_user_defined
from pfbench.base.verdicts import Verdict as VerdictName
from pfbench.cli import options, terminal
from pfbench.cli.claims_command import explain as explain_one
from pfbench.cli.formatting import format_duration, format_plural
from pfbench.cli.harder_report import (
    harder_results_as_json,
    render_harder_results,
    try_harder_instances,
)
from pfbench.cli.interim_report import verify_informative_first
from pfbench.cli.mutants import show_fault_detection
from pfbench.cli.options import argument, flag, option
from pfbench.cli.power_command import measure_power
from pfbench.cli.receipt import (
    check_receipt_request,
    make_receipt,
    sentences_on_unreproduced_errata,
)
from pfbench.cli.report_command import current_command_line
from pfbench.cli.terminal_tables import READABLE, make_table, print_parts, section_with_title
from pfbench.cli.units_command import check_homogeneity, report_unit_dependence, show_units
from pfbench.cli.verification_job import VerificationJob, open_job
from pfbench.cli.worst_case_report import show_worst_cases

if TYPE_CHECKING:
    from pfbench.claims.harder_instances import HardestInstance
    from pfbench.verification.claim import Claim
    from pfbench.verification.outcomes import ErratumFinding, Verification
    from pfbench.verification.verdict import Verdict


def verify(
    claims: list[str] | None = argument("CLAIM"),
    quick: bool = flag("Claims that take seconds each (default).", "--quick"),
    full: bool = flag("All claims, with full effort.", "--full"),
    algorithm: str | None = option("FILE.py:NAME", "Hold your own algorithm to the claims."),
    mutants: bool = flag("The verb `faults`: which claim catches which fault.", "--mutants"),
    planted_only: bool = flag("Of --mutants: the planted faults alone.", "--planted-only"),
    faults: int | None = option("N", "Generated faults of each method at most (12; --full: all)."),
    late_faults: int | None = option(
        "N", "Of --mutants: late generated faults of each method, too."
    ),
    worst_case: bool = flag(
        "The verb `worst-case`: worst cases of a few steps; of your own method or claim, too.",
        "--worst-case",
    ),
    function_class: str | None = option(
        "TEXT", "Of --worst-case FILE.py:NAME: other functions, as in n=4,L=2,delta=1,convex=true."
    ),
    power: bool = flag("The verb `power`: the smallest error that each check finds.", "--power"),
    units: bool = flag(
        "Say which bounds and schedules keep the units of f and x, without any run.", "--units"
    ),
    harder_instances: bool = flag(
        "Of FILE.py: try the instances of the catalogue on bounds that hold, too.",
        "--harder-instances",
    ),
    max_check_seconds: float | None = option(
        "SECONDS", "Of --power, --receipt: no power of checks that take longer."
    ),
    receipt: Path | None = option(
        "OUT.zip", "Of FILE.py: put it to every test, and write all into one archive."
    ),
    listing: bool = flag("List the claims and the time.", "--list"),
    explain: str | None = option("NAME", "The verb `explain`: all of a claim or an erratum."),
    seed: int = option("N", "Seed of every random stream.", default=0),
    case_seed: int | None = option(
        "N", "Draws sizes and start of runs at size (0: as stated; of --algorithm: a fresh one)."
    ),
    store: Path = options.STORE,
    jobs: int | None = options.JOBS,
    scheduler: str | None = options.SCHEDULER,
    repeat: int = option("K", "Verify K times, with seeds N, N+1, ...", default=1),
    table: Path | None = option("FILE.md", "Write the verdicts as Markdown."),
    as_json: Path | None = option("FILE", "Write all as JSON; - to print.", "--json"),
) -> None:
    """Put claims to the test: verdicts with their evidence.

    Verdicts: holds; within-10 (holds, and at least a tenth of the bound was measured); attained (at
    least 0.99 of it); violated; failed (the method raised, hung, or lacks what is needed: nothing
    was measured); disputed (its proof is known to be broken); inconclusive. What the store has is
    not made again, and after an interruption the same command goes on. Exit status 1 if a claim is
    violated or failed, or a check was lost.
    """
    from pfbench.base.checks import check_integer, check_real
    from pfbench.claims.catalogue import ERRATA, select_claims
    from pfbench.runs.planning.plugin_names import expand_plugin_name

    if quick and full:
        raise InputError("--quick and --full exclude each other: give one.")
    if mutants + worst_case + power + units > 1:
        raise InputError("--mutants, --worst-case, --power and --units exclude each other.")
    if algorithm is not None and (worst_case or power or units):
        raise InputError("--algorithm goes with claims alone: leave the other option out.")
    if function_class is not None and not worst_case:
        raise InputError("--function-class goes with --worst-case FILE.py:NAME: give both.")
    if max_check_seconds is not None and not (power or receipt):
        raise InputError("--max-check-seconds goes with --power or --receipt: give both.")
    if late_faults is not None and (not mutants or planted_only):
        raise InputError("--late-faults goes with --mutants, without --planted-only.")
    if planted_only and (not mutants or faults is not None or algorithm is not None):
        raise InputError("--planted-only goes with --mutants, without --faults and --algorithm.")
    if faults is not None and not (mutants or receipt):
        raise InputError("--faults goes with --mutants: give both.")
    if receipt is not None and (algorithm or mutants or worst_case or power or units or repeat > 1):
        raise InputError("--receipt makes every test: leave the other option out.")
    if case_seed is not None and (mutants or worst_case or power or units or receipt):
        raise InputError("--case-seed goes with claims alone: leave the other option out.")
    if harder_instances and (
        algorithm or mutants or worst_case or power or units or receipt or repeat > 1
    ):
        raise InputError("--harder-instances goes with claims alone: leave the other option out.")
    options.check_engine_options(jobs, scheduler)
    algorithm = algorithm and expand_plugin_name("algorithm", algorithm)
    check_integer("--repeat", repeat, minimum=1)
    if case_seed is not None:
        check_integer("--case-seed", case_seed, minimum=0)
    if faults is not None:
        check_integer("--faults", faults, minimum=0 if receipt else 1)
    if late_faults is not None:
        check_integer("--late-faults", late_faults, minimum=0)
    if max_check_seconds is not None:
        check_real("--max-check-seconds", max_check_seconds, above=0)
    names = resolve_claim_names(claims, as_json)
    if explain is not None:
        explain_named(explain)
        return
    if listing:
        effort = "full" if full else "quick"
        if worst_case:
            list_worst_cases(names, effort)
        else:
            print_parts(_render_list(select_claims(names, effort), effort, () if names else ERRATA))
        return
    if receipt is not None:
        check_receipt_request(names, receipt)
    seeds = range(seed, seed + repeat)
    with open_job(names, full, seeds, store, jobs, scheduler, table, as_json) as work:
        if receipt is not None:
            make_receipt(work, receipt, faults, max_check_seconds)
        elif mutants:
            show_fault_detection(work, algorithm, 0 if planted_only else faults, late_faults or 0)
        elif worst_case:
            verify_worst_cases(work, function_class or "")
        elif power:
            measure_power(work, max_check_seconds)
        elif units:
            show_units(work)
        elif repeat > 1:
            work.case_seed = case_seed or 0
            _verify_repeatedly(work)
        else:
            _verify_claims(work, algorithm, case_seed, harder_instances)


def resolve_claim_names(claims: Sequence[str] | None, target: Path | None) -> list[str]:
    """Return names of claims, a plug-in's as MODULE:NAME; print whose files are imported.

    Unless JSON alone is printed.
    """
    names = [_expand_name(name) for name in claims or ()]
    for name in dict.fromkeys(filter(is_user_defined, names)):
        if target != terminal.STANDARD_OUTPUT:
            terminal.print_note(f"importing {name}")
    return names


def _expand_name(name: str) -> str:
    from pfbench.base.plugins import find_plugin
    from pfbench.claims.catalogue import CLAIMS, claims_about

    result = (
        None
        if is_user_defined(name) or name in CLAIMS or claims_about(name)
        else find_plugin("claim", name)
    )
    return name if result is None else result.target


def explain_named(name: str) -> None:
    """Say all of a claim or an erratum."""
    from pfbench.claims.catalogue import ERRATA, claim

    (name,) = resolve_claim_names([name], None)
    explain_one(ERRATA[name] if name in ERRATA else claim(name))


def _verify_claims(
    work: VerificationJob, algorithm: str | None, case_seed: int | None = None, harder: bool = False
) -> None:
    from pfbench.claims.catalogue import (
        ERRATA,
        algorithm_and_claims,
        load_user_papers,
        select_claims,
    )
    from pfbench.verification.session import choose_case_seed, search_counterexamples
    from pfbench.verification.subject import Subject

    tested, claims = None, select_claims(work.names, work.effort)
    computed = [] if work.names else list(ERRATA.values())
    errata = computed + [
        erratum for paper in load_user_papers(work.names) for erratum in paper.errata
    ]
    if algorithm is not None:
        if not work.is_quiet:
            terminal.announce_imports([algorithm])
        tested, claims = algorithm_and_claims(algorithm, work.names)
        if not claims:
            _check_algorithm_without_claim(algorithm, work)
            return
    subject = Subject(algorithm=tested)
    subject.check_importable()
    work.case_seed = choose_case_seed(case_seed, claims, algorithm)
    if work.case_seed and not work.is_quiet:
        terminal.print_note(
            f"sizes and start of runs at size are those of --case-seed {work.case_seed}"
        )
    errata = [] if algorithm else errata
    report_unit_dependence(claims, work)
    errors = "erratum" if len(errata) == 1 else "errata"
    both = f" of {format_plural(len(claims), 'claim')} and {len(errata)} {errors}" if errata else ""
    with work.step_progress(f"verification{both}", len(claims) + len(errata)) as steps:
        session = work.make_session(steps)
        if algorithm is None:
            done = session.verify(claims, subject)
            includes_catalogue = work.table is not None
            done = search_counterexamples(session, done, includes_catalogue=includes_catalogue)
        else:
            done = verify_informative_first(session, claims, subject, steps)
        findings = session.examine(errata)
    tried = [] if algorithm else try_harder_instances(work, done.rows, harder)
    _report_results(done, findings, work, tried)


def list_worst_cases(names: Sequence[str], effort: str) -> None:
    """List the cases of these names, and the time."""
    from pfbench.verification.worst_case import select_cases

    print_parts(_render_list(select_cases(names), effort))


def verify_worst_cases(work: VerificationJob, function_class: str) -> None:
    """Compute the worst cases that are named, or those of somebody's own method or claim."""
    from pfbench.verification import worst_case

    own = [name for name in work.names if is_user_defined(name)]
    if own or function_class:
        if len(work.names) != 1 or not own:
            raise InputError("--worst-case takes one FILE.py:NAME at a time, or names of cases.")
        worst_case.check_installed()
        show_worst_cases(work, own[0], function_class)
        return
    cases = worst_case.select_cases(work.names)
    worst_case.check_installed()
    with work.step_progress("worst cases", len(cases)) as steps:
        done = work.make_session(steps).verify(cases)
    _report_results(done, [], work)


def _report_results(
    done: "Verification",
    results: "Sequence[ErratumFinding]",
    work: VerificationJob,
    tried: "Sequence[HardestInstance]" = (),
) -> None:
    """Write and show verdicts and findings; exit if one is not as it should be."""
    from pfbench.claims.catalogue import PAPERS, load_user_papers, paper_titles
    from pfbench.verification.statistics import MOST_TESTS
    from pfbench.verification.summaries import format_summary
    from pfbench.verification.verdict_tables import verdict_table

    units = check_homogeneity(
        [row.claim for row in done.rows], [finding.erratum for finding in results]
    )
    work.write_json(
        done.as_json()
        | {
            "findings": [
                terminal.rename_keys(finding.as_json(), ruling="conclusion") for finding in results
            ],
            "units": [homogeneity.as_json() for homogeneity in units],
        }
        | harder_results_as_json(tried)
    )
    if work.table is not None:
        titles = paper_titles([*PAPERS.values(), *load_user_papers(work.names)])
        terminal.write_text(
            verdict_table(done, results, titles, current_command_line()), work.table
        )
    if not work.is_quiet:
        rates = any(row.claim.complexity for row in done.rows)
        title = "comparisons whose winner depends on the criterion"
        print_parts(
            _render_verdicts(done),
            render_harder_results(tried, done.rows),
            section_with_title("findings", _render_findings(results)) if results else None,
            section_with_title(title, _render_decisions_by_criterion()) if rates else None,
            Text(format_summary(done.summary)),
            limit=READABLE,
        )
    for text in sentences_on_unreproduced_errata(results):
        terminal.print_error(text)
    tests = done.tests + sum(instance.tests for instance in tried)
    if tests > MOST_TESTS:
        terminal.print_error(f"{tests} tests share a level that is split over {MOST_TESTS}.")
    terminal.exit_if(not (done.is_clean and all(finding.is_shown for finding in results)))


def _verify_repeatedly(work: VerificationJob) -> None:
    """Verify once for each seed; tell how often each claim had each verdict."""
    from pfbench.claims.catalogue import select_claims
    from pfbench.verification.verdict_tables import repetition_table

    claims = select_claims(work.names, work.effort)
    verifications: list[Verification] = []
    try:
        with work.step_progress("verification", len(work.seeds) * len(claims)) as steps:
            for seed in work.seeds:
                verifications.append(work.make_session(steps, seed).verify(claims))
    finally:
        if verifications:
            text = repetition_table(
                work.seeds[: len(verifications)], verifications, current_command_line()
            )
            print_parts(Text(text)) if work.table is None else terminal.write_text(text, work.table)
    for row in (row for done in verifications for row in done.rows):
        if row.is_wrong:
            terminal.print_error(f"{row.claim.name} is {row.verdict}: {row.reason}")
    terminal.exit_if(not all(done.is_clean for done in verifications))


def _check_algorithm_without_claim(algorithm: str, work: VerificationJob) -> None:
    """Say that no claim was named, and hold the algorithm to what every algorithm keeps."""
    from pfbench.checking import check
    from pfbench.cli.check import render_report

    report = check(algorithm, kind="algorithm")
    work.write_json(report.as_json())
    if not work.is_quiet:
        print_parts(
            Text("no claim is named: it is checked, as `pfbench check` does"), render_report(report)
        )
    terminal.exit_if(not report.is_passed)


def _render_verdicts(done: "Verification") -> RenderableType:
    from pfbench.verification.coverage import sizes_in_words
    from pfbench.verification.reproducibility import WORDS
    from pfbench.verification.statements.horizons import LEFT_OUT
    from pfbench.verification.statements.rate import NO_EVIDENCE
    from pfbench.verification.summaries import describe_worst_ratio, summarise_main_numbers

    telling, rows = (WORDS, NO_EVIDENCE, LEFT_OUT), []
    for row in done.rows:
        verdict = Text(row.verdict, row.verdict.terminal_style)
        numbers = summarise_main_numbers(row.measured) or format_plural(row.repetitions, "run")
        tested = sizes_in_words(row.measured)
        rows.append((row.claim.name, verdict, numbers, tested, format_duration(row.seconds)))
    table = make_table(("claim", "verdict", "measured", "tested on", "time"), rows)
    reasons = [
        Text(escape_text(f"{row.claim.name}: {row.reason}{_describe_deciding_evidence(row)}"))
        for row in done.rows
        if not row.verdict.keeps_bound or any(words in row.reason for words in telling)
    ]
    searched = [
        Text(escape_text(f"{row.claim.name}: worst ratio found {text}; not a proof."))
        for row in done.rows
        if (text := describe_worst_ratio(row.measured))
    ]
    return Group(table, *reasons, *searched)


def _describe_deciding_evidence(row: "Verdict") -> str:
    """Return what would decide a bound of somebody's own that is inconclusive; else nothing."""
    from pfbench.verification.summaries import describe_deciding_evidence

    if row.verdict != VerdictName.INCONCLUSIVE or row.lost or row.claim.kind != "bound":
        return ""
    if row.claim.user_source is None:
        return ""
    return f" ({describe_deciding_evidence(row.measured, getattr(row.claim.check, 'over', ''))}.)"


def _render_findings(results: "Sequence[ErratumFinding]") -> RenderableType:
    rows = []
    for finding in results:
        text = (
            "NOT EXAMINED"
            if finding.failure_reason
            else "shown"
            if finding.is_shown
            else "NOT SHOWN"
        )
        reported = (
            finding.erratum.name,
            finding.erratum.ruling,
            finding.erratum.as_printed,
            finding.erratum.corrected,
        )
        rows.append((*reported, text))
    return make_table(("erratum", "ruling", "as printed or read", "corrected", "evidence"), rows)


def _render_decisions_by_criterion() -> RenderableType:
    from pfbench.claims.catalogue import comparisons_decided_by_criterion
    from pfbench.verification.criteria import CRITERIA

    rows = [
        (
            c.comparison,
            c.count,
            c.as_published,
            *(c.order_by_criterion[name] for name in CRITERIA[:2]),
        )
        for c in comparisons_decided_by_criterion()
    ]
    return make_table(("comparison", "count", "as published", *CRITERIA[:2]), rows)


def _render_list(claims: "Sequence[Claim]", effort: str, errata: Sized = ()) -> RenderableType:
    rows = [
        (claim.name, claim.kind, claim.source, format_duration(claim.seconds(effort)))
        for claim in claims
    ]
    total = sum(claim.seconds(effort) for claim in claims)
    end = (
        f"{format_plural(len(claims), 'claim')}, about {total / 60:.1f} min on one core ({effort})"
    )
    if errata:
        end += f"; {len(errata)} errata are examined, too: {len(claims) + len(errata)} checks"
    return Group(make_table(("claim", "kind", "source", "time"), rows), Text(end))
