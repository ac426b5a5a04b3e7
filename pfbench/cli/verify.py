"""``pfbench verify``: verdicts on claims, with their evidence."""

from collections.abc import Iterator, Sequence, Sized
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
    try_harder_instances_of_user_claims,
)
from pfbench.cli.interim_report import verify_informative_first
from pfbench.cli.options import argument, flag, option
from pfbench.cli.report_command import current_command_line
from pfbench.cli.terminal_tables import READABLE, make_table, print_parts, section_with_title
from pfbench.cli.units_command import check_homogeneity, report_unit_dependence
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
    algorithm: str | None = option("FILE.py:NAME", "Check the claims on your own algorithm."),
    harder_instances: bool = flag(
        "Also test user-defined bounds on the catalogue's harder instances.", "--harder-instances"
    ),
    receipt: Path | None = option("OUT.zip", "Now `pfbench archive make`.", hidden=True),
    listing: bool = flag("List the claims and the expected time.", "--list"),
    seed: int = option("N", "Seed of every random stream.", default=0),
    case_seed: int | None = option(
        "N", "Seed for test sizes and start points (default: 0; random with --algorithm)."
    ),
    store: Path = options.STORE,
    jobs: int | None = options.JOBS,
    scheduler: str | None = options.SCHEDULER,
    repeat: int = option("K", "Verify K times, with seeds N, N+1, ...", default=1),
    table: Path | None = option("FILE.md", "Write the verdicts as Markdown."),
    as_json: Path | None = option("FILE", "Write all as JSON; - to print.", "--json"),
) -> None:
    """Verify claims: verdicts with their evidence.

    Verdicts: holds; within-10 (holds, and at least a tenth of the bound was measured); attained (at
    least 0.99 of it); violated; failed (the method raised, hung, or lacks what is needed: nothing
    was measured); disputed (its proof is known to be broken); inconclusive. Results in the store
    are reused, and after an interruption the same command continues. Exit status 1 if a claim is
    violated or failed, or a check was lost.
    """
    from pfbench.base.checks import check_integer
    from pfbench.claims.catalogue import ERRATA, select_claims
    from pfbench.runs.planning.plugin_names import expand_plugin_name

    if quick and full:
        raise InputError("--quick and --full are mutually exclusive: give one.")
    if receipt is not None:
        raise InputError(f"--receipt is now `pfbench archive make FILE.py -o {receipt}`.")
    if harder_instances and (algorithm or repeat > 1):
        raise InputError(
            "--harder-instances cannot be combined with --algorithm or --repeat: "
            "remove one of them."
        )
    options.check_engine_options(jobs, scheduler)
    algorithm = algorithm and expand_plugin_name("algorithm", algorithm)
    check_integer("--repeat", repeat, minimum=1)
    if case_seed is not None:
        check_integer("--case-seed", case_seed, minimum=0)
    names = expand_claim_names_and_announce(claims, as_json)
    if listing:
        effort = "full" if full else "quick"
        print_parts(_render_list(select_claims(names, effort), effort, () if names else ERRATA))
        return
    seeds = range(seed, seed + repeat)
    with open_job(names, full, seeds, store, jobs, scheduler, table, as_json) as work:
        if repeat > 1:
            work.case_seed = case_seed or 0
            _verify_repeatedly(work)
        else:
            _verify_claims(work, algorithm, case_seed, harder_instances)


def expand_claim_names_and_announce(
    claims: Sequence[str] | None, json_path: Path | None
) -> list[str]:
    """Return names of claims, with MODULE:NAME for plug-ins; print what is imported.

    Nothing is printed if JSON goes to the standard output.
    """
    names = [_expand_name(name) for name in claims or ()]
    for name in dict.fromkeys(filter(is_user_defined, names)):
        if json_path != terminal.STANDARD_OUTPUT:
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
    """Show a claim or an erratum in full."""
    from pfbench.claims.catalogue import ERRATA, claim

    (name,) = expand_claim_names_and_announce([name], None)
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
            f"full-size runs have sizes and start points by --case-seed {work.case_seed}"
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
    tried = [] if algorithm else try_harder_instances_of_user_claims(work, done.rows, harder)
    _report_results_and_exit_if_unexpected(done, findings, work, tried)


def list_worst_cases(names: Sequence[str], effort: str) -> None:
    """Print the cases with these names, and their expected times."""
    from pfbench.verification.worst_case import select_cases

    print_parts(_render_list(select_cases(names), effort))


def verify_worst_cases(work: VerificationJob, function_class: str) -> None:
    """Compute the named worst cases, or those of a user-defined method or claim."""
    from pfbench.verification import worst_case

    own = [name for name in work.names if is_user_defined(name)]
    if own or function_class:
        if len(work.names) != 1 or not own:
            raise InputError("worst-case needs a single FILE.py:NAME, or names of cases.")
        worst_case.check_installed()
        show_worst_cases(work, own[0], function_class)
        return
    cases = worst_case.select_cases(work.names)
    worst_case.check_installed()
    with work.step_progress("worst cases", len(cases)) as steps:
        done = work.make_session(steps).verify(cases)
    _report_results_and_exit_if_unexpected(done, [], work)


def _report_results_and_exit_if_unexpected(
    done: "Verification",
    results: "Sequence[ErratumFinding]",
    work: VerificationJob,
    tried: "Sequence[HardestInstance]" = (),
) -> None:
    """Write and show verdicts and findings; exit with status 1 if one is unexpected."""
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
            max_width=READABLE,
        )
    for text in sentences_on_unreproduced_errata(results):
        terminal.print_error(text)
    tests = done.tests + sum(instance.tests for instance in tried)
    if tests > MOST_TESTS:
        terminal.print_error(f"{tests} tests exceed the {MOST_TESTS} allowed: verify fewer claims.")
    terminal.exit_if(not (done.is_clean and all(finding.is_shown for finding in results)))


def sentences_on_unreproduced_errata(examined: "Sequence[ErratumFinding]") -> Iterator[str]:
    """Yield a sentence for each erratum that is not reproduced."""
    for finding in examined:
        if finding.failure_reason:
            yield f"erratum {finding.erratum.name} could not be examined: {finding.failure_reason}."
        elif not finding.is_shown:
            yield f"erratum {finding.erratum.name} is not reproduced by its evidence."


def _verify_repeatedly(work: VerificationJob) -> None:
    """Verify once for each seed; report how often each claim had each verdict."""
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
    """Report that no claim is named, and check the algorithm as `pfbench check` does."""
    from pfbench.checking import check
    from pfbench.cli.check import render_report

    report = check(algorithm, kind="algorithm")
    work.write_json(report.as_json())
    if not work.is_quiet:
        print_parts(Text("no claim is named: checked as by `pfbench check`"), render_report(report))
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
        Text(
            escape_text(f"{row.claim.name}: {row.reason}{_describe_evidence_needed_to_decide(row)}")
        )
        for row in done.rows
        if not row.verdict.keeps_bound or any(words in row.reason for words in telling)
    ]
    searched = [
        Text(escape_text(f"{row.claim.name}: worst ratio found {text}; not a proof."))
        for row in done.rows
        if (text := describe_worst_ratio(row.measured))
    ]
    return Group(table, *reasons, *searched)


def _describe_evidence_needed_to_decide(row: "Verdict") -> str:
    """Return the evidence that would decide an inconclusive user-defined bound; else ""."""
    from pfbench.verification.summaries import describe_deciding_evidence

    if row.verdict != VerdictName.INCONCLUSIVE or row.lost or row.claim.kind != "bound":
        return ""
    if row.claim.user_source is None:
        return ""
    statistic = getattr(row.claim.check, "statistic", "")
    return f" ({describe_deciding_evidence(row.measured, statistic)}.)"


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
    return make_table(
        ("erratum", "conclusion", "as printed or read", "corrected", "evidence"), rows
    )


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
