"""``pfbench verify``: verdicts on claims, with their evidence."""

import json
from collections.abc import Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Group, RenderableType
from rich.text import Text

from pfbench.base.errors import InputError, StorageError
from pfbench.base.files import check_writable
from pfbench.cli.claims import explain as explain_claim
from pfbench.cli.options import STORE, Jobs, Scheduler, StoreFolder, check_place, engine_of
from pfbench.cli.printing import columns, complain, console, duration, heading, plural, show
from pfbench.cli.progress import Steps
from pfbench.cli.report import command_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pfbench.runs.engines.engine import Engine
    from pfbench.verification.claim import Claim
    from pfbench.verification.session import Caught, Finding, Session, Verification

_COLOURS = {
    "holds": "green",
    "tight": "bold green",
    "violated": "bold red",
    "disputed": "magenta",
    "inconclusive": "yellow",
}


def verify(
    claims: Annotated[list[str] | None, typer.Argument(metavar="CLAIM", hidden=True)] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Claims that take seconds each (default).")
    ] = False,
    full: Annotated[bool, typer.Option("--full", help="All claims, with full effort.")] = False,
    algorithm: Annotated[
        str | None,
        typer.Option(metavar="MODULE:NAME", help="Hold your own algorithm to the claims."),
    ] = None,
    mutants: Annotated[
        bool, typer.Option("--mutants", help="Show which claim catches which planted fault.")
    ] = False,
    worst_case: Annotated[
        bool,
        typer.Option("--worst-case", help="Compute worst cases of a few steps, and hold to them."),
    ] = False,
    listing: Annotated[bool, typer.Option("--list", help="List the claims and the time.")] = False,
    explain: Annotated[
        str | None,
        typer.Option(metavar="CLAIM", help="Say what a claim says and how it is tested."),
    ] = None,
    seed: Annotated[int, typer.Option(metavar="N", help="Seed of every random stream.")] = 0,
    store: StoreFolder = STORE,
    jobs: Jobs = None,
    scheduler: Scheduler = None,
    repeat: Annotated[
        int, typer.Option(metavar="K", help="Verify K times, with seeds N, N+1, ...")
    ] = 1,
    table: Annotated[
        Path | None, typer.Option(metavar="FILE.md", help="Write the verdicts as Markdown.")
    ] = None,
    as_json: Annotated[
        Path | None, typer.Option("--json", metavar="FILE", help="Write all as JSON; - to print.")
    ] = None,
) -> None:
    """Put claims to the test: verdicts with their evidence.

    Verdicts: holds; tight (holds, and could not be much better); violated; disputed (its proof is
    known to be broken); inconclusive. What the store has is not made again, and after an
    interruption the same command goes on. Exit status 1 if a claim is violated or a check failed.
    """
    from pfbench.base.checks import integer
    from pfbench.claims.catalogue import claim

    if quick and full:
        raise InputError("--quick and --full exclude each other: give one.")
    if mutants and worst_case:
        raise InputError("--mutants and --worst-case exclude each other: give one.")
    if algorithm is not None and (mutants or worst_case):
        raise InputError("--algorithm goes with claims alone: leave the other option out.")
    check_place(jobs, scheduler)
    integer("--repeat", repeat, least=1)
    effort = "full" if full else "quick"
    if explain is not None:
        explain_claim(claim(explain))
        return
    if listing:
        show(_listed(_chosen(claims or (), effort, worst_case=worst_case), effort))
        return
    for option, target in (("--json", as_json), ("--table", table)):
        if target is not None and target != Path("-"):
            check_writable(target, f"{option} {target}", error=StorageError)
    with closing(engine_of(jobs, scheduler)) as engine:
        work = _Work(effort, seed, engine, store, quiet=as_json == Path("-"))
        try:
            if mutants:
                _verify_mutants(claims or [], work, as_json)
            elif worst_case:
                _verify_worst_cases(claims or [], work, as_json, table)
            elif repeat > 1:
                _repeat(claims or [], work, range(seed, seed + repeat), table)
            else:
                _verify(claims or [], algorithm, work, as_json, table)
        except KeyboardInterrupt:
            complain(
                f"interrupted; every finished check is kept in {store}, and the same command goes "
                "on from there."
            )
            raise typer.Exit(1) from None
        except StorageError as error:
            if not work.made:
                raise
            complain(str(error))
            raise typer.Exit(1) from None


def _chosen(names: Sequence[str], effort: str, *, worst_case: bool = False) -> "list[Claim]":
    """Return the claims, or the worst cases, of these names; all of the effort if there is none."""
    if not worst_case:
        from pfbench.claims.catalogue import selected

        return selected(names, effort)
    from pfbench.verification import worst_case as computed

    return computed.selected(names)


class _Work:
    """How checks are made and shown: with what effort, where, and how many of them now."""

    def __init__(
        self, effort: str, seed: int, engine: "Engine", folder: Path, *, quiet: bool
    ) -> None:
        self.effort, self.seed, self.engine, self.folder = effort, seed, engine, folder
        self.quiet = quiet
        self.made = 0

    @contextmanager
    def steps(self, title: str, total: int) -> "Iterator[Callable[[Any, bool], None]]":
        """Show the progress of so many checks; give what is to be told of each."""
        self.made = 0
        with Steps(title, total, "checks", quiet=self.quiet) as steps:

            def told(_: object, made: bool) -> None:
                self.made += made
                steps.advance()

            yield told
        if not self.quiet:
            words = f"{title}: {plural(total, 'check')}, {self.made:,} of them made now"
            console(error=True).print(words)

    def session(self, told: "Callable[[Any, bool], None]", seed: int | None = None) -> "Session":
        """Return the session that tells each outcome."""
        from pfbench.runs.storage.store import Store
        from pfbench.verification.session import Session

        return Session(
            engine=self.engine,
            effort=self.effort,
            seed=self.seed if seed is None else seed,
            store=Store(self.folder),
            progress=told,
        )


def _verify(
    names: Sequence[str],
    algorithm: str | None,
    work: _Work,
    target: Path | None,
    table: Path | None,
) -> None:
    from pfbench.claims.catalogue import ERRATA, algorithm_and_claims, selected
    from pfbench.verification.subject import Subject

    tested, claims = None, selected(names, work.effort)
    if algorithm is not None:
        if not work.quiet:
            console(error=True).print(f"importing {algorithm}")
        tested, claims = algorithm_and_claims(algorithm, names)
        if not claims:
            _conformance(algorithm, target)
            return
    subject = Subject(algorithm=tested)
    subject.check_importable()
    errata = [] if names or algorithm else list(ERRATA.values())
    with work.steps("verification", len(claims) + len(errata)) as told:
        session = work.session(told)
        done = session.verify(claims, subject)
        found = session.examine(errata)
    _tell(done, found, work, target, table)
    for one in found:
        if one.lost:
            complain(f"erratum {one.erratum.name} could not be examined: {one.lost}.")
    gone = [one.erratum.name for one in found if not one.shown and not one.lost]
    if gone:
        complain(f"the evidence for erratum {', '.join(gone)} no longer shows it.")
    if not (done.clean and all(one.shown for one in found)):
        raise typer.Exit(1)


def _verify_worst_cases(
    names: Sequence[str], work: _Work, target: Path | None, table: Path | None
) -> None:
    from pfbench.verification import worst_case

    cases = worst_case.selected(names)
    worst_case.check_installed()
    with work.steps("worst cases", len(cases)) as told:
        done = work.session(told).verify(cases)
    _tell(done, [], work, target, table)
    if not done.clean:
        raise typer.Exit(1)


def _tell(
    done: "Verification",
    found: "Sequence[Finding]",
    work: _Work,
    target: Path | None,
    table: Path | None,
) -> None:
    """Write and show verdicts and findings."""
    from pfbench.claims.catalogue import PAPERS
    from pfbench.verification.tables import verdict_table

    _write(target, done.as_json() | {"findings": [one.as_json() for one in found]})
    if table is not None:
        titles = {key: paper.title for key, paper in PAPERS.items()}
        _save(table, verdict_table(done, found, titles, command_line()))
    if work.quiet:
        return
    show(_verdicts(done))
    if found:
        show(heading("findings", _found(found)))
    if any(row.claim.kind == "rate" for row in done.rows):
        show(heading("comparisons whose winner depends on the criterion", _scales()))
    show(Text(_in_words(done.summary)))


def _repeat(names: Sequence[str], work: _Work, seeds: range, table: Path | None) -> None:
    """Verify once for each seed; tell how often each claim had each verdict."""
    from pfbench.claims.catalogue import selected
    from pfbench.verification.tables import repeated_table

    claims = selected(names, work.effort)
    made: list[Verification] = []
    try:
        with work.steps("verification", len(seeds) * len(claims)) as told:
            for seed in seeds:
                made.append(work.session(told, seed).verify(claims))
    finally:
        if made:
            text = repeated_table(seeds[: len(made)], made, command_line())
            show(Text(text)) if table is None else _save(table, text)
    for done in made:
        for row in done.rows:
            if row.verdict == "violated" or row.failed:
                complain(f"{row.claim.name} is {row.verdict}: {row.reason}")
    if not all(done.clean for done in made):
        raise typer.Exit(1)


def _conformance(algorithm: str, target: Path | None) -> None:
    """Say that no claim was named, and hold the algorithm to what every algorithm keeps."""
    from pfbench.runs.planning.user_code import load
    from pfbench.verification.conformance import conform

    outcome = conform(load(algorithm), algorithm)
    _write(target, {"schema": 1, **outcome.as_json()})
    if target != Path("-"):
        show(Text("no claim is named: tested are conformance, counts and feasibility"))
        show(columns(("test", "passed", "what was seen"), outcome.rows()))
    if not outcome.passed:
        raise typer.Exit(1)


def _verify_mutants(names: Sequence[str], work: _Work, target: Path | None) -> None:
    from pfbench.claims.catalogue import mutants_of
    from pfbench.verification.evidence import VERDICTS

    chosen = mutants_of(names)
    with work.steps("mutants", sum(len(one.expected) for one in chosen)) as told:
        found = work.session(told).catch(chosen)
    caught = sum(bool(one.by) for one in found)
    _write(
        target,
        {
            "schema": 1,
            "results": [],
            "findings": [],
            "summary": dict.fromkeys(VERDICTS, 0),
            "mutants": [one.as_json() for one in found],
        },
    )
    if not work.quiet:
        show(columns(("mutant", "planted fault [caught by]"), [_caught(one) for one in found]))
        show(Text(f"{caught} of {len(found)} caught"))
    if caught < 0.9 * len(found):
        complain("fewer than 90 % of the planted faults are caught.")
        raise typer.Exit(1)


def _caught(one: "Caught") -> tuple[str, Text]:
    names = ", ".join(verdict.claim.name for verdict in one.by)
    by = f"[{names}]" if names else Text("[not caught]", "bold red")
    return one.mutant.name, Text.assemble(one.mutant.about, "\n", by)


def _verdicts(done: "Verification") -> RenderableType:
    from pfbench.verification.tables import main_numbers

    rows = []
    for row in done.rows:
        verdict = Text(row.verdict, _COLOURS[row.verdict])
        numbers = main_numbers(row.measured) or plural(row.repetitions, "run")
        rows.append((row.claim.name, verdict, numbers, duration(row.seconds)))
    table = columns(("claim", "verdict", "measured", "time"), rows)
    reasons = [
        Text(f"{row.claim.name}: {row.reason}")
        for row in done.rows
        if row.verdict in ("violated", "disputed", "inconclusive")
    ]
    return Group(table, *reasons)


def _found(found: "Sequence[Finding]") -> RenderableType:
    rows = [
        (one.erratum.name, one.erratum.as_printed, one.erratum.corrected, _evidence(one))
        for one in found
    ]
    return columns(("erratum", "as printed", "corrected", "evidence"), rows)


def _evidence(one: "Finding") -> str:
    if one.lost:
        return "NOT EXAMINED"
    return "shown" if one.shown else "NOT SHOWN"


def _scales() -> RenderableType:
    from pfbench.claims.catalogue import changes
    from pfbench.verification.scales import CRITERIA

    rows = [
        (c.comparison, c.count, c.as_published, *(c.under[name] for name in CRITERIA[:2]))
        for c in changes()
    ]
    return columns(("comparison", "count", "as published", *CRITERIA[:2]), rows)


def _in_words(summary: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {verdict}" for verdict, count in summary.items() if count)


def _listed(claims: "Sequence[Claim]", effort: str) -> RenderableType:
    rows = [(one.name, one.kind, one.source, duration(one.seconds(effort))) for one in claims]
    total = sum(one.seconds(effort) for one in claims)
    end = Text(f"{len(claims)} claims, about {total / 60:.1f} min on one core ({effort})")
    return Group(columns(("claim", "kind", "source", "time"), rows), end)


def _write(target: Path | None, content: Mapping[str, Any]) -> None:
    """Write JSON to a file, or print it for `-`."""
    if target is None:
        return
    text = json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False)
    if target == Path("-"):
        print(text)
    else:
        _save(target, text + "\n")


def _save(target: Path, text: str) -> None:
    try:
        target.write_text(text, encoding="utf-8")
    except OSError as error:
        raise StorageError(f"{target} cannot be written ({error.strerror}).") from error
