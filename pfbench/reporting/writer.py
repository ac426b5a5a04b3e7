"""Files of a report: a self-contained HTML page, tables and figures."""

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from pfbench.base.errors import InputError, StorageError
from pfbench.base.escaping import escape_hidden
from pfbench.base.files import check_writable
from pfbench.reporting import ordering_text, page_data, report_contents, svg, tables, tuning_effects
from pfbench.reporting.panels import line_style
from pfbench.reporting.paper_table import paper_table
from pfbench.reporting.result_tables import results_csv
from pfbench.reporting.target_profiles import draw_target_profiles
from pfbench.reporting.wording import WORDS, anchor

_TEMPLATES = files("pfbench.reporting") / "templates"

_SCRIPTS = ("elements.js", "panel.js", "workbench.js", "start.js")
"""The page's script, in the order in which each file needs those before it."""


def html_page(report: report_contents.ReportContents) -> str:
    """Return the HTML page of a report as text."""
    from jinja2 import Environment
    from markupsafe import Markup

    environment = Environment(
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        finalize=_escape_strings_for_page,
    )
    environment.filters |= {
        "anchor": anchor,
        "cell": tables.format_cell,
        "meaning": tables.column_meaning,
        "paragraphs": paragraphs,
    }
    modules = ordering_text, report_contents, tables, tuning_effects
    environment.globals |= {module.__name__.rpartition(".")[2]: module for module in modules}
    environment.tests |= {"numeric": tables.is_numeric}
    studies = [(part.results, part.figure) for part in report.parts]
    labels = report.labels_in_colour_order
    data = page_data.figure_data_json(report.spec, studies, labels, report.rates)
    values: dict[str, Any] = vars(report) | {
        "date": report.creation_time_utc,
        "words": WORDS,
        "provenance": report.provenance(),
        "styles": [line_style(number) for number in range(len(labels))],
        # Not escaped: our own files, and base64.
        "css": Markup(_load_asset("report.css")),
        "script": Markup("".join(map(_load_asset, _SCRIPTS))),
        "runs": Markup(page_data.gzip_base64(data)),
    }
    return environment.from_string(_load_asset("report.html.j2")).render(values)


def _escape_strings_for_page(value: Any) -> Any:
    """Return a plain string escaped for the page, and other values unchanged."""
    plain = isinstance(value, str) and not hasattr(value, "__html__")
    return escape_hidden(value, "\n\t") if plain else value


def paragraphs(text: str) -> list[str]:
    """Split a text into paragraphs at empty lines."""
    # Not by split(): it would take narrow spaces, which keep numbers together, for ends of words.
    return [
        " ".join(re.findall(r"[^ \t\r\n]+", part)) for part in text.split("\n\n") if part.strip()
    ]


def _load_asset(name: str) -> str:
    return (_TEMPLATES / name).read_text(encoding="utf-8")


# --- files ----------------------------------------------------------------------------------------

EXTRA = 'pip install "pfbench[report]"'


def check_report_can_be_written(folder: Path) -> None:
    """Raise an error if a package is missing or the folder is not writable.

    Raises
    ------
    InputError
        If jinja2 or matplotlib is not installed.
    StorageError
        If nothing can be written to the folder.
    """
    for package in ("jinja2", "matplotlib"):
        if find_spec(package) is None:
            raise InputError(f"reports need {package}, which is not installed: {EXTRA}.")
    check_writable(
        folder,
        f"the report folder {folder}",
        folder=True,
        remedy="choose another with -o",
        error=StorageError,
    )


def write_contents(everything: report_contents.ReportContents, folder: Path) -> list[Path]:
    """Write the files of a report from its computed contents, and return their paths.

    For a report NAME with a study STUDY, pfbench writes:

    * the page ``NAME.html``, which opens offline;
    * the numbers ``NAME-STUDY.csv``;
    * the table ``NAME-STUDY.tex``, which fits a column of a paper;
    * the curves ``NAME-STUDY`` as SVG and PDF;
    * the shares of targets reached ``NAME-STUDY-targets`` as SVG and PDF.

    The names have no ``-STUDY`` if there is a single study without a key. All files are written
    under temporary names before any is renamed. Equal contents produce equal files.

    Raises
    ------
    StorageError
        If the folder or a file cannot be written; no file is left incomplete.
    """
    return _write_files(folder, _report_files(everything))


def _report_files(everything: report_contents.ReportContents) -> dict[str, bytes]:
    # The page is the longest: once in memory.
    files = {f"{everything.spec.name}.html": html_page(everything).encode("utf-8")}
    for part in everything.parts:
        begin = report_contents.file_stem(everything.spec, part.study)
        displayed = part.displayed_results.study.labels
        table = paper_table(part.comparisons[0], displayed, begin, part.front)
        files[f"{begin}.csv"] = results_csv(part.comparisons).encode("utf-8")
        files[f"{begin}.tex"] = table.encode("utf-8")
        for suffix, drawing in _drawings(part, everything.labels_in_colour_order).items():
            if drawing is not None:
                name = f"{begin}{suffix}"
                files[f"{name}.svg"], files[f"{name}.pdf"] = svg.render(drawing, "svg", "pdf")
    return files


def _drawings(
    part: report_contents.ReportPart, labels: Sequence[str]
) -> dict[str, svg.DeferredDrawing | None]:
    """Return the figures of a study, by the suffix of their file names."""
    compared = [replace(each, results=part.displayed_results) for each in part.comparisons]
    return {
        "": svg.curves_drawing(part.figure, labels),
        "-targets": draw_target_profiles(compared, labels),
    }


def _write_files(folder: Path, written: Mapping[str, bytes]) -> list[Path]:
    """Write files under temporary names, then rename all of them."""
    partial = {name: folder / f".{name}.{os.getpid()}.partial" for name in written}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in written.items():
            with partial[name].open("wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
        for name in written:
            partial[name].replace(folder / name)
    except OSError as error:
        raise StorageError(
            f"the report cannot be written to {folder} ({error.strerror}): free some space, fix "
            "its permissions or choose another folder with -o; runs are safe in the store."
        ) from error
    finally:
        for path in partial.values():
            path.unlink(missing_ok=True)
    return [folder / name for name in written]
