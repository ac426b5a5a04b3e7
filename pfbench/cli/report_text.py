"""A report in the terminal."""

from collections.abc import Iterator
from math import comb
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from pfbench.base.visible import visible
from pfbench.cli.tables import fields, folded, heading
from pfbench.reporting import tables
from pfbench.reporting.documents.contents import Contents, Part, failure_sentence
from pfbench.reporting.documents.page import paragraphs
from pfbench.reporting.findings import ranking
from pfbench.reporting.report import Report

_MOST_PAIRS = 20_000
"""So many pairs of algorithms are tested below a sweep, which takes seconds; a report tests all."""


def results_of(report: Report) -> Iterator[RenderableType]:
    """Yield the table of results of each study; a remark, if there are very many algorithms."""
    if _is_large(report):
        yield heading("results", "very many algorithms: `pfbench report --text` compares them all.")
        return
    for results in report.results:
        yield table_of(ranking.table(results))


def results_as_json(report: Report) -> list[dict[str, Any]] | None:
    """Return the same for programs; None, if there are very many algorithms."""
    if _is_large(report):
        return None
    return [rank for results in report.results for rank in ranking.as_json(results)]


def _is_large(report: Report) -> bool:
    panels = (panel for results in report.results for panel in results.panels)
    return sum(comb(len(panel.groups), 2) for panel in panels) > _MOST_PAIRS


def whole_report(contents: Contents) -> Iterator[RenderableType]:
    """Yield all that a report says in words and tables."""
    spec = contents.spec
    if spec.about or [spec.title] != [part.study.title for part in contents.parts]:
        yield heading(spec.title, *paragraphs(spec.about))
    for part in contents.parts:
        yield from _study(part)
    yield heading("How this was made", fields(contents.provenance()))
    for environment in contents.environments:
        title = f"Environment of {environment.runs} runs"
        yield heading(title, fields(environment.values.items()))


def _study(part: Part) -> Iterator[RenderableType]:
    study, results = part.study, part.results
    said = [f"- {text}" for text in part.said]
    failure = [failure_sentence(results)] if failure_sentence(results) else []
    yield heading(study.title, *paragraphs(study.about), *said, *failure)
    yield from map(table_of, part.tables)


def table_of(table: tables.Table) -> RenderableType:
    """Return a table of a report under its caption, with the note below it."""
    numeric = [
        name
        for name, *cells in zip(table.head[2:], *(row.cells for row in table.rows), strict=True)
        if all(map(tables.is_numeric, cells))
    ]
    parts: list[RenderableType] = []
    for name, rows in table.groups():
        shown = folded(table.head[1:], [*map(_line, rows)], right=numeric)
        above = [Text(visible(name), style="italic")] if name else []
        parts += [*([""] if parts else []), *above, shown]
    note = [Text(visible(table.note), style="dim")] if table.note else []
    return heading(table.caption, *parts, *note)


def _line(row: tables.Row) -> list[str | Text]:
    """Return the texts of a row; the best are bold."""
    style = {True: "bold", False: ""}
    cells = range(len(row.cells))
    return [
        row.name,
        *(Text(visible(tables.plain(row.cells[at])), style[at in row.best]) for at in cells),
    ]
