"""The page: one HTML file that holds everything it needs."""

import re
from importlib.resources import files
from typing import Any

from pfbench.base.escaping import escape_text
from pfbench.reporting import tables
from pfbench.reporting.documents.report_contents import ReportContents
from pfbench.reporting.figures import page_data
from pfbench.reporting.figures.profile import page_profile
from pfbench.reporting.figures.style import line_style
from pfbench.reporting.findings.claimed_rates import claims_table
from pfbench.reporting.statistics.seed_curves import FinalSummary
from pfbench.reporting.wording import WORDS, anchor, measure_label

_TEMPLATES = files("pfbench.reporting.documents") / "templates"

_SCRIPTS = ("elements.js", "panel.js", "workbench.js", "start.js")
"""The page's script, in the order in which each file needs those before it."""


def html_page(report: ReportContents) -> str:
    """Return the HTML page of a report."""
    from jinja2 import Environment
    from markupsafe import Markup

    environment = Environment(
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        finalize=_escape_plain_text,
    )
    environment.filters |= {
        "anchor": anchor,
        "extent": tables.format_extent,
        "meaning": tables.column_meaning,
        "measure_name": measure_label,
        "middle": tables.format_median,
        "paragraphs": paragraphs,
        "plain": tables.format_cell,
        "profile": page_profile,
        "survivors": tables.format_survivors,
    }
    environment.globals |= {"claims_table": claims_table}
    environment.tests |= {
        "command": lambda cell: isinstance(cell, tables.ShellCommand),
        "final": lambda cell: isinstance(cell, FinalSummary),
        "numeric": tables.is_numeric,
    }
    studies = [(part.results, part.figure) for part in report.parts]
    rates = report.theory.rates
    # Of very many runs this text is long, and so is what it is made of: neither is kept beside it.
    runs = Markup(
        page_data.gzip_base64(
            page_data.figure_data_json(report.spec, studies, report.labels_in_colour_order, rates)
        )
    )
    values: dict[str, Any] = vars(report) | {
        "date": report.date,
        "words": WORDS,
        "provenance": report.provenance(),
        "styles": [line_style(number) for number in range(len(report.labels_in_colour_order))],
        # Not escaped: our own files, and base64.
        "css": Markup(_load_asset("report.css")),
        "script": Markup("".join(map(_load_asset, _SCRIPTS))),
        "runs": runs,
    }
    return environment.from_string(_load_asset("report.html.j2")).render(values)


def _escape_plain_text(value: Any) -> Any:
    """Escape a plain string for the page; return markup and other values unchanged."""
    plain = isinstance(value, str) and not hasattr(value, "__html__")
    return escape_text(value, "\n\t") if plain else value


def paragraphs(text: str) -> list[str]:
    """Split a text at empty lines into paragraphs."""
    # Not by split(): it would take narrow spaces, which keep numbers together, for ends of words.
    return [
        " ".join(re.findall(r"[^ \t\r\n]+", part)) for part in text.split("\n\n") if part.strip()
    ]


def _load_asset(name: str) -> str:
    return (_TEMPLATES / name).read_text(encoding="utf-8")
