"""Comparisons, reports and stored runs, from Python."""

from collections.abc import Sequence
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pfbench.base.checks import text
from pfbench.base.errors import InputError
from pfbench.base.names import told
from pfbench.reporting.documents.told import Told
from pfbench.runs.loop.run import Run


def compare(
    method: Any,
    *,
    suite: str | Path = "quick",
    problem: Any = None,
    store: str | Path | None = None,
    output: str | Path | None = None,
    jobs: int | None = None,
    rerun: bool = False,
) -> Told:
    """Compare a method with the catalogue, as ``pfbench compare`` does.

    Parameters
    ----------
    method
        A name, ``"FILE.py:NAME"``, or a class of a module; parameters in brackets.
    suite
        The name of a shipped suite, or the file of one.
    problem
        The user's own in place of those of a shipped suite, named in the same ways.
    store
        The folder where runs are kept; the usual one if not given.
    output
        The folder that the report is written to; none is written if not given.
    jobs
        Processes; 0 makes all runs here.
    rerun
        Make the runs of all methods here.

    Raises
    ------
    InputError
        If a name is unknown, or the method fits no problem.
    """
    from pfbench.cli import compare as verb
    from pfbench.cli.options import check_place, engine_of
    from pfbench.reporting import prepare
    from pfbench.runs.planning.plugged import spelled_out

    check_place(jobs, None)
    name = spelled_out("algorithm", _named("method", method))
    on = None if problem is None else _named("problem", problem)
    spec, path = verb.suite_of(str(suite), on, None)
    folder = None if output is None else _folder("output", output)
    if folder is not None:
        prepare(folder)
    shipped = None if rerun or on is not None else verb.shipped_with(path)
    with closing(engine_of(jobs, None)) as engine:
        compared = verb.compared_on(spec, name, verb.Runs(shipped, _store(store), engine, False))
    return verb.told_of(compared, folder)[0]


def report(
    spec: str | Path | Sequence[str | Path] = (),
    *,
    store: str | Path | None = None,
    output: str | Path | None = None,
    jobs: int | None = None,
) -> Told:
    """Make the runs of sweeps that a store lacks, and report them, as ``pfbench report`` does.

    Parameters
    ----------
    spec
        The file of a sweep, or the name of a known report; or several. Without any, what the store
        has is reported as it is.
    store, output, jobs
        As in `compare`.

    Raises
    ------
    InputError
        If a spec is wrong, or there is nothing to report.
    """
    from pfbench.cli import report as verb
    from pfbench.cli.options import check_place, engine_of
    from pfbench.reporting import prepare, write_report
    from pfbench.reporting.documents.contents import contents

    check_place(jobs, None)
    listed = [spec] if isinstance(spec, str | Path) else spec
    if not isinstance(listed, Sequence):
        raise InputError(f"spec={told(spec)} must be the file of a sweep, or a list of such.")
    names = [str(_folder("spec", one)) for one in listed]
    folder = None if output is None else _folder("output", output)
    if folder is not None:
        prepare(folder)
    kept = _store(store, make=bool(names))
    if names:
        with closing(engine_of(jobs, None)) as engine:
            reports, _ = verb.made_of(names, kept.folder, engine)
    else:
        reports = verb.stored_in([kept.folder], [], [])
    said, tables, files = [], [], []
    for one in reports:
        everything = contents(one, verb.command_line(), verb.commit(), datetime.now(UTC))
        for part in everything.parts:
            said += part.said
            tables += part.tables
        if folder is not None:
            command, commit = everything.command, everything.commit
            files += write_report(one, folder, command=command, commit=commit)
    return Told(tuple(said), tuple(tables), tuple(files))


def runs_in(
    store: str | Path | None = None,
    *,
    problem: str | Sequence[str] = (),
    algorithm: str | Sequence[str] = (),
) -> list[Run]:
    """Return the runs that a store has, without their points; nothing is imported or run.

    Of several runs of one algorithm, problem and seed it is the longest.

    Parameters
    ----------
    store
        Its folder; the usual one if not given.
    problem, algorithm
        Names, or whole selectors, of those that are wanted; all if not given.

    Raises
    ------
    InputError
        If there is no store, or no such run in it.
    """
    from pfbench.reporting.stored import stored

    asked: tuple[Any, Any] = (problem, algorithm)
    wanted = [list(one) if isinstance(one, list | tuple) else [one] for one in asked]
    for one in (*wanted[0], *wanted[1]):
        text("a name", one, "quadratic")
    found = stored(_store(store, make=False), "store", problems=wanted[0], algorithms=wanted[1])
    return [run for results in found.results for _, run in results.runs]


def _named(kind: str, what: Any) -> str:
    """Return the selector of a text, of a choice, or of a class that another process can import."""
    if isinstance(what, type) or callable(what):
        module, name = getattr(what, "__module__", None), getattr(what, "__qualname__", "")
        if module in (None, "__main__") or not name.isidentifier():
            raise InputError(
                f"{told(what)} is in no file that another process can import: write the {kind} to "
                'a file, and name it as "FILE.py:NAME".'
            )
        return f"{module}:{name}"
    selector = getattr(what, "selector", what)
    return text(kind, selector, "frank-wolfe" if kind == "method" else "quadratic")


def _folder(kind: str, path: Any) -> Path:
    if not isinstance(path, str | Path) or not str(path):
        raise InputError(f"{kind}={told(path)} must be a path.")
    return Path(path)


def _store(folder: str | Path | None, *, make: bool = True) -> Any:
    from pfbench.cli.options import store_folder
    from pfbench.runs.storage.store import Store

    return Store(store_folder() if folder is None else _folder("store", folder), make=make)
