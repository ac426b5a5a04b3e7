"""Python functions for comparisons, reports, counterexample searches and stored runs."""

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pfbench.base.checks import check_text
from pfbench.base.errors import InputError
from pfbench.base.names import brief_repr
from pfbench.reporting.report_contents import ReportSummary
from pfbench.runs.loop.run import Run

if TYPE_CHECKING:
    from pfbench.verification.falsify.reports import SearchReport


def compare(
    method: Any,
    *,
    suite: str | Path = "quick",
    problem: Any = None,
    store: str | Path | None = None,
    output: str | Path | None = None,
    jobs: int | None = None,
    rerun: bool = False,
) -> ReportSummary:
    """Compare a method with the catalogue, as ``pfbench compare`` does.

    Parameters
    ----------
    method
        A name or ``"FILE.py:NAME"``, with parameters in brackets; or an importable class.
    suite
        The name of a shipped suite, or the file of a suite.
    problem
        A problem, given like `method`, that replaces the problems of a shipped suite.
    store
        Folder of the store; by default that of the commands.
    output
        Folder of the report; by default none is written.
    jobs
        Number of worker processes; 0 runs everything in this process.
    rerun
        Whether all methods are run on this machine, instead of reading shipped runs.

    Raises
    ------
    InputError
        If a name is unknown, or the method fits no problem.
    """
    from pfbench.cli import compare as verb
    from pfbench.cli.options import check_engine_options, make_engine
    from pfbench.cli.report_sources import RunExecution
    from pfbench.reporting import check_report_can_be_written
    from pfbench.runs.planning.name_resolution import unquote_selector
    from pfbench.runs.planning.suite import add_candidate

    check_engine_options(jobs, None)
    name = unquote_selector(_parse_selector("method", method))
    on = None if problem is None else _parse_selector("problem", problem)
    spec, path = verb.load_suite(str(suite), on, None)
    folder = None if output is None else _check_path("output", output)
    if folder is not None:
        check_report_can_be_written(folder)
    candidate = add_candidate(spec, name)  # raises, if it must, before a store is made
    shipped = None if rerun or on is not None else path
    with closing(make_engine(jobs, None)) as engine:
        execution = RunExecution(_open_store(store), engine)
        compared, _ = verb.compare_on_suite(*candidate, name, shipped, execution)
    return verb.write_comparison(compared, folder)[0]


def report(
    spec: str | Path | Sequence[str | Path] = (),
    *,
    store: str | Path | None = None,
    output: str | Path | None = None,
    jobs: int | None = None,
) -> ReportSummary:
    """Execute the runs of sweeps that are not stored yet, and write reports on all of their runs.

    Parameters
    ----------
    spec
        The file of a sweep or the name of a known report, or a list of these. If it is empty, the
        runs in the store are reported.
    store, output, jobs
        As in `compare`.

    Raises
    ------
    InputError
        If a spec is wrong, or there is nothing to report.
    """
    from pfbench.cli.options import check_engine_options, make_engine
    from pfbench.cli.report_sources import make_reports, read_store, report_contents
    from pfbench.reporting import check_report_can_be_written
    from pfbench.reporting.writer import write_contents

    check_engine_options(jobs, None)
    listed = [spec] if isinstance(spec, str | Path) else spec
    if not isinstance(listed, Sequence):
        raise InputError(f"spec={brief_repr(spec)} must be a sweep's path, or a list of paths.")
    names = [str(_check_path("spec", item)) for item in listed]
    folder = None if output is None else _check_path("output", output)
    if folder is not None:
        check_report_can_be_written(folder)
    retained = _open_store(store, make=bool(names))
    if names:
        with closing(make_engine(jobs, None)) as engine:
            reports, _ = make_reports(names, retained.folder, engine)
    else:
        reports = [read_store(retained.folder, [], [])]
    contents = [report_contents(report) for report in reports]
    parts = [part for content in contents for part in content.parts]
    written = [] if folder is None else [write_contents(content, folder) for content in contents]
    return ReportSummary(
        tuple(sentence for part in parts for sentence in part.all_sentences),
        tuple(table for part in parts for table in part.tables),
        tuple(file for files in written for file in files),
    )


def falsify(
    claim: Any,
    *,
    seconds: float = 60.0,
    seed: int = 0,
    horizon: int = 8192,
    size: int = 200,
    families: Sequence[str] | None = None,
    allow: Sequence[str] = (),
) -> "SearchReport":
    """Search for an instance on which a claim's bound fails, as ``pfbench falsify`` does.

    Parameters
    ----------
    claim
        A `Claim`, ``"FILE.py:NAME"``, or a name of the catalogue.
    seconds
        Maximum number of seconds for search, shrinking and confirmation. A method that hangs is not
        interrupted; ``pfbench falsify`` kills it.
    seed
        Seed of the search.
    horizon, size
        Largest number of iterations, and dimension.
    families
        Families of feasible sets to search, among "none", "box", "hull" and "ball"; by default all.
    allow
        Assumptions, as texts, that every searched instance is supposed to satisfy.

    Returns
    -------
    SearchReport
        A `Counterexample`, whose truth value is true, or another report, whose truth value is
        false.

    Raises
    ------
    InputError
        If the claim is unknown, or an argument is out of range.
    """
    from pfbench.claims.catalogue import select_claims
    from pfbench.verification.claim import Claim
    from pfbench.verification.falsify.falsification import search_claim
    from pfbench.verification.falsify.genomes import SETS

    if not isinstance(claim, Claim):
        claims = select_claims([check_text("claim", claim, "FILE.py:NAME")])
        if len(claims) != 1:
            raise InputError(f"{claim} names {len(claims)} claims: name one, as in FILE.py:NAME.")
        claim = claims[0]
    for name, value in (("families", families), ("allow", allow)):
        if isinstance(value, str) or not (value is None or isinstance(value, Sequence)):
            raise InputError(f"{name}={brief_repr(value)} must be a list of strings.")
    sets = SETS if families is None else families
    limits: dict[str, Any] = {"seconds": seconds, "seed": seed, "horizon": horizon, "size": size}
    return search_claim(claim, families=sets, allow=allow, **limits)


def list_runs(
    store: str | Path | None = None,
    *,
    problem: str | Sequence[str] = (),
    algorithm: str | Sequence[str] = (),
) -> list[Run]:
    """Return the runs in a store, without their points; nothing is imported or run.

    If several runs have one algorithm, problem and seed, only the longest is returned.

    Parameters
    ----------
    store
        Folder of the store; by default that of the commands.
    problem, algorithm
        Names or complete selectors of the runs to return; by default all.

    Raises
    ------
    InputError
        If there is no store, or no run in it matches.
    """
    from pfbench.reporting.stores import load_stored_report

    request: tuple[Any, Any] = (problem, algorithm)
    expected = [list(item) if isinstance(item, list | tuple) else [item] for item in request]
    for other_item in (*expected[0], *expected[1]):
        check_text("a name", other_item, "quadratic")
    report = load_stored_report(
        _open_store(store, make=False), "store", problems=expected[0], algorithms=expected[1]
    )
    return [run for results in report.results for _, run in results.runs]


def _parse_selector(kind: str, subject: Any) -> str:
    """Return the selector for a text, an `AlgorithmChoice`, or a class that can be imported."""
    if isinstance(subject, type) or callable(subject):
        module, name = getattr(subject, "__module__", None), getattr(subject, "__qualname__", "")
        if module in (None, "__main__") or not name.isidentifier():
            raise InputError(
                f"{brief_repr(subject)} is in no file that another process can import: write the {kind} to "  # noqa: E501
                'a file, and name it as "FILE.py:NAME".'
            )
        return f"{module}:{name}"
    selector = getattr(subject, "selector", subject)
    return check_text(kind, selector, "frank-wolfe" if kind == "method" else "quadratic")


def _check_path(kind: str, path: Any) -> Path:
    if not isinstance(path, str | Path) or not str(path):
        raise InputError(f"{kind}={brief_repr(path)} must be a path.")
    return Path(path)


def _open_store(folder: str | Path | None, *, make: bool = True) -> Any:
    from pfbench.cli.options import default_store_folder
    from pfbench.runs.storage.store import Store

    return Store(
        default_store_folder() if folder is None else _check_path("store", folder), make=make
    )
