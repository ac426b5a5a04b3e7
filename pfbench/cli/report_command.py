"""``pfbench report``: comparison reports; runs that the store lacks are executed first."""

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

from pfbench.base.errors import ErrorCollector, InputError
from pfbench.cli import options
from pfbench.cli.catalogue import MAIN_REPORT, PAPER, report_spec_paths, resolve_spec_path
from pfbench.cli.diff_report import show_changes
from pfbench.cli.formatting import format_plural
from pfbench.cli.options import argument, flag, option
from pfbench.cli.spec_runs import make_runs, resolve_search
from pfbench.cli.terminal import announce_imports, exit_if_failed, print_json, print_note
from pfbench.cli.terminal_tables import print_parts

if TYPE_CHECKING:
    from pfbench.reporting.report import Report
    from pfbench.reporting.report_contents import ReportContents
    from pfbench.runs.engines.engine import Engine
    from pfbench.runs.execute import PlanOutcome
    from pfbench.runs.planning.study import Spec

OUTPUT = Path("build/report")


def report(
    spec: list[str] | None = argument("SPEC.toml"),
    store: list[Path] | None = option(
        "DIR",
        "Result store. Without SPEC.toml: the store whose runs are drawn; may be repeated to draw "
        "several stores.",
        show_default=str(options.DEFAULT_STORE),
    ),
    problem: list[str] | None = option(
        "NAME", "Draw stored runs on this problem: a name, or a selector. May be repeated."
    ),
    algorithm: list[str] | None = option(
        "NAME", "Draw stored runs of this algorithm: a name, or a selector. May be repeated."
    ),
    everything: bool = flag("Draw all reports at quick scale.", "--all"),
    combine: str | None = option("NAME", "Draw all reports on one page, NAME.html."),
    text: bool = flag("Print the reports, and write no file.", "--text"),
    output: Path = option("DIR", "Folder of the reports.", "--output", "-o", default=OUTPUT),
    jobs: int | None = options.JOBS,
    scheduler: str | None = options.SCHEDULER,
    compare: tuple[Path, Path] | None = option(
        "DIR DIR", "Draw nothing; list the differences between two stores."
    ),
    as_json: bool = options.AS_JSON,
) -> None:
    """Draw comparison reports of many runs.

    Each SPEC.toml is the path of a sweep, or the name of a report that `pfbench list reports`
    shows. Without SPEC.toml, the report gradient-estimators is drawn; with --all, every report but
    the long ones under paper/. Runs that the store lacks are executed first; after an interruption
    the same command continues.

    With --store, --problem or --algorithm, and without SPEC.toml, the stored runs are drawn:
    nothing is run, and nothing that a store names is imported.
    """
    from pfbench.base.checks import check_file_name
    from pfbench.cli.theory_section import add_theory
    from pfbench.reporting import check_report_can_be_written
    from pfbench.reporting.report import merge_reports as joined
    from pfbench.runs.storage.store import Store

    if compare is not None:
        if spec:
            raise InputError("--compare needs two stores and no SPEC.toml: leave SPEC.toml out.")
        show_changes(*compare, as_json=as_json)
        return
    options.check_engine_options(jobs, scheduler)
    if combine is not None:
        check_file_name("--combine", combine)
    if not text:
        check_report_can_be_written(output)
    folders = store or [options.default_store_folder()]
    outcomes: list[PlanOutcome] = []
    if everything and (spec or problem or algorithm or len(folders) > 1):
        raise InputError("--all allows no SPEC.toml, no names and one --store: leave them out.")
    if spec or everything or not (store or problem or algorithm):
        if problem or algorithm or len(folders) > 1:
            raise InputError(
                "--problem, --algorithm and several --store choose among stored runs: leave "
                "SPEC.toml out."
            )
        with closing(options.make_engine(jobs, scheduler)) as engine:
            paths = _resolve_report_paths(spec, everything=everything)
            reports, outcomes = _make_all_runs(paths, folders[0], engine, quiet=as_json)
    else:
        reports = read_stores(folders, problem or [], algorithm or [])
    if combine is not None:
        reports = [joined(combine, combine, reports)]
    if not text:  # only the page tells of claims
        looked_up = [Store(folder) for folder in folders]
        reports = [add_theory(report, looked_up) for report in reports]
    _write_or_print(reports, None if text else output, as_json=as_json)
    exit_if_failed(outcomes, ", marked in the reports")


def _resolve_report_paths(value: Sequence[str] | None, *, everything: bool) -> list[Path]:
    """Return the files of the requested reports, which are paths or names of built-in reports."""
    paths = report_spec_paths()
    names = value or [MAIN_REPORT]
    if everything:
        names = [name for name in paths if not name.startswith(f"{PAPER}/")]
    results: dict[Path, Path] = {}
    for text in names:
        path = resolve_spec_path("report", text, paths)
        results.setdefault(path.resolve(), path)
    return list(results.values())


def _make_all_runs(
    paths: Sequence[Path], folder: Path, engine: "Engine", *, quiet: bool
) -> "tuple[list[Report], list[PlanOutcome]]":
    """Return all reports and the outcomes of their runs; execute those that the store lacks."""
    from pfbench.reporting import collect_report
    from pfbench.reporting.ordering_text import seed_warning
    from pfbench.runs.planning.spec import load_spec
    from pfbench.runs.storage.store import Store

    noting = ErrorCollector()
    read: list[Spec] = []
    for path in paths:
        with noting():
            read.append(load_spec(path))
    noting.raise_collected()
    for name, times in Counter(item.name for item in read).items():
        if times > 1:
            raise InputError(f"two specs have the name {name}: rename one, or leave it out.")
    store = Store(folder)
    for spec in read:
        announce_imports(spec.user_selectors, spec.path)
        for study in () if quiet else spec.studies:
            if few := seed_warning(study):
                print_note(f"{spec.name}, {study.title}: {few}")
    reports: list[Report] = []
    everything: list[PlanOutcome] = []
    for planned in read:
        spec = resolve_search(planned, store, engine, quiet=quiet)
        outcomes = make_runs(
            spec.name, spec.runs(), store, engine, quiet=quiet, next_phase="; drawing"
        )
        reports.append(collect_report(spec, outcomes))
        everything += outcomes
    return reports, everything


def make_reports(
    names: Sequence[str], folder: Path, engine: "Engine"
) -> "tuple[list[Report], list[PlanOutcome]]":
    """Return the reports of specs, given by path or name; execute runs that the store lacks."""
    return _make_all_runs(
        _resolve_report_paths(names, everything=False), folder, engine, quiet=False
    )


def read_stores(
    folders: Sequence[Path], problems: Sequence[str], algorithms: Sequence[str]
) -> "list[Report]":
    """Return a report on each store; raise if a store does not exist."""
    from pfbench.reporting.stores import load_stored_report
    from pfbench.runs.storage.store import Store

    distinct = list({folder.resolve(): folder for folder in folders}.values())
    return [
        load_stored_report(
            Store(folder, make=False), name, problems=problems, algorithms=algorithms
        )
        for folder, name in zip(distinct, _distinct_folder_names(distinct), strict=True)
    ]


def _distinct_folder_names(folders: Sequence[Path]) -> list[str]:
    """Return a name for each folder: the last parts of its path that make it unique."""
    parts = [["store", *folder.resolve().parts[1:]] for folder in folders]
    names: list[str] = []
    for length in range(1, max(map(len, parts)) + 1):
        names = ["-".join(part[-length:]) for part in parts]
        if len(set(names)) == len(names):
            break
    return names


def _write_or_print(reports: "Sequence[Report]", output: Path | None, *, as_json: bool) -> None:
    """Write reports to a folder, or print them if there is none."""
    from pfbench.cli.report_text import render_report
    from pfbench.reporting import write_report
    from pfbench.reporting.report_contents import make_contents

    described = []
    for report in reports:
        files: list[Path] = []
        if output is not None:
            files = write_report(
                report, output, command=current_command_line(), commit=checkout_commit()
            )
        elif not as_json:
            created = datetime.now(UTC)
            print_parts(
                *render_report(
                    make_contents(report, current_command_line(), checkout_commit(), created)
                )
            )
        if as_json:
            described.append(_report_record(report, files))
        elif files:
            _print_main_sentences(
                make_contents(report, current_command_line(), checkout_commit(), datetime.now(UTC)),
                files,
            )
    if as_json:
        print_json(described)


def _print_main_sentences(contents: "ReportContents", files: "Sequence[Path]") -> None:
    """Print the two main sentences of a report, the number of its files, and its page."""
    candidate_sentences = (
        part.candidate_sentences or part.brief_sentences or part.truncation_and_decrease_sentences
        for part in contents.parts
    )
    for sentence in islice(chain.from_iterable(candidate_sentences), 2):
        print_note(sentence)
    if rest := len(files) - 1:
        print_note(f"{format_plural(rest, 'other file')}, for papers, in {files[0].parent}")
    print_parts(str(files[0]))


def _report_record(report: "Report", files: Sequence[Path]) -> dict[str, Any]:
    from pfbench.cli.report_text import results_as_json_unless_large
    from pfbench.reporting.ordering_text import as_json
    from pfbench.reporting.tested_orderings import test_orderings

    runs = [run for results in report.results for _, run in results.runs]
    return {
        "name": report.spec.name,
        "title": report.spec.title,
        "runs": len(report.spec.runs()),
        "statuses": Counter(run.status for run in runs),
        "results": results_as_json_unless_large(report),
        "orderings": [
            item for results in report.results for item in as_json(test_orderings(results))
        ],
        "files": [str(file) for file in files],
    }


def current_command_line() -> str:
    """Return the command that is running, as a shell would read it."""
    return shlex.join(["pfbench", *sys.argv[1:]])


def checkout_commit() -> str | None:
    """Return the commit of the checkout that pfbench runs from, None if there is no checkout.

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
