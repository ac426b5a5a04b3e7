"""Website of a collection of checked archives.

A collection is a folder of archives, each with a file that stores the result of its check. The site
lists claims by class of problems, counterexamples and sweeps.
"""

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pfbench.archive.page import Row, fill_template, make_archive_page_files, result_tables
from pfbench.base.errors import InputError
from pfbench.base.escaping import html_text
from pfbench.base.files import as_storage_errors, atomic_write
from pfbench.runs.storage.archive import PAGE, Archive
from pfbench.runs.storage.damage import DamagedFileError
from pfbench.runs.storage.serialization import decode_json

_FIELDS = frozenset({"sha256", "salt", "runs", "new", "verdicts", "off", "unreached"})
"""Fields of a stored result of a check that the site needs."""

_ABOUT = (
    "A part of each archive was recomputed before it was listed. The share of its bound is the "
    "largest ratio of measured value to bound; a bound with ratio 1 cannot be improved. In each "
    "class of problems the claim with the largest ratio comes first."
)


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
    is_complete = isinstance(record, dict) and record.keys() >= _FIELDS
    return record if is_complete and record["sha256"] == digest else None


def write_record(path: Path, record: Mapping[str, Any]) -> None:
    """Write the result of an archive's check to a file next to the archive."""
    target = _record_path(path)
    with as_storage_errors(str(target)), atomic_write(target) as file:
        file.write(json.dumps(record, indent=1).encode() + b"\n")


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
            for title, rows in result_tables(item.archive.manifest).items():
                tables[title] += [(row, item) for row in rows]
        tables["Claims"].sort(key=lambda pair: _class_and_share(pair[0]))
        body = [f"<p>{_ABOUT}</p>"]
        for title, pairs in tables.items():
            body.append(_html_table(title, [_html_row(*pair) for pair in pairs]))
        _write(output, "index.html", _document("Leaderboard", body))


def _class_and_share(row: Row) -> tuple[str, float]:
    return row["class of problems"], -float(row["share of its bound"] or 0.0)


def _html_row(row: Row, item: CheckedArchive) -> Row:
    """Return a row with links to the files of its archive, and with the result of the check."""
    cells, folder = {name: html_text(text) for name, text in row.items()}, item.archive.path.stem
    if script := row.get("script"):
        cells["script"] = _link(f"{folder}/{script}", script)
    archive = _link(f"{folder}/index.html", item.archive.manifest["title"])
    return cells | {"archive": archive, "checked": _describe_check(item.record)}


def _write_pages(item: CheckedArchive, folder: Path) -> None:
    """Write the page, the badge and the scripts of an archive."""
    page_files = make_archive_page_files(item.archive.manifest)
    displayed = "<br>".join(map(html_text, page_files.pop(PAGE).decode().splitlines()))
    title = item.archive.manifest["title"]
    page_files["index.html"] = _document(title, [f"<pre>{displayed}</pre>"])
    for name, content in page_files.items():
        _write(folder, name, content)


def _describe_check(record: Mapping[str, Any]) -> str:
    runs, verdicts = record["runs"][0], record["verdicts"][0]
    return html_text(
        f"{runs} runs and {verdicts} verdicts recomputed, {record['new']} runs with new seeds; "
        f"salt {record['salt']}"
    )


def _link(target: str, text: str) -> str:
    return f'<a href="{html_text(target)}">{html_text(text)}</a>'


def _html_table(title: str, rows: Sequence[Row]) -> str:
    """Return an HTML table with a title; empty if the table has no rows."""
    if not rows:
        return ""
    lines = [("th", list(rows[0])), *(("td", list(row.values())) for row in rows)]
    cells = ("".join(f"<{kind}>{cell}</{kind}>" for cell in row) for kind, row in lines)
    body = "".join(f"<tr>{line}</tr>" for line in cells)
    return f"<h2>{html_text(title)}</h2><div><table>{body}</table></div>"


def _document(title: str, body: Sequence[str]) -> bytes:
    """Return an HTML page that has no scripts and loads no external resources."""
    content = "\n".join(filter(None, body))
    return fill_template("site.html", title=html_text(title), body=content).encode()


def _write(folder: Path, name: str, content: bytes) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with atomic_write(folder / name) as file:
        file.write(content)
