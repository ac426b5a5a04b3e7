"""Reports as text for the terminal."""

from collections.abc import Iterator
from math import comb
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from pfbench.base.escaping import escape_text
from pfbench.cli.terminal_tables import field_table, fold_table, section_with_title
from pfbench.reporting import ranking, tables
from pfbench.reporting.report import Report
from pfbench.reporting.report_contents import ReportContents, ReportPart, interval_failure_sentence
from pfbench.reporting.writer import paragraphs

_MOST_PAIRS = 20_000
"""Maximum number of pairs of algorithms that are tested after a sweep; a report tests all."""


def result_tables(report: Report) -> Iterator[RenderableType]:
    """Yield the table of results of each study, or a remark for very many algorithms."""
    if _is_large(report):
        yield section_with_title(
            "results", "too many algorithms to compare here: use `pfbench report --text`."
        )
        return
    for results in report.results:
        yield render_table(ranking.table(results))


def results_as_json_unless_large(report: Report) -> list[dict[str, Any]] | None:
    """Return the results as JSON; None for very many algorithms."""
    if _is_large(report):
        return None
    return [rank for results in report.results for rank in ranking.as_json(results)]


def _is_large(report: Report) -> bool:
    panels = (panel for results in report.results for panel in results.panels)
    return sum(comb(len(panel.groups), 2) for panel in panels) > _MOST_PAIRS


def render_report(report: ReportContents) -> Iterator[RenderableType]:
    """Yield the texts and tables of a report."""
    spec = report.spec
    if spec.introduction or [spec.title] != [part.study.title for part in report.parts]:
        yield section_with_title(spec.title, *paragraphs(spec.introduction))
    for part in report.parts:
        yield from _render_study(part)
    yield section_with_title("Reproducibility", field_table(report.provenance()))
    for environment in report.environments:
        title = f"Environment of {environment.runs} runs"
        yield section_with_title(title, field_table(environment.values.items()))


def _render_study(part: ReportPart) -> Iterator[RenderableType]:
    study, results = part.study, part.results
    statement = [f"- {text}" for text in part.all_sentences]
    failure = [interval_failure_sentence(results)] if interval_failure_sentence(results) else []
    yield section_with_title(study.title, *paragraphs(study.introduction), *statement, *failure)
    yield from map(render_table, part.tables)


def render_table(table: tables.Table) -> RenderableType:
    """Return a table of a report with its caption and note."""
    numeric = [
        name
        for name, *cells in zip(table.head[2:], *(row.cells for row in table.rows), strict=True)
        if all(map(tables.is_numeric, cells))
    ]
    parts: list[RenderableType] = []
    for name, rows in table.groups():
        displayed = fold_table(table.head[1:], [*map(_row_texts, rows)], right=numeric)
        above = [Text(escape_text(name), style="italic")] if name else []
        parts += [*([""] if parts else []), *above, displayed]
    note = [Text(escape_text(table.note), style="dim")] if table.note else []
    return section_with_title(table.caption, *parts, *note)


def _row_texts(row: tables.TableRow) -> list[str | Text]:
    """Return the texts of a row's cells; the best values are bold."""
    style = {True: "bold", False: ""}
    cells = range(len(row.cells))
    return [
        row.name,
        *(
            Text(escape_text(tables.format_cell(row.cells[cell])), style[cell in row.best])
            for cell in cells
        ),
    ]
