"""``pfbench report``: comparison reports; runs that the store lacks are executed first."""

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import RenderableType
from rich.text import Text

from pfbench.base.errors import InputError
from pfbench.base.escaping import escape_hidden
from pfbench.cli import options, terminal
from pfbench.cli.catalogue import PAPER, report_spec_paths
from pfbench.cli.formatting import format_plural
from pfbench.cli.options import argument, flag, option
from pfbench.cli.report_sources import (
    add_published_rates,
    make_reports,
    read_store,
    report_contents,
)
from pfbench.cli.terminal import field_table, section_with_title

if TYPE_CHECKING:
    from pfbench.reporting.report import Report
    from pfbench.reporting.report_contents import ReportContents, ReportPart
    from pfbench.reporting.tables import Table, TableRow
    from pfbench.runs.execute import PlanOutcome

OUTPUT = Path("build/report")


def report(
    spec: list[str] | None = argument("SPEC.toml"),
    store: Path | None = option(
        "DIR",
        "Result store. Without SPEC.toml: the store whose runs are drawn.",
        show_default=str(options.DEFAULT_STORE),
    ),
    problem: list[str] | None = option(
        "NAME", "Draw stored runs on this problem: a name, or a selector. May be repeated."
    ),
    algorithm: list[str] | None = option(
        "NAME", "Draw stored runs of this algorithm: a name, or a selector. May be repeated."
    ),
    everything: bool = flag("Draw all reports at quick scale.", "--all"),
    combine: str | None = option("NAME", "Write all reports to one page, NAME.html."),
    text: bool = flag("Print the reports, and write no file.", "--text"),
    output: Path = option("DIR", "Folder of the reports.", "--output", "-o", default=OUTPUT),
    jobs: int | None = options.JOBS,
    scheduler: str | None = options.SCHEDULER,
    compare: tuple[Path, Path] | None = option(
        "DIR DIR", "List the differences between two stores; draw nothing."
    ),
    as_json: bool = options.AS_JSON,
) -> None:
    """Write reports that compare many runs in tables and figures.

    Each SPEC.toml is the path of a sweep, or the name of a report that `pfbench list reports`
    shows. Without SPEC.toml, the report gradient-estimators is drawn; with --all, every report but
    the long ones under paper/. Runs that the store lacks are executed first; after an interruption
    the same command continues.

    With --store, --problem or --algorithm, and without SPEC.toml, the stored runs are drawn:
    nothing is run, and nothing that a store names is imported.
    """
    from pfbench.base.checks import check_file_name
    from pfbench.reporting import check_report_can_be_written
    from pfbench.reporting.report import merge_reports

    if compare is not None:
        if spec:
            raise InputError("--compare compares two stores: leave SPEC.toml out.")
        _show_changes(*compare, as_json=as_json)
        return
    options.check_engine_options(jobs, scheduler)
    if combine is not None:
        check_file_name("--combine", combine)
    if not text:
        check_report_can_be_written(output)
    folder = store or options.default_store_folder()
    outcomes: list[PlanOutcome] = []
    if everything and (spec or problem or algorithm):
        raise InputError("--all writes all reports: leave out names and filters.")
    if spec and (problem or algorithm):
        raise InputError("--problem and --algorithm select stored runs: leave out SPEC.toml.")
    if not (spec or everything) and (store or problem or algorithm):
        reports = [read_store(folder, problem or [], algorithm or [])]
    else:
        names = spec or []
        if everything:
            names = [name for name in report_spec_paths() if not name.startswith(f"{PAPER}/")]
        with closing(options.make_engine(jobs, scheduler)) as engine:
            reports, outcomes = make_reports(names, folder, engine, quiet=as_json)
    if combine is not None:
        reports = [merge_reports(combine, combine, reports)]
    if not text:  # only the page draws them
        reports = [add_published_rates(report) for report in reports]
    _write_or_print(reports, None if text else output, as_json=as_json)
    terminal.exit_if_failed(outcomes, ", marked in the reports")


def _write_or_print(reports: "Sequence[Report]", output: Path | None, *, as_json: bool) -> None:
    """Write reports to a folder, or print them if no folder is given."""
    from pfbench.reporting.writer import write_contents

    records = []
    for report in reports:
        files: list[Path] = []
        if output is not None:
            contents = report_contents(report)
            files = write_contents(contents, output)
            if not as_json:
                _print_main_sentences(contents, files)
        elif not as_json:
            terminal.print_parts(*_render_report(report_contents(report)))
        if as_json:
            records.append(_report_record(report, files))
    if as_json:
        terminal.print_json(records)


def _print_main_sentences(contents: "ReportContents", files: "Sequence[Path]") -> None:
    """Print a report's first two sentences, the number of further files, and the page's path."""
    sentences = (part.candidate_sentences or part.answer_sentences for part in contents.parts)
    for sentence in islice(chain.from_iterable(sentences), 2):
        terminal.print_note(sentence)
    if rest := len(files) - 1:
        terminal.print_note(
            f"{format_plural(rest, 'other file')}, for papers, in {files[0].parent}"
        )
    terminal.print_parts(str(files[0]))


def _report_record(report: "Report", files: Sequence[Path]) -> dict[str, Any]:
    from pfbench.reporting.ordering_text import as_json
    from pfbench.reporting.tested_orderings import test_orderings

    runs = [run for results in report.results for _, run in results.runs]
    orders = [order for results in report.results for order in as_json(test_orderings(results))]
    return {
        "name": report.spec.name,
        "title": report.spec.title,
        "runs": len(report.spec.runs()),
        "statuses": Counter(run.status for run in runs),
        "results": results_as_json(report),
        "orderings": orders,
        "files": [str(file) for file in files],
    }


# --- as text --------------------------------------------------------------------------------------


def result_tables(report: "Report") -> Iterator[RenderableType]:
    """Yield a table of results for each study."""
    from pfbench.reporting.result_tables import main_results_table

    yield from (render_table(main_results_table(results)) for results in report.results)


def results_as_json(report: "Report") -> list[dict[str, Any]]:
    """Return the ranked results as JSON records."""
    from pfbench.reporting import ranking

    return [rank for results in report.results for rank in ranking.as_json(results)]


def _render_report(report: "ReportContents") -> Iterator[RenderableType]:
    """Yield the sentences and tables of a report, for the terminal."""
    from pfbench.reporting.writer import paragraphs

    spec = report.spec
    if spec.introduction or [spec.title] != [part.study.title for part in report.parts]:
        yield section_with_title(spec.title, *paragraphs(spec.introduction))
    for part in report.parts:
        yield from _render_study(part)
    yield section_with_title("Reproducibility", field_table(report.provenance()))
    for environment in report.environments:
        title = f"Environment of {environment.runs} runs"
        yield section_with_title(title, field_table(environment.values.items()))


def _render_study(part: "ReportPart") -> Iterator[RenderableType]:
    from pfbench.reporting.report_contents import interval_probability_sentence
    from pfbench.reporting.writer import paragraphs

    study, sentences = part.study, [f"- {text}" for text in part.all_sentences]
    if failure := interval_probability_sentence(part.results):
        sentences.append(failure)
    yield section_with_title(study.title, *paragraphs(study.introduction), *sentences)
    yield from map(render_table, part.tables)


def render_table(table: "Table") -> RenderableType:
    """Return a report's table for the terminal, with its caption and note."""
    from pfbench.reporting.tables import is_numeric

    columns = zip(table.head[2:], *(row.cells for row in table.rows), strict=True)
    numeric = [name for name, *cells in columns if all(map(is_numeric, cells))]
    parts: list[RenderableType] = []
    for name, rows in table.groups():
        parts += [""] if parts else []
        parts += [Text(escape_hidden(name), style="italic")] if name else []
        parts.append(
            terminal.split_wide_table(table.head[1:], [*map(_row_texts, rows)], right=numeric)
        )
    note = [Text(escape_hidden(table.note), style="dim")] if table.note else []
    return section_with_title(table.caption, *parts, *note)


def _row_texts(row: "TableRow") -> list[str | Text]:
    """Return the cells of a table row as texts, with the best values in bold."""
    from pfbench.reporting.tables import format_cell

    texts = [escape_hidden(format_cell(cell)) for cell in row.cells]
    return [
        row.name,
        *(Text(text, "bold" if k in row.best else "") for k, text in enumerate(texts)),
    ]


# --- differences between two stores ---------------------------------------------------------------


def _show_changes(old_store: Path, new_store: Path, *, as_json: bool) -> None:
    """Print how the runs in two stores differ."""
    from pfbench.reporting.stores import compare_stores
    from pfbench.runs.storage.store import Store

    if old_store.resolve() == new_store.resolve():
        raise InputError(f"--compare names the store {old_store} twice: name two stores.")
    diff = compare_stores(*(Store(folder, make=False) for folder in (old_store, new_store)))
    unreadable = diff.pop("unreadable")
    record = {"stores": [str(old_store), str(new_store)], **diff}
    terminal.show_record(record, "differences between two stores", as_json=as_json)
    if unreadable:
        terminal.print_error(
            f"{format_plural(unreadable, 'file')} damaged: see `pfbench store check`."
        )
