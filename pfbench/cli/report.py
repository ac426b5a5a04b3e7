"""``pfbench report``: the comparison reports; what the store lacks is run first."""

import shlex
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from datetime import UTC, datetime
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pfbench.base.errors import InputError, Noting
from pfbench.cli import options
from pfbench.cli.catalogue import MAIN_REPORT, PAPER, spec_path, specs
from pfbench.cli.changes import show_changes
from pfbench.cli.making import made, searched
from pfbench.cli.options import argument, flag, option
from pfbench.cli.printing import announce, exit_if_failed, note, print_json
from pfbench.cli.tables import show
from pfbench.cli.words import plural

if TYPE_CHECKING:
    from pfbench.reporting.documents.contents import Contents
    from pfbench.reporting.report import Report
    from pfbench.runs.engines.engine import Engine
    from pfbench.runs.execute import Outcome
    from pfbench.runs.planning.study import Spec

OUTPUT = Path("build/report")


def report(
    spec: list[str] | None = argument("SPEC.toml"),
    store: list[Path] | None = option(
        "DIR",
        "Where all that is finished is kept and found; without SPEC.toml, what is drawn, and there "
        "may be several.",
        show_default=str(options.DEFAULT_STORE),
    ),
    problem: list[str] | None = option(
        "NAME", "Draw what is stored on this problem: a name, or a selector. May be repeated."
    ),
    algorithm: list[str] | None = option(
        "NAME", "Draw what is stored of this algorithm: a name, or a selector. May be repeated."
    ),
    everything: bool = flag("Draw all reports at quick scale.", "--all"),
    together: str | None = option("NAME", "Draw all on one page, NAME.html."),
    text: bool = flag("Print the reports, and write no file.", "--text"),
    output: Path = option("DIR", "Where the reports go.", "--output", "-o", default=OUTPUT),
    jobs: int | None = options.JOBS,
    scheduler: str | None = options.SCHEDULER,
    compare: tuple[Path, Path] | None = option(
        "DIR DIR", "Draw nothing, and say what changed from one store to another."
    ),
    as_json: bool = options.AS_JSON,
) -> None:
    """Draw comparison reports of many runs.

    Each SPEC.toml is a path to any sweep, or the name of a report that `pfbench list reports`
    shows; without any, gradient-estimators is drawn, and with --all every one of those, but for
    the long ones under paper/. What the store lacks is run first; after an
    interruption the same command goes on where it stopped.

    With --store, --problem or --algorithm, and without SPEC.toml, what is stored is drawn as it is:
    nothing is run, and nothing that a store names is imported.
    """
    from pfbench.base.checks import file_name
    from pfbench.cli.theory import with_theory
    from pfbench.reporting import prepare
    from pfbench.reporting.report import together as joined
    from pfbench.runs.storage.store import Store

    if compare is not None:
        if spec:
            raise InputError("--compare takes two stores and no SPEC.toml: leave one of them out.")
        show_changes(*compare, as_json=as_json)
        return
    options.check_place(jobs, scheduler)
    if together is not None:
        file_name("--together", together)
    if not text:
        prepare(output)
    folders = store or [options.store_folder()]
    outcomes: list[Outcome] = []
    if everything and (spec or problem or algorithm or len(folders) > 1):
        raise InputError("--all draws all reports from one store: leave other choices out.")
    if spec or everything or not (store or problem or algorithm):
        if problem or algorithm or len(folders) > 1:
            raise InputError(
                "--problem, --algorithm and several --store choose what is drawn of what is "
                "stored: leave SPEC.toml out."
            )
        with closing(options.engine_of(jobs, scheduler)) as engine:
            paths = _paths(spec, everything=everything)
            reports, outcomes = _made(paths, folders[0], engine, quiet=as_json)
    else:
        reports = stored_in(folders, problem or [], algorithm or [])
    if together is not None:
        reports = [joined(together, together, reports)]
    if not text:  # only the page tells of claims
        looked_up = [Store(folder) for folder in folders]
        reports = [with_theory(one, looked_up) for one in reports]
    _show(reports, None if text else output, as_json=as_json)
    exit_if_failed(outcomes, ", and the reports show them as such")


def _paths(given: Sequence[str] | None, *, everything: bool) -> list[Path]:
    """Return the files of the reports that are asked for by paths, or by names of known ones."""
    known = specs()
    names = given or [MAIN_REPORT]
    if everything:
        names = [name for name in known if not name.startswith(f"{PAPER}/")]
    found: dict[Path, Path] = {}
    for text in names:
        path = spec_path("report", text, known)
        found.setdefault(path.resolve(), path)
    return list(found.values())


def _made(
    paths: Sequence[Path], folder: Path, engine: "Engine", *, quiet: bool
) -> "tuple[list[Report], list[Outcome]]":
    """Make the runs of all reports that the store lacks."""
    from pfbench.reporting import collect
    from pfbench.reporting.findings.orders_in_words import too_few_seeds
    from pfbench.runs.planning.spec import read_spec
    from pfbench.runs.storage.store import Store

    noting = Noting()
    read: list[Spec] = []
    for path in paths:
        with noting():
            read.append(read_spec(path))
    noting.refuse()
    for name, times in Counter(one.name for one in read).items():
        if times > 1:
            raise InputError(f"two specs are called {name}: their reports would be the same.")
    for one in read:
        announce(one.own_selectors, one.path)
        for study in () if quiet else one.studies:
            if few := too_few_seeds(study):
                note(f"{one.name}, {study.title}: {few}")
    kept = Store(folder)
    reports: list[Report] = []
    everything: list[Outcome] = []
    for planned in read:
        one = searched(planned, kept, engine, quiet=quiet)
        outcomes = made(one.name, one.runs(), kept, engine, quiet=quiet, then="; drawing")
        reports.append(collect(one, outcomes))
        everything += outcomes
    return reports, everything


def made_of(
    names: Sequence[str], folder: Path, engine: "Engine"
) -> "tuple[list[Report], list[Outcome]]":
    """Return the reports of specs by path or by name, with the runs made that the store lacks."""
    return _made(_paths(names, everything=False), folder, engine, quiet=False)


def stored_in(
    folders: Sequence[Path], problems: Sequence[str], algorithms: Sequence[str]
) -> "list[Report]":
    """Return what stores have, which must be there."""
    from pfbench.reporting.stored import stored
    from pfbench.runs.storage.store import Store

    distinct = list({folder.resolve(): folder for folder in folders}.values())
    return [
        stored(Store(folder, make=False), name, problems=problems, algorithms=algorithms)
        for folder, name in zip(distinct, _names(distinct), strict=True)
    ]


def _names(folders: Sequence[Path]) -> list[str]:
    """Return a name for each of different folders: the last parts of their paths."""
    parts = [["store", *folder.resolve().parts[1:]] for folder in folders]
    names: list[str] = []
    for length in range(1, max(map(len, parts)) + 1):
        names = ["-".join(one[-length:]) for one in parts]
        if len(set(names)) == len(names):
            break
    return names


def _show(reports: "Sequence[Report]", output: Path | None, *, as_json: bool) -> None:
    """Write reports to a folder, or print them if there is none."""
    from pfbench.cli.report_text import whole_report
    from pfbench.reporting import write_report
    from pfbench.reporting.documents.contents import contents

    described = []
    for drawn in reports:
        files: list[Path] = []
        if output is not None:
            files = write_report(drawn, output, command=command_line(), commit=commit())
        elif not as_json:
            made = datetime.now(UTC)
            show(*whole_report(contents(drawn, command_line(), commit(), made)))
        if as_json:
            described.append(_describe(drawn, files))
        elif files:
            _tell(contents(drawn, command_line(), commit(), datetime.now(UTC)), files)
    if as_json:
        print_json(described)


def _tell(found: "Contents", files: "Sequence[Path]") -> None:
    """Print the two main sentences of a report, how many files it has, and the page to open."""
    said = (part.in_words or part.in_brief or part.sentences for part in found.parts)
    for sentence in islice(chain.from_iterable(said), 2):
        note(sentence)
    if others := len(files) - 1:
        note(f"{plural(others, 'other file')}, for papers, in {files[0].parent}")
    show(str(files[0]))


def _describe(drawn: "Report", files: Sequence[Path]) -> dict[str, Any]:
    from pfbench.cli.report_text import results_as_json
    from pfbench.reporting.findings.orderings import tested
    from pfbench.reporting.findings.orders_in_words import as_json

    runs = [run for results in drawn.results for _, run in results.runs]
    return {
        "schema": 1,
        "name": drawn.spec.name,
        "title": drawn.spec.title,
        "runs": len(drawn.spec.runs()),
        "statuses": Counter(run.status for run in runs),
        "results": results_as_json(drawn),
        "orderings": [one for results in drawn.results for one in as_json(tested(results))],
        "files": [str(file) for file in files],
    }


def command_line() -> str:
    """Return the command that is running, as a shell would read it."""
    return shlex.join(["pfbench", *sys.argv[1:]])


def commit() -> str | None:
    """Return the commit of the checkout that pfbench runs from, None if it is an installed one.

    A ``+`` is appended if the checkout differs from that commit.
    """
    root = Path(__file__).resolve().parents[2]
    if not (root / ".git").exists():
        return None

    def git(*arguments: str) -> str:
        return subprocess.run(
            ["git", "-C", str(root), *arguments], capture_output=True, text=True, check=True
        ).stdout.strip()

    try:
        return git("rev-parse", "HEAD") + ("+" if git("status", "--porcelain", "-uno") else "")
    except (OSError, subprocess.CalledProcessError):
        return None
