"""Write reports as Markdown with their pictures, as `reports/` keeps them in this repository.

Usage, from the root of a checkout::

    python tools/published_report.py FOLDER [NAME or SPEC.toml ...]
"""

import math
import sys
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

from pfbench.base.escaping import escape_hidden
from pfbench.cli.catalogue import MAIN_REPORT
from pfbench.cli.options import default_store_folder, make_engine
from pfbench.cli.report_sources import checkout_commit, make_reports
from pfbench.reporting import ordering_text, tables
from pfbench.reporting.panels import FigureData
from pfbench.reporting.report_contents import (
    ReportContents,
    ReportPart,
    interval_probability_sentence,
    make_contents,
)
from pfbench.reporting.seed_curves import FinalSummary, band_legend
from pfbench.reporting.svg import curves_drawing, render
from pfbench.reporting.tables import Table
from pfbench.reporting.tuning_effects import choice_table
from pfbench.reporting.wording import join_items, measure_label
from pfbench.reporting.writer import paragraphs
from pfbench.runs.planning.study import Study


def markdown_document(report: ReportContents) -> str:
    """Return the Markdown document of a report."""
    spec = report.spec
    blocks = [f"# {markdown_text(spec.title)}"]
    blocks += map(markdown_text, paragraphs(spec.introduction))
    for part in report.parts:
        alone = len(report.parts) == 1 and part.study.title == spec.title
        blocks += _study_blocks(part, alone=alone)
    blocks.append("## How this was made")
    blocks.append(_definition_list(report.provenance()))
    for environment in report.environments:
        blocks.append(f"Environment of {environment.runs} runs:")
        blocks.append(_definition_list(list(environment.values.items())))
    statement = (
        f"The page {spec.name}.html, which the command writes, has the figures against every count "
        "and the seconds, and the command behind every run."
    )
    if not spec.text:
        return "\n\n".join([*blocks, statement]) + "\n"
    blocks.append(f"{statement} The specification:")
    fence = "```"
    while fence in spec.text:
        fence += "`"
    blocks.append(f"{fence}toml\n{spec.text.strip()}\n{fence}")
    return "\n\n".join(blocks) + "\n"


def _study_blocks(part: ReportPart, *, alone: bool) -> list[str]:
    """Return the blocks of a study; a study that is `alone` has no heading of its own."""
    results, study = part.results, part.study
    blocks = [] if alone else [f"## {markdown_text(study.title)}"]
    blocks += map(markdown_text, paragraphs(study.introduction))
    blocks.append("\n".join(f"- {markdown_text(text)}" for text in part.all_sentences))
    displayed = " ".join(_describe_panel(part.figure, measure, 0) for measure in study.measures)
    blocks.append(f"![{markdown_text(displayed.translate(_IN_ALT))}]({part.picture})")
    few, many = len(part.displayed_results.study.labels), len(study.labels)
    omission = f" Shown are the foremost {few} of {many} algorithms." if few < many else ""
    lines = (line for lines in part.figure.lines.values() for line in lines)
    is_cut = part.figure.log and any((line.band.x <= 0.0).any() for line in lines)
    start = " The start, at 0, has no place on the logarithmic axis." if is_cut else ""
    message = (
        f"{band_legend(len(study.seeds))}{omission}{start}{part.interval_certificate_sentence}"
    )
    caption = f"{message} {interval_probability_sentence(results)}".strip()
    blocks.append(f"*{markdown_text(caption)}*")
    for table in (
        ordering_text.order_verdict_table(study, part.ordering_results),
        *part.results_tables,
        choice_table(study),
        tables.exact_counts_table(results),
    ):
        if table is not None:
            blocks += [
                f"### {markdown_text(_abbreviate_caption(table, study))}",
                markdown_table(table),
            ]
            blocks += [markdown_text(table.note)] if table.note else []
    early = tables.early_endings_table(results)
    if early is not None:
        blocks += [f"### {markdown_text(_abbreviate_caption(early, study))}", markdown_table(early)]
    return blocks


def markdown_table(table: Table) -> str:
    """Return a table as GitHub-flavoured Markdown, without caption and note."""
    unnamed = 0 if any(row.group for row in table.rows) else 1
    first = table.rows[0].cells if table.rows else ()
    numeric = [False, False, *map(tables.is_numeric, first)]
    lines = [[*map(markdown_text, table.head)], ["--:" if item else "---" for item in numeric]]
    for _, row, cells in table.lines():
        texts = [markdown_text(text) for text in cells]
        for index in row.best:
            texts[2 + index] = f"**{texts[2 + index]}**"
        lines.append(texts)
    return "\n".join(f"| {' | '.join(line[unnamed:])} |" for line in lines)


def markdown_text(text: str) -> str:
    """Return text escaped for Markdown."""
    return escape_hidden(text, "\n").translate(_MARKDOWN)


_MARKDOWN = str.maketrans(
    {**{special: f"\\{special}" for special in "\\`*_|$"}, "<": "&lt;", "\n": " "}
)
"""Escapes of the characters that Markdown would read."""


_IN_ALT = str.maketrans("[]", "()")
"""Replacement of brackets, which would end the alternative text of a picture."""


def _describe_panel(figure: FigureData, measure: str, index: int) -> str:
    """Describe what a panel shows, for readers who cannot see it."""
    panel = figure.results.panels[index]
    ends = [
        f"{group.label} ends at {_format_final(group.traces.final_summary(measure))}"
        for group in panel.groups
    ]
    return f"{measure_label(measure)} at {panel.title}: {join_items(ends)}."


def _format_final(value: FinalSummary) -> str:
    return "no value" if math.isnan(value.median) else value.median_text


def _abbreviate_caption(table: Table, study: Study) -> str:
    """Return the caption of a table without the title of its study, which is in the heading."""
    caption = table.caption.removeprefix(f"{study.title}: ")
    return caption[0].upper() + caption[1:]


def _definition_list(items: list[tuple[str, str]]) -> str:
    return "\n".join(
        f"- {name}: `{value}`" if name == "command" else f"- {name}: {markdown_text(value)}"
        for name, value in items
    )


def main(folder: str, *names: str) -> None:
    """Write the reports of some specs to a folder."""
    with closing(make_engine(None, None)) as engine:
        reports, _ = make_reports(names or [MAIN_REPORT], default_store_folder(), engine)
    for report in reports:
        name, created = report.spec.name, datetime.now(UTC)
        contents = make_contents(report, f"pfbench report {name}", checkout_commit(), created)
        Path(folder, f"{name}.md").write_text(markdown_document(contents), encoding="utf-8")
        for part in contents.parts:
            drawing = curves_drawing(part.figure, contents.labels_in_colour_order)
            Path(folder, part.picture).write_bytes(*render(drawing, "svg"))


if __name__ == "__main__":
    main(*sys.argv[1:])
