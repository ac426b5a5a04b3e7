"""A report on the disk: every file is written beside its final name first, then renamed."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path

from pfbench.base.errors import InputError, StorageError
from pfbench.base.files import check_writable
from pfbench.reporting import tables
from pfbench.reporting.documents.bibtex import report_bibtex
from pfbench.reporting.documents.macros import latex_macros
from pfbench.reporting.documents.markdown import markdown_document
from pfbench.reporting.documents.page import html_page
from pfbench.reporting.documents.paper import PaperMaterial
from pfbench.reporting.documents.report_contents import (
    ReportContents,
    ReportPart,
    file_stem,
    make_contents,
)
from pfbench.reporting.figures import svg
from pfbench.reporting.figures.profile import draw_profile
from pfbench.reporting.figures.target_profiles import (
    draw_target_profiles,
    reference_profiles_drawing,
)
from pfbench.reporting.findings.candidate_front import CandidateFront
from pfbench.reporting.findings.result_tables import results_csv
from pfbench.reporting.findings.tuning_effects import tuning_csv
from pfbench.reporting.latex import latex_table
from pfbench.reporting.report import Report

EXTRA = 'pip install "pfbench[report]"'


def prepare_folder(folder: Path) -> None:
    """Refuse what would stop `write_report`, before minutes of runs; nothing is left behind.

    Raises
    ------
    InputError
        If jinja2, matplotlib or plotly is not installed.
    StorageError
        If nothing can be written to the folder.
    """
    for package in ("jinja2", "matplotlib", "plotly"):
        if find_spec(package) is None:
            raise InputError(f"reports need {package}, which is not installed: {EXTRA}.")
    check_writable(
        folder,
        f"the report folder {folder}",
        folder=True,
        remedy="choose another with -o",
        error=StorageError,
    )


def write_report(
    report: Report,
    folder: Path,
    *,
    command: str,
    commit: str | None,
    created: datetime | None = None,
) -> list[Path]:
    """Write a comparison report.

    For a report NAME with a study STUDY these are ``NAME.html`` (one page, opens offline);
    ``NAME.md`` with ``NAME-STUDY.svg`` for publication; and for papers the curves
    (``NAME-STUDY``), the targets reached (``NAME-STUDY-targets``), and the profile if a reference
    is stated (``NAME-STUDY-profile``), each as SVG and PDF in the width of a page and of a column
    (``-column``); the tables ``NAME-STUDY-results`` and ``NAME-STUDY-counts`` as LaTeX, Markdown
    and CSV; ``NAME-macros.tex`` with every number by a name; and ``NAME.bib``. It is without
    ``-STUDY`` where a study is the only one and has no key. Of a report on one method (`mine`)
    these are, for papers, ``NAME-compare.tex``, a table of it and the strongest of its class;
    ``NAME-compare`` as SVG and PDF, its profile in the width of a column; ``NAME-figure.tex``,
    which shows it with its caption; and ``NAME-macros.tex`` with the numbers of the table; all else
    is CSV. No file is put in its place before all are written. The same runs give the same bytes,
    up to the last three arguments.

    Parameters
    ----------
    report
        The runs, e.g. from `pfbench.reporting.collect_report`.
    folder
        Where to write; it is made if need be.
    command
        The command that makes the report, as the page shows it.
    commit
        The commit of pfbench, or None if it is not known.
    created
        Time of the report; now if not given.

    Returns
    -------
    list of Path
        The files, the page first.

    Raises
    ------
    InputError
        If jinja2, matplotlib or plotly is not installed.
    StorageError
        If the folder or a file cannot be written; nothing is half-written.
    """
    prepare_folder(folder)
    created = (created or datetime.now(UTC)).astimezone(UTC)
    return write_contents(make_contents(report, command, commit, created), folder)


def write_contents(everything: ReportContents, folder: Path) -> list[Path]:
    """Write a report of which the contents are known already; as `write_report`."""
    return _write_files(folder, _report_files(everything))


def _report_files(everything: ReportContents) -> dict[str, bytes]:
    name = everything.spec.name
    complete = {
        f"{name}.html": html_page(everything).encode("utf-8")
    }  # the longest: once in memory
    texts = {f"{name}.md": markdown_document(everything)}
    pictures: dict[str, bytes] = {}
    for part in everything.parts:
        begin = file_stem(everything.spec, part.study)
        if part.front is not None:
            texts |= _csv_files(begin, part) | _paper_files(begin, part.front)
            pictures |= _candidate_figure_files(begin, part, part.front, everything.labels)
            continue
        pictures |= _figure_files(begin, part, everything.labels)
        texts |= _table_files(begin, part)
    if any(part.front is None for part in everything.parts):
        texts[f"{name}-macros.tex"] = latex_macros(part.comparisons for part in everything.parts)
    texts[f"{name}.bib"] = report_bibtex(everything.spec)
    return complete | {file: text.encode("utf-8") for file, text in texts.items()} | pictures


def _figure_files(begin: str, part: ReportPart, labels: Sequence[str]) -> dict[str, bytes]:
    """Return the figures of a study as SVG and PDF, by the names of their files."""
    pictures, compared = (
        {},
        [replace(comparison, results=part.displayed_results) for comparison in part.comparisons],
    )
    for suffix, width in {"": svg.PAGE, "-column": svg.COLUMN}.items():
        drawings = {
            begin: svg.curves_drawing(part.figure, labels, width),
            f"{begin}-targets": draw_target_profiles(compared, labels, width),
            f"{begin}-profile": reference_profiles_drawing(compared, labels, width),
        }
        for name, drawing in drawings.items():
            if drawing is None:
                continue
            pictures[f"{name}{suffix}.svg"], pictures[f"{name}{suffix}.pdf"] = (
                svg.render_svg_and_pdf(drawing)
            )
    return pictures


def _paper_files(begin: str, front: CandidateFront) -> dict[str, str]:
    """Return what goes into a paper of one method, by the names of the files."""
    paper = PaperMaterial(front, begin)
    return {
        f"{begin}-compare.tex": paper.table(),
        f"{begin}-figure.tex": paper.figure(),
        f"{begin}-macros.tex": paper.macros(),
    }


def _candidate_figure_files(
    begin: str, part: ReportPart, front: CandidateFront, labels: Sequence[str]
) -> dict[str, bytes]:
    """Return the curves of the few that are shown, and the profile, by the names of their files."""
    profile = svg.render_svg_and_pdf(draw_profile(front))
    return {
        f"{begin}.svg": svg.render_svg(svg.curves_drawing(part.figure, labels, svg.PAGE)),
        f"{begin}-compare.svg": profile[0],
        f"{begin}-compare.pdf": profile[1],
    }


def _csv_files(begin: str, part: ReportPart) -> dict[str, str]:
    """Return the numbers of a study, by the names of their files."""
    return {
        f"{begin}-results.csv": results_csv(part.comparisons),
        f"{begin}-counts.csv": tables.count_csv(part.results),
        **({f"{begin}-tuning.csv": tuning_csv(part.study)} if part.study.choices else {}),
    }


def _table_files(begin: str, part: ReportPart) -> dict[str, str]:
    """Return the tables of a study in each format, by the names of their files."""
    displayed = {"results": part.results_tables, "counts": [tables.count_table(part.results)]}
    csv = _csv_files(begin, part)
    for name, group in displayed.items():
        csv[f"{begin}-{name}.tex"] = "\n".join(map(latex_table, group))
        csv[f"{begin}-{name}.md"] = "\n\n".join(map(tables.markdown_section, group)) + "\n"
    return csv


def _write_files(folder: Path, written: Mapping[str, bytes]) -> list[Path]:
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
            f"the report cannot be written to {folder} ({error.strerror}): free some space, mend "
            "its permissions or choose another folder with -o; runs are safe in the store."
        ) from error
    finally:
        for path in partial.values():
            path.unlink(missing_ok=True)
    return [folder / name for name in written]
