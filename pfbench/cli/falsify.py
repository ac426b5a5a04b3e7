"""``pfbench falsify``: search for a counterexample to a user's claims, shrink it, confirm it."""

import json
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pfbench.base.errors import InputError, StorageError
from pfbench.base.escaping import escape_text
from pfbench.base.files import check_writable
from pfbench.cli import options, terminal
from pfbench.cli.brief_search import search_claim
from pfbench.cli.options import argument, flag, option
from pfbench.cli.progress import StepProgress

if TYPE_CHECKING:
    from pfbench.verification.claim import Claim
    from pfbench.verification.falsify.reports import SearchReport


def falsify(
    claims: list[str] | None = argument("FILE.py[:NAME]", "Claims to search."),
    minutes: float = option("M", "Processor minutes per claim.", default=1.0),
    seed: int = option("N", "Seed of the search.", default=0),
    jobs: int | None = options.JOBS,
    largest: bool = flag("Go on after a violation; report the largest ratio.", "--largest"),
    horizon: int = option("T", "Largest number of iterations.", default=8192),
    size: int = option("D", "Largest dimension.", default=200),
    family: str | None = option("NAME,...", "Only these sets: none, box, hull, ball."),
    allow: list[str] | None = option("TEXT", "Take an assumption in words as met."),
    store: Path = options.STORE,
    script: Path | None = option("DIR", "Folder of the scripts (default: next to the file)."),
    replay: Path | None = option("FILE.json", "Confirm stored counterexamples again."),
    as_json: Path | None = option("FILE", "Write all as JSON; - to print.", "--json"),
    quiet: bool = flag("Suppress progress and summary.", "--quiet"),
) -> None:
    """Search for an instance on which a stated bound fails.

    A counterexample is shrunk, and confirmed in rationals, 50 digits, or by an e-process. Exit
    status: 0 no counterexample found, which is not a proof; 1 a counterexample is confirmed; 2 bad
    input. The same command resumes an interrupted search.
    """
    from pfbench.base.checks import check_integer, check_real
    from pfbench.claims.catalogue import load_named_claims
    from pfbench.cli.verify import resolve_claim_names
    from pfbench.runs.engines.workers import Task
    from pfbench.verification.falsify.falsify import falsify as search

    check_real("--minutes", minutes, above=0.0)
    for name, value, minimum in (
        ("--seed", seed, 0),
        ("--horizon", horizon, 1),
        ("--size", size, 1),
    ):
        check_integer(name, value, minimum=minimum)
    families = family.split(",") if family else None
    if unknown := sorted(set(families or ()) - {"none", "box", "hull", "ball"}):
        raise InputError(f"--family: {unknown[0]} is none of none, box, hull, ball.")
    options.check_engine_options(jobs, None)
    if as_json is not None and as_json != terminal.STANDARD_OUTPUT:
        check_writable(as_json, f"--json {as_json}", error=StorageError)
    names = resolve_claim_names(claims, as_json)
    if not names:
        raise InputError("name the claims: FILE.py, FILE.py:NAME or a claim of the catalogue.")
    every = load_named_claims(names)
    quiet = quiet or as_json == terminal.STANDARD_OUTPUT
    if replay is not None:
        _replay(every, replay, quiet)
        return
    tasks = [
        Task(search_claim, (search, one, minutes, seed, horizon, size, families, tuple(allow or ()),
                       largest, store / "falsify"), 600.0 + 240.0 * minutes)
        for one in every
    ]  # fmt: skip
    reports: dict[int, SearchReport] = {}
    with closing(options.make_engine(jobs, None)) as engine, StepProgress(
        f"search of {len(every)} claims, {minutes:g} min each", len(tasks), "claims", quiet=quiet,
        slots=engine.slots,
    ) as steps:  # fmt: skip
        steps.start_clock()
        for result in engine.do(tasks):
            reports[result.index] = (
                result.value
                if result.status == "done"
                else _refused(every[result.index], f"{result.status}: {result.reason}")
            )
            steps.advance()
    found = [reports[k] for k in sorted(reports)]
    found = [_with_script(report, names[0], script) for report in found]
    if as_json is not None:
        content = {"schema": 1, "claims": [one.as_json() for one in found]}
        terminal.write_json(content, as_json)
    if not quiet:
        for line in (line for report in found for line in report.lines()):
            print(escape_text(line))
    if refused := [one for one in found if one.verdict == "refused"]:
        raise InputError(f"{refused[0].claim} cannot be searched: {refused[0].reason.rstrip('.')}.")
    terminal.exit_if(any(found))


def _refused(claim: "Claim", reason: str) -> "SearchReport":
    from pfbench.verification.falsify.reports import REFUSED, SearchReport

    return SearchReport(claim=claim.name, verdict=REFUSED, reason=reason)


def _with_script(report: Any, reference: str, folder: Path | None) -> Any:
    """Write the script of a counterexample, and return the report with its path."""
    from dataclasses import replace

    if not (report and report.script):
        return report
    home = Path(reference.split(".py")[0]).parent if folder is None else folder
    home.mkdir(parents=True, exist_ok=True)
    path = home / f"{report.claim}-counterexample.py"
    return replace(report, script_path=str(report.write(path)))


def _replay(claims: "list[Claim]", path: Path, quiet: bool) -> None:
    """Confirm the counterexamples of a file again; exit 1 if all are confirmed."""
    from pfbench.verification.falsify.falsify import replay

    try:
        stored = [one for one in json.loads(path.read_text())["claims"] if one.get("instance")]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"--replay {path} cannot be read: {error}.") from error
    by_name = {one.name: one for one in claims}
    confirmed = False
    for one in stored:
        if one["claim"] in by_name:
            again = replay(by_name[one["claim"]], one)
            confirmed |= again.is_confirmed
            words = (
                f"ratio {again.exact} ({again.arithmetic})" if again.is_confirmed else again.reason
            )
            state = "confirmed" if again.is_confirmed else "not confirmed"
            if not quiet:
                print(escape_text(f"{one['claim']}: {state}: {words}"))
    terminal.exit_if(confirmed)
