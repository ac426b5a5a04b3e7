"""``pfbench report``: the comparison reports; what the store lacks is run first."""

import shlex
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pfbench.base.errors import InputError
from pfbench.base.names import unknown
from pfbench.cli import options
from pfbench.cli.catalogue import specs
from pfbench.cli.changes import show_changes
from pfbench.cli.options import argument, option
from pfbench.cli.printing import FAILURES, announce, exit_if_failed, keeping, note, print_json
from pfbench.cli.progress import Steps
from pfbench.cli.tables import show

if TYPE_CHECKING:
    from pfbench.runs.engines.engine import Engine
    from pfbench.runs.execute import Outcome
    from pfbench.runs.planning.study import Spec

OUTPUT = Path("build/report")


def report(
    spec: list[str] | None = argument("SPEC.toml"),
    store: Path = options.STORE,
    output: Path = option("DIR", "Where the reports go.", "--output", "-o", default=OUTPUT),
    jobs: int | None = options.JOBS,
    scheduler: str | None = options.SCHEDULER,
    compare: tuple[Path, Path] | None = option(
        "DIR DIR", "Draw nothing, and say what changed from one store to another."
    ),
    as_json: bool = options.AS_JSON,
) -> None:
    """Draw comparison reports of many runs.

    Each SPEC.toml is a path, or the name of a report that `pfbench list reports` shows; without
    any, all of those are drawn. What the store lacks is run first; after an interruption the same
    command goes on where it stopped.
    """
    from pfbench.reporting import collect, prepare, write_report
    from pfbench.runs.planning.spec import read_spec

    if compare is not None:
        if spec:
            raise InputError("--compare takes two stores and no SPEC.toml: leave one of them out.")
        show_changes(*compare, as_json=as_json)
        return
    options.check_place(jobs, scheduler)
    read = [read_spec(path) for path in _paths(spec or list(specs()))]
    prepare(output)
    for one in read:
        announce(one.own_selectors, one.path)
    with closing(options.engine_of(jobs, scheduler)) as engine:
        outcomes = _run(read, store, engine, quiet=as_json)

    described = []
    for one in read:
        drawn = collect(one, outcomes[one.name])
        files = write_report(drawn, output, command=command_line(), commit=commit())
        described.append(_describe(one, outcomes[one.name], files))
        if not as_json:
            show(*(str(file) for file in files))
    if as_json:
        print_json(described)
    failed = [o for some in outcomes.values() for o in some if o.entry.run.status in FAILURES]
    exit_if_failed(failed, ", and the reports show them as such")


def _paths(given: Sequence[str]) -> list[Path]:
    """Return the file of each spec, given as a path or as the name of a known report."""
    known = specs()
    if not given:
        raise InputError("there are no reports here: give the path of a SPEC.toml.")
    found: dict[str, Path] = {}
    for text in given:
        path = known.get(text, Path(text))
        if text not in known and not path.exists() and path.suffix != ".toml":
            raise unknown("report", text, known)
        if path.stem in found and found[path.stem].resolve() != path.resolve():
            raise InputError(f"two specs are called {path.stem}: their reports would be the same.")
        found[path.stem] = path
    return list(found.values())


def _run(
    read: "Sequence[Spec]", folder: Path, engine: "Engine", *, quiet: bool
) -> "dict[str, list[Outcome]]":
    """Make the runs of all reports that the store lacks."""
    from pfbench.runs.execute import execute
    from pfbench.runs.storage.store import Store

    kept = Store(folder)
    outcomes: dict[str, list[Outcome]] = {}
    with keeping("run", folder):
        for one in read:
            plans = one.runs()
            with Steps(one.name, len(plans), "runs", quiet=quiet) as steps:
                outcomes[one.name] = execute(plans, kept, engine=engine, progress=steps.count)
            if not quiet:
                note(f"{one.name}: {steps.made_in_words()}; drawing")
    return outcomes


def _describe(one: "Spec", outcomes: "Sequence[Outcome]", files: Sequence[Path]) -> dict[str, Any]:
    return {
        "schema": 1,
        "name": one.name,
        "title": one.title,
        "runs": len(outcomes),
        "statuses": Counter(outcome.entry.run.status for outcome in outcomes),
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
