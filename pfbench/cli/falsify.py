"""``pfbench falsify``: search for counterexamples to claims, shrink and confirm them."""

import json
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

from pfbench.base.errors import InputError, StorageError, end_sentence
from pfbench.base.escaping import escape_hidden
from pfbench.base.files import check_writable
from pfbench.cli import options, terminal
from pfbench.cli.options import argument, flag, option
from pfbench.cli.progress import StepProgress


def falsify(
    claims: list[str] | None = argument("FILE.py[:NAME]", "Claims to search."),
    seconds: float = option("S", "Maximum number of seconds per claim.", default=60.0, above=0.0),
    seed: int = option("N", "Seed of the search.", default=0, minimum=0),
    jobs: int | None = options.JOBS,
    horizon: int = option("T", "Largest number of iterations.", default=8192, minimum=1),
    size: int = option("D", "Largest dimension.", default=200, minimum=1),
    family: str | None = option("NAME,...", "Search on these sets only: none, box, hull, ball."),
    allow: list[str] | None = option("TEXT", "Text of an assumption that counts as satisfied."),
    script: Path | None = option("DIR", "Folder of counterexample scripts (default: FILE.py's)."),
    store: Path = options.STORE,
    resume: bool = flag("Continue a search that was stopped.", "--resume"),
    replay: Path | None = option("FILE.json", "Confirm the counterexamples in FILE.json again."),
    as_json: bool = options.AS_JSON,
    quiet: bool = flag("Suppress progress and summary.", "--quiet"),
) -> None:
    """Search for an instance on which a stated bound fails.

    A counterexample is shrunk, and confirmed in rationals, in 50 digits, or by an e-process. Exit
    status: 0 no counterexample found, which is not a proof; 1 a counterexample is confirmed; 2 bad
    input. The store keeps the state of a search: `--resume` continues a search that was stopped,
    and shows the result of one that is finished.
    """
    from pfbench.base.checks import check_choice
    from pfbench.claims.catalogue import select_claims
    from pfbench.cli.verification_job import announce_claims
    from pfbench.verification.falsify.falsification import search_claims
    from pfbench.verification.falsify.genomes import SETS

    requested = family.split(",") if family else SETS
    families = tuple(check_choice("--family", name, SETS) for name in requested)
    limits = {"seconds": seconds, "seed": seed, "horizon": horizon, "size": size}
    options.check_engine_options(jobs, None)
    names = announce_claims(claims, as_json)
    if not names:
        raise InputError("name a claim: FILE.py, FILE.py:NAME or a claim of the catalogue.")
    loaded = select_claims(names)
    is_quiet = quiet or as_json
    if replay is not None:
        _replay_and_fail_if_confirmed(loaded, replay, is_quiet)
        return
    folder = store / "searches"
    sets = {"families": families, "allow": tuple(allow or ()), "saved": (folder, resume)}
    check_writable(folder, f"--store {store}", folder=True, error=StorageError)
    title = f"search, at most {seconds:g} s per claim"
    with (
        closing(options.make_engine(jobs, None)) as engine,
        StepProgress(title, len(loaded), "claims", quiet=is_quiet, slots=engine.slots) as steps,
    ):
        reports = search_claims(engine, loaded, limits | sets, steps.advance)
    reports = [_save_script_and_return_report(report, names[0], script) for report in reports]
    if as_json:
        terminal.print_json({"claims": [report.as_json() for report in reports]})
    for line in (line for report in reports for line in report.lines() if not is_quiet):
        print(escape_hidden(line))
    terminal.exit_if(any(reports))
    for report in reports:
        if report.verdict == "refused":
            raise InputError(f"no search can falsify {report.claim}: {end_sentence(report.reason)}")


def _save_script_and_return_report(report: Any, reference: str, folder: Path | None) -> Any:
    """Write a script that reproduces a counterexample; return the report with the script's path."""
    if not (report and report.script):
        return report
    home = Path(reference.partition(".py")[0]).parent if folder is None else folder
    home.mkdir(parents=True, exist_ok=True)
    path = home / f"{report.claim}-counterexample.py"
    return replace(report, script_path=str(report.write(path)))


def _replay_and_fail_if_confirmed(claims: list[Any], path: Path, is_quiet: bool) -> None:
    """Try to confirm stored counterexamples again; exit with status 1 if any is confirmed."""
    from pfbench.verification.falsify.falsification import replay_counterexample
    from pfbench.verification.falsify.reports import Counterexample

    try:
        items = [item for item in json.loads(path.read_text())["claims"] if item.get("instance")]
        records = {item["claim"]: item for item in items}
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        reason = getattr(error, "strerror", None) or "not JSON of `pfbench falsify`"
        raise InputError(f"--replay {path} cannot be read ({reason}).") from error
    results = [replay_counterexample(c, records[c.name]) for c in claims if c.name in records]
    if not results:
        raise InputError(f"{path} has no counterexample to these claims: name other claims.")
    for result in results if not is_quiet else ():
        text = f"not confirmed: {result.reason}"
        if isinstance(result, Counterexample):
            ratio = result.ratio_exact or round(result.ratio, 6)
            text = f"confirmed: ratio {ratio} ({result.arithmetic})"
        print(escape_hidden(f"{result.claim}: {text}"))
    terminal.exit_if(any(results))
