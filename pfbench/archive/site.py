"""Website of a collection of checked archives.

A collection is a folder of archives, each with a file that stores the result of its check. The site
lists claims by class of problems, counterexamples, errata, methods by suite, and sweeps.
"""

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pfbench.archive.page import (
    Row,
    escape_html,
    fill_template,
    make_archive_page_files,
    rows_of_claims,
    rows_of_counterexamples,
    rows_of_reproduced_errata,
)
from pfbench.base.errors import InputError
from pfbench.base.files import as_storage_errors, atomic_write
from pfbench.runs.storage.archive import PAGE, SPEC, Archive
from pfbench.runs.storage.damage import DamagedFileError
from pfbench.runs.storage.serialization import decode_json

_FIELDS = (
    *("sha256", "salt", "same", "runs", "new", "inside", "least_p", "verdicts", "faults", "text"),
)
_ABOUT = (
    "A part of each archive was recomputed before it was listed. The share of its bound is the "
    "largest ratio of measured value to bound; a bound with ratio 1 cannot be improved. In each "
    "class of problems the claim with the largest ratio comes first."
)
_CLAIMS = "Claims"
_COLUMNS = {
    _CLAIMS: (
        *("class of problems", "claim", "says", "method", "verdict", "share of its bound"),
        *("units", "faults caught", "of"),
    ),
    "Counterexamples": ("counterexample to", "says", "measured > bound", "script", "of"),
    "Reproduced errata": ("erratum", "conclusion", "as printed or read", "corrected", "of"),
}
"""Columns of the first tables of the site, by title, besides the last one, on the check."""


@dataclass(frozen=True)
class CheckedArchive:
    """Archive together with the stored result of its check."""

    archive: Archive
    record: Mapping[str, Any]


def list_archives(folder: Path) -> list[Path]:
    """Return the paths of the archives in a folder, sorted by name.

    Raises
    ------
    InputError
        If the folder has no archive.
    """
    paths = sorted(folder.glob("*.zip"))
    if not paths:
        raise InputError(f"{folder} has no archive (*.zip): make one with `pfbench archive make`.")
    return paths


def read_record(path: Path, digest: str) -> Mapping[str, Any] | None:
    """Return the stored result of an archive's check; None if there is none for this digest."""
    try:
        record = decode_json(_record_path(path).read_bytes())
    except (OSError, DamagedFileError):
        return None
    is_complete = isinstance(record, dict) and record.keys() >= set(_FIELDS)
    return record if is_complete and record["sha256"] == digest else None


def write_record(path: Path, record: Mapping[str, Any]) -> None:
    """Write the result of an archive's check to a file next to the archive."""
    text = json.dumps({name: record[name] for name in _FIELDS}, indent=1)
    target = _record_path(path)
    with as_storage_errors(str(target)), atomic_write(target) as file:
        file.write(text.encode() + b"\n")


def _record_path(path: Path) -> Path:
    return path.with_suffix(".check.json")


# --- site -----------------------------------------------------------------------------------------


def write_site(checked: Sequence[CheckedArchive], output: Path) -> None:
    """Write the website of checked archives, with one page for each archive.

    Raises
    ------
    StorageError
        If a file of the site cannot be written.
    """
    tables: dict[str, list[tuple[Row, CheckedArchive]]] = defaultdict(list)
    with as_storage_errors(f"the site {output}"):
        for item in checked:
            _write_pages(item, output / item.archive.path.stem)
            for title, row in _titles_and_rows(item.archive):
                tables[title].append((row, item))
        tables[_CLAIMS].sort(key=lambda pair: _class_and_share(pair[0]))
        order = dict.fromkeys([*_COLUMNS, *sorted(tables.keys() - {"Sweeps"}), "Sweeps"])
        rows = {title: [_html_row(*pair) for pair in tables[title]] for title in order}
        body = [f"<p>{_ABOUT}</p>", *(_html_table(*pair) for pair in rows.items())]
        _write(output, "index.html", _document("Leaderboard", body))


def _class_and_share(row: Row) -> tuple[str, float]:
    return row["class of problems"], -float(row["share of its bound"] or 0.0)


def _titles_and_rows(archive: Archive) -> Iterator[tuple[str, Row]]:
    """Yield the rows of an archive on the site, each with the title of its table."""
    manifest = archive.manifest
    if manifest["kind"] == "claim":
        rows = (
            rows_of_claims(manifest),
            rows_of_counterexamples(manifest),
            rows_of_reproduced_errata(manifest),
        )
        for (title, columns), part in zip(_COLUMNS.items(), rows, strict=True):
            for row in ({"of": manifest["title"]} | row for row in part):
                yield title, {name: row[name] for name in columns}
    elif manifest["kind"] == "comparison":
        digest = hashlib.sha256(archive.read(SPEC)).hexdigest()[:12]
        row = {"method": manifest["method"], "rank": manifest["says"]}
        yield f"Suite {manifest['suite']}, version {digest}", row
    else:
        yield "Sweeps", {"sweep": manifest["title"], "runs": str(manifest["planned"])}


def _html_row(row: Row, item: CheckedArchive) -> Row:
    """Return a row with links to the pages of its archive, and with the result of the check."""
    cells = {name: escape_html(text) for name, text in row.items()}
    linked, folder = "claim" if "claim" in row else next(iter(row)), item.archive.path.stem
    cells[linked] = _link(f"{folder}/index.html", row[linked])
    if script := row.get("script"):
        cells["script"] = _link(f"{folder}/{script}", script)
    return cells | {"checked": _describe_check(item.record)}


def _write_pages(item: CheckedArchive, folder: Path) -> None:
    """Write the page of an archive and, unless it is a comparison, its badge and scripts."""
    archive, manifest = item.archive, item.archive.manifest
    if manifest["kind"] == "comparison":  # to draw it again would import its code
        page_files = {PAGE: archive.read(PAGE)}
    else:
        page_files = make_archive_page_files(manifest)
        for name in page_files.keys() - {PAGE}:
            _write(folder, name, page_files[name])
    text = page_files[PAGE].decode(errors="replace")
    displayed = "<br>".join(map(escape_html, text.splitlines()))
    _write(folder, "index.html", _document(manifest["title"], [f"<pre>{displayed}</pre>"]))


def _describe_check(record: Mapping[str, Any]) -> str:
    runs, verdicts = record["runs"][0], record["verdicts"][0]
    return escape_html(
        f"{runs} runs and {verdicts} verdicts recomputed, {record['new']} runs with new seeds; "
        f"salt {record['salt']}"
    )


def _link(target: str, text: str) -> str:
    return f'<a href="{escape_html(target)}">{escape_html(text)}</a>'


def _html_table(title: str, rows: Sequence[Row]) -> str:
    """Return an HTML table with a title; empty if the table has no rows."""
    if not rows:
        return ""
    lines = [("th", list(rows[0])), *(("td", list(row.values())) for row in rows)]
    cells = ("".join(f"<{kind}>{cell}</{kind}>" for cell in row) for kind, row in lines)
    body = "".join(f"<tr>{line}</tr>" for line in cells)
    return f"<h2>{escape_html(title)}</h2><div><table>{body}</table></div>"


def _document(title: str, body: Sequence[str]) -> bytes:
    """Return an HTML page that has no scripts and loads no external resources."""
    content = "\n".join(filter(None, body))
    return fill_template("site.html", title=escape_html(title), body=content).encode()


def _write(folder: Path, name: str, content: bytes) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with atomic_write(folder / name) as file:
        file.write(content)
