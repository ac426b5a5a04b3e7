"""``pfbench verify``: verdicts on claims, with their evidence."""

from collections.abc import Sequence, Sized
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.text import Text

from pfbench.base.errors import InputError
from pfbench.base.selectors import is_own
from pfbench.base.visible import visible
from pfbench.cli import options, printing
from pfbench.cli.claims import explain as explain_one
from pfbench.cli.harder import harder_as_json, harder_in_words, tried_on_harder
from pfbench.cli.known import soon_verified
from pfbench.cli.mutants import find_faults
from pfbench.cli.options import argument, flag, option
from pfbench.cli.power import measure_power
from pfbench.cli.receipt import check_receipt, make_receipt, unseen
from pfbench.cli.report import command_line
from pfbench.cli.tables import READABLE, columns, heading, show
from pfbench.cli.units import of_claims, say_first, show_units
from pfbench.cli.words import duration, plural
from pfbench.cli.work import Work, begun
from pfbench.cli.worst import show_worst_cases

if TYPE_CHECKING:
    from pfbench.claims.harder import Hardest
    from pfbench.verification.claim import Claim
    from pfbench.verification.outcomes import Finding, Verification
    from pfbench.verification.verdict import Verdict


def verify(
    claims: list[str] | None = argument("CLAIM"),
    quick: bool = flag("Claims that take seconds each (default).", "--quick"),
    full: bool = flag("All claims, with full effort.", "--full"),
    algorithm: str | None = option("FILE.py:NAME", "Hold your own algorithm to the claims."),
    mutants: bool = flag("The verb `faults`: which claim catches which fault.", "--mutants"),
    planted: bool = flag("Of --mutants: the planted faults alone.", "--planted"),
    faults: int | None = option("N", "Generated faults of each method at most (12; --full: all)."),
    late: int | None = option("N", "Of --mutants: late generated faults of each method, too."),
    worst_case: bool = flag(
        "The verb `worst-case`: worst cases of a few steps; of your own method or claim, too.",
        "--worst-case",
    ),
    within: str | None = option(
        "TEXT", "Of --worst-case FILE.py:NAME: other functions, as in n=4,L=2,delta=1,convex=true."
    ),
    power: bool = flag("The verb `power`: the smallest error that each check finds.", "--power"),
    units: bool = flag(
        "Say which bounds and schedules keep the units of f and x, without any run.", "--units"
    ),
    harder: bool = flag(
        "Of FILE.py: try the instances of the catalogue on bounds that hold, too.", "--harder"
    ),
    longest: float | None = option(
        "SECONDS", "Of --power, --receipt: no power of checks that take longer."
    ),
    receipt: Path | None = option(
        "OUT.zip", "Of FILE.py: put it to every test, and write all into one archive."
    ),
    listing: bool = flag("List the claims and the time.", "--list"),
    explain: str | None = option("NAME", "The verb `explain`: all of a claim or an erratum."),
    seed: int = option("N", "Seed of every random stream.", default=0),
    at_seed: int | None = option(
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
    from pfbench.base.checks import integer, real
    from pfbench.claims.catalogue import ERRATA, selected
    from pfbench.runs.planning.plugged import spelled_out

    if quick and full:
        raise InputError("--quick and --full exclude each other: give one.")
    if mutants + worst_case + power + units > 1:
        raise InputError("--mutants, --worst-case, --power and --units exclude each other.")
    if algorithm is not None and (worst_case or power or units):
        raise InputError("--algorithm goes with claims alone: leave the other option out.")
    if within is not None and not worst_case:
        raise InputError("--within goes with --worst-case FILE.py:NAME: give both.")
    if longest is not None and not (power or receipt):
        raise InputError("--longest goes with --power or --receipt: give both.")
    if late is not None and (not mutants or planted):
        raise InputError("--late goes with --mutants, without --planted.")
    if planted and (not mutants or faults is not None or algorithm is not None):
        raise InputError("--planted goes with --mutants, without --faults and --algorithm.")
    if faults is not None and not (mutants or receipt):
        raise InputError("--faults goes with --mutants: give both.")
    if receipt is not None and (algorithm or mutants or worst_case or power or units or repeat > 1):
        raise InputError("--receipt makes every test: leave the other option out.")
    if at_seed is not None and (mutants or worst_case or power or units or receipt):
        raise InputError("--at-seed goes with claims alone: leave the other option out.")
    if harder and (algorithm or mutants or worst_case or power or units or receipt or repeat > 1):
        raise InputError("--harder goes with claims alone: leave the other option out.")
    options.check_place(jobs, scheduler)
    algorithm = algorithm and spelled_out("algorithm", algorithm)
    integer("--repeat", repeat, least=1)
    if at_seed is not None:
        integer("--at-seed", at_seed, least=0)
    if faults is not None:
        integer("--faults", faults, least=0 if receipt else 1)
    if late is not None:
        integer("--late", late, least=0)
    if longest is not None:
        real("--longest", longest, above=0)
    names = named(claims, as_json)
    if explain is not None:
        explain_named(explain)
        return
    if listing:
        effort = "full" if full else "quick"
        if worst_case:
            list_worst_cases(names, effort)
        else:
            show(_listed(selected(names, effort), effort, () if names else ERRATA))
        return
    if receipt is not None:
        check_receipt(names, receipt)
    seeds = range(seed, seed + repeat)
    with begun(names, full, seeds, store, jobs, scheduler, table, as_json) as work:
        if receipt is not None:
            make_receipt(work, receipt, faults, longest)
        elif mutants:
            find_faults(work, algorithm, 0 if planted else faults, late or 0)
        elif worst_case:
            verify_worst_cases(work, within or "")
        elif power:
            measure_power(work, longest)
        elif units:
            show_units(work)
        elif repeat > 1:
            work.at_seed = at_seed or 0
            _repeat(work)
        else:
            _verify(work, algorithm, at_seed, harder)


def named(claims: Sequence[str] | None, target: Path | None) -> list[str]:
    """Return names of claims, a plug-in's as MODULE:NAME; print whose files are imported.

    Unless JSON alone is printed.
    """
    names = [_in_full(name) for name in claims or ()]
    for name in dict.fromkeys(filter(is_own, names)):
        if target != printing.STANDARD_OUTPUT:
            printing.note(f"importing {name}")
    return names


def _in_full(name: str) -> str:
    from pfbench.base.plugins import plugin
    from pfbench.claims.catalogue import CLAIMS, claims_about

    found = None if is_own(name) or name in CLAIMS or claims_about(name) else plugin("claim", name)
    return name if found is None else found.place


def explain_named(name: str) -> None:
    """Say all of a claim or an erratum."""
    from pfbench.claims.catalogue import ERRATA, claim

    (name,) = named([name], None)
    explain_one(ERRATA[name] if name in ERRATA else claim(name))


def _verify(
    work: Work, algorithm: str | None, at_seed: int | None = None, harder: bool = False
) -> None:
    from pfbench.claims.catalogue import ERRATA, algorithm_and_claims, own_papers, selected
    from pfbench.verification.session import at_seed_of
    from pfbench.verification.subject import Subject

    tested, claims = None, selected(work.names, work.effort)
    ours = [] if work.names else list(ERRATA.values())
    errata = ours + [one for paper in own_papers(work.names) for one in paper.errata]
    if algorithm is not None:
        if not work.quiet:
            printing.announce([algorithm])
        tested, claims = algorithm_and_claims(algorithm, work.names)
        if not claims:
            _check(algorithm, work)
            return
    subject = Subject(algorithm=tested)
    subject.check_importable()
    work.at_seed = at_seed_of(at_seed, claims, algorithm)
    if work.at_seed and not work.quiet:
        printing.note(f"sizes and start of runs at size are those of --at-seed {work.at_seed}")
    errata = [] if algorithm else errata
    say_first(claims, work)
    errors = "erratum" if len(errata) == 1 else "errata"
    both = f" of {plural(len(claims), 'claim')} and {len(errata)} {errors}" if errata else ""
    with work.steps(f"verification{both}", len(claims) + len(errata)) as steps:
        session = work.session(steps)
        if algorithm is None:
            done = session.verify(claims, subject)
        else:
            done = soon_verified(session, claims, subject, steps)
        found = session.examine(errata)
    tried = [] if algorithm else tried_on_harder(work, done.rows, harder)
    _tell(done, found, work, tried)


def list_worst_cases(names: Sequence[str], effort: str) -> None:
    """List the cases of these names, and the time."""
    from pfbench.verification.worst_case import selected

    show(_listed(selected(names), effort))


def verify_worst_cases(work: Work, within: str) -> None:
    """Compute the worst cases that are named, or those of somebody's own method or claim."""
    from pfbench.verification import worst_case

    own = [name for name in work.names if is_own(name)]
    if own or within:
        if len(work.names) != 1 or not own:
            raise InputError("--worst-case takes one FILE.py:NAME at a time, or names of cases.")
        worst_case.check_installed()
        show_worst_cases(work, own[0], within)
        return
    cases = worst_case.selected(work.names)
    worst_case.check_installed()
    with work.steps("worst cases", len(cases)) as steps:
        done = work.session(steps).verify(cases)
    _tell(done, [], work)


def _tell(
    done: "Verification", found: "Sequence[Finding]", work: Work, tried: "Sequence[Hardest]" = ()
) -> None:
    """Write and show verdicts and findings; exit if one is not as it should be."""
    from pfbench.claims.catalogue import PAPERS, own_papers, titles_of
    from pfbench.verification.statistics import MOST_TESTS
    from pfbench.verification.summaries import in_words
    from pfbench.verification.tables import verdict_table

    units = of_claims([row.claim for row in done.rows], [one.erratum for one in found])
    work.write(
        done.as_json()
        | {"findings": [one.as_json() for one in found], "units": [one.as_json() for one in units]}
        | harder_as_json(tried)
    )
    if work.table is not None:
        titles = titles_of([*PAPERS.values(), *own_papers(work.names)])
        printing.write(verdict_table(done, found, titles, command_line()), work.table)
    if not work.quiet:
        rates = any(row.claim.orders for row in done.rows)
        title = "comparisons whose winner depends on the criterion"
        show(
            _verdicts(done),
            harder_in_words(tried, done.rows),
            heading("findings", _found(found)) if found else None,
            heading(title, _scales()) if rates else None,
            Text(in_words(done.summary)),
            most=READABLE,
        )
    for text in unseen(found):
        printing.complain(text)
    tests = done.tests + sum(one.tests for one in tried)
    if tests > MOST_TESTS:
        printing.complain(f"{tests} tests share a level that is split over {MOST_TESTS}.")
    printing.exit_if(not (done.clean and all(one.shown for one in found)))


def _repeat(work: Work) -> None:
    """Verify once for each seed; tell how often each claim had each verdict."""
    from pfbench.claims.catalogue import selected
    from pfbench.verification.tables import repeated_table

    claims = selected(work.names, work.effort)
    made: list[Verification] = []
    try:
        with work.steps("verification", len(work.seeds) * len(claims)) as steps:
            for seed in work.seeds:
                made.append(work.session(steps, seed).verify(claims))
    finally:
        if made:
            text = repeated_table(work.seeds[: len(made)], made, command_line())
            show(Text(text)) if work.table is None else printing.write(text, work.table)
    for row in (row for done in made for row in done.rows):
        if row.wrong:
            printing.complain(f"{row.claim.name} is {row.verdict}: {row.reason}")
    printing.exit_if(not all(done.clean for done in made))


def _check(algorithm: str, work: Work) -> None:
    """Say that no claim was named, and hold the algorithm to what every algorithm keeps."""
    from pfbench.checking import check
    from pfbench.cli.check import shown

    found = check(algorithm, kind="algorithm")
    work.write(found.as_json())
    if not work.quiet:
        show(Text("no claim is named: it is checked, as `pfbench check` does"), shown(found))
    printing.exit_if(not found.passed)


def _verdicts(done: "Verification") -> RenderableType:
    from pfbench.verification.repeats import WORDS
    from pfbench.verification.seen import sizes_in_words
    from pfbench.verification.stating.horizons import LEFT_OUT
    from pfbench.verification.stating.rate import NO_EVIDENCE
    from pfbench.verification.summaries import main_numbers

    telling, rows = (WORDS, NO_EVIDENCE, LEFT_OUT), []
    for row in done.rows:
        verdict = Text(row.verdict, row.verdict.colour)
        numbers = main_numbers(row.measured) or plural(row.repetitions, "run")
        tested = sizes_in_words(row.measured)
        rows.append((row.claim.name, verdict, numbers, tested, duration(row.seconds)))
    table = columns(("claim", "verdict", "measured", "tested on", "time"), rows)
    reasons = [
        Text(visible(f"{row.claim.name}: {row.reason}{_deciding(row)}"))
        for row in done.rows
        if not row.verdict.is_kept or any(words in row.reason for words in telling)
    ]
    return Group(table, *reasons)


def _deciding(row: "Verdict") -> str:
    """Return what would decide a bound of somebody's own that is inconclusive; else nothing."""
    from pfbench.verification.summaries import decided_by

    if row.verdict != "inconclusive" or row.lost or row.claim.kind != "bound":
        return ""
    if row.claim.home is None:
        return ""
    return f" ({decided_by(row.measured, getattr(row.claim.check, 'over', ''))}.)"


def _found(found: "Sequence[Finding]") -> RenderableType:
    rows = []
    for one in found:
        seen = "NOT EXAMINED" if one.lost else "shown" if one.shown else "NOT SHOWN"
        told = (one.erratum.name, one.erratum.ruling, one.erratum.as_printed, one.erratum.corrected)
        rows.append((*told, seen))
    return columns(("erratum", "ruling", "as printed or read", "corrected", "evidence"), rows)


def _scales() -> RenderableType:
    from pfbench.claims.catalogue import changes
    from pfbench.verification.scales import CRITERIA

    rows = [
        (c.comparison, c.count, c.as_published, *(c.under[name] for name in CRITERIA[:2]))
        for c in changes()
    ]
    return columns(("comparison", "count", "as published", *CRITERIA[:2]), rows)


def _listed(claims: "Sequence[Claim]", effort: str, errata: Sized = ()) -> RenderableType:
    rows = [(one.name, one.kind, one.source, duration(one.seconds(effort))) for one in claims]
    total = sum(one.seconds(effort) for one in claims)
    end = f"{plural(len(claims), 'claim')}, about {total / 60:.1f} min on one core ({effort})"
    if errata:
        end += f"; {len(errata)} errata are examined, too: {len(claims) + len(errata)} checks"
    return Group(columns(("claim", "kind", "source", "time"), rows), Text(end))
