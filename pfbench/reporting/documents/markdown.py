"""The report as Markdown, to be kept beside its pictures in a repository."""

import math

from pfbench.reporting import tables
from pfbench.reporting.documents.contents import Contents, Part, failure_sentence
from pfbench.reporting.documents.page import paragraphs
from pfbench.reporting.figures.panels import Figure
from pfbench.reporting.findings import orders_in_words, summary
from pfbench.reporting.statistics.curves import Final, band_means, final
from pfbench.reporting.tables import Table, markdown, markdown_text, middle
from pfbench.reporting.words import listed, measure_name
from pfbench.runs.planning.study import Study


def document(contents: Contents) -> str:
    """Return the Markdown document of a report."""
    spec = contents.spec
    blocks = [f"# {markdown_text(spec.title)}"]
    blocks += map(markdown_text, paragraphs(spec.about))
    for part in contents.parts:
        alone = len(contents.parts) == 1 and part.study.title == spec.title
        blocks += _study(part, alone=alone)
    blocks.append("## How this was made")
    blocks.append(_definitions(contents.provenance()))
    for environment in contents.environments:
        blocks.append(f"Environment of {environment.runs} runs:")
        blocks.append(_definitions(list(environment.values.items())))
    said = (
        f"The page {spec.name}.html, which the same command writes, has the figures against every "
        "count and the seconds, and the command behind every run."
    )
    if not spec.text:
        return "\n\n".join([*blocks, said]) + "\n"
    blocks.append(f"{said} The specification:")
    fence = "```"
    while fence in spec.text:
        fence += "`"
    blocks.append(f"{fence}toml\n{spec.text.strip()}\n{fence}")
    return "\n\n".join(blocks) + "\n"


def _study(part: Part, *, alone: bool) -> list[str]:
    """Return the blocks of a study; the title of the report is enough for one that has it alone."""
    results, study, front = part.results, part.study, part.front
    blocks = [] if alone else [f"## {markdown_text(study.title)}"]
    blocks += map(markdown_text, paragraphs(study.about))
    blocks.append("\n".join(f"- {markdown_text(text)}" for text in part.said))
    shown = " ".join(_description(part.figure, measure, 0) for measure in study.measures)
    blocks.append(f"![{markdown_text(shown.translate(_IN_ALT))}]({part.picture})")
    told = f"{band_means(len(study.seeds))}{part.left_out}{part.start}{part.certified}"
    caption = f"{told} {failure_sentence(results)}".strip()
    blocks.append(f"*{markdown_text(caption)}*")
    if front is not None:
        blocks.insert(0, markdown_text(front.sentence))
        for one in [front.table, *([part.chosen] if part.chosen else [])]:
            blocks += [f"### {markdown_text(_short(one, study))}", markdown(one)]
            blocks += [markdown_text(one.note)] if one.note else []
        return [*blocks, "All other numbers are in the CSV files beside this one."]
    for table in (
        orders_in_words.table(study, part.tested),
        *part.results_tables,
        *part.tuning_tables,
        part.medians,
        summary.ratio_table(results),
        tables.counts(results),
    ):
        if table is not None:
            blocks += [f"### {markdown_text(_short(table, study))}", markdown(table)]
            blocks += [markdown_text(table.note)] if table.note else []
    early = tables.ended_early(results)
    if early is not None:
        blocks += [f"### {markdown_text(_short(early, study))}", markdown(early)]
    return blocks


_IN_ALT = str.maketrans("[]", "()")
"""Brackets would end the text in place of a picture."""


def _description(drawn: Figure, measure: str, at: int) -> str:
    """Return what a panel shows, for those who cannot see it."""
    panel = drawn.results.panels[at]
    ends = [
        f"{group.label} ends at {_spoken(final(group.runs, measure))}" for group in panel.groups
    ]
    return f"{measure_name(measure)} at {panel.title}: {listed(ends)}."


def _spoken(value: Final) -> str:
    return "no value" if math.isnan(value.median) else middle(value)


def _short(table: Table, study: Study) -> str:
    """Return the caption of a table below the heading of its study."""
    caption = table.caption.removeprefix(f"{study.title}: ")
    return caption[0].upper() + caption[1:]


def _definitions(items: list[tuple[str, str]]) -> str:
    return "\n".join(
        f"- {name}: `{value}`" if name == "command" else f"- {name}: {markdown_text(value)}"
        for name, value in items
    )
