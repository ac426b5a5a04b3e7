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
    count_caught_and_catchable_faults,
    describe_violation,
    escape_html,
    pages,
    script_name,
    tightness,
    unit_check_text,
)
from pfbench.base.errors import InputError
from pfbench.base.files import atomic_write, translate_os_errors
from pfbench.runs.storage.archive import PAGE, SPEC, Archive
from pfbench.runs.storage.damage import DamagedFileError
from pfbench.runs.storage.serialization import decode_json

_FIELDS = (
    *("sha256", "salt", "same", "runs", "new", "inside", "least_p", "verdicts", "faults", "text"),
)
_STYLE = """
body { font: 13px/1.35 system-ui, sans-serif; max-width: 90rem; margin: 1rem auto; padding: 0 1rem }
h1 { font-size: 1.2rem; margin: 0 0 .4rem } h2 { font-size: .85rem; margin: .7rem 0 .1rem }
table { border-collapse: collapse } td, th { text-align: left; vertical-align: top; min-width: 4rem;
padding: .25rem .8rem .25rem 0; border-bottom: 1px solid #ddd } th { font-weight: 600; color: #555 }
div { overflow-x: auto } p { margin: .3rem 0; max-width: 46rem; overflow-wrap: anywhere }
pre { white-space: pre-wrap }
"""
_ABOUT = (
    "A part of each archive was recomputed before it was listed. The share of its bound is the "
    "largest ratio of measured value to bound; a bound with ratio 1 cannot be improved. In each "
    "class of problems the claim with the largest ratio comes first."
)
_CLAIMS, _COUNTEREXAMPLES, _ERRATA = "Claims", "Counterexamples", "Reproduced errata"

Row = dict[str, str]
"""Cells of a table of the site as HTML, by column."""


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
        raise InputError(
            f"{folder} has no archive (*.zip): create one with `pfbench archive make`."
        )
    return paths


def read_record(path: Path, digest: str) -> Mapping[str, Any] | None:
    """Return the stored result of an archive's check; None unless it is for this digest."""
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
    with translate_os_errors(str(target)), atomic_write(target) as file:
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
    tables: dict[str, list[Row]] = defaultdict(list)
    ranked: list[tuple[str, float, Row]] = []
    with translate_os_errors(f"the site {output}"):
        for item in checked:
            manifest, location = item.archive.manifest, item.archive.path.stem
            _write_pages(item, output / location)
            link, check = f"{location}/index.html", {"checked": _describe_check(item.record)}
            if manifest["kind"] == "claim":
                ranked += _claim_classes_ranks_and_rows(manifest, link, check)
                tables[_COUNTEREXAMPLES] += _counterexample_rows(manifest, link, check)
                tables[_ERRATA] += _erratum_rows(manifest, link, check)
            elif manifest["kind"] == "comparison":
                digest = hashlib.sha256(item.archive.read(SPEC)).hexdigest()[:12]
                row = {"method": _link(link, manifest["method"])}
                row["rank"] = escape_html(manifest["says"])
                tables[f"Suite {manifest['suite']}, version {digest}"].append(row | check)
            else:
                row = {"sweep": _link(link, manifest["title"]), "runs": str(manifest["planned"])}
                tables["Sweeps"].append(row | check)
        tables[_CLAIMS] = [row for *_, row in sorted(ranked, key=lambda item: item[:2])]
        first = dict.fromkeys((_CLAIMS, _COUNTEREXAMPLES, _ERRATA))
        order = dict.fromkeys([*first, *sorted(tables.keys() - {"Sweeps"}), "Sweeps"])
        body = [f"<p>{_ABOUT}</p>", *(_table(title, tables[title]) for title in order)]
        _write(output, "index.html", _document("Leaderboard", body))


def _write_pages(item: CheckedArchive, folder: Path) -> None:
    """Write the page of an archive and, unless it is a comparison, its badge and scripts."""
    archive, manifest = item.archive, item.archive.manifest
    if manifest["kind"] == "comparison":  # to draw it again would import its code
        page_files = {PAGE: archive.read(PAGE)}
    else:
        page_files = pages(manifest)
        for name in page_files.keys() - {PAGE}:
            _write(folder, name, page_files[name])
    text = page_files[PAGE].decode(errors="replace")
    displayed = "<br>".join(map(escape_html, text.splitlines()))
    _write(folder, "index.html", _document(manifest["title"], [f"<pre>{displayed}</pre>"]))


def _claim_classes_ranks_and_rows(
    manifest: Mapping[str, Any], link: str, check: Row
) -> Iterator[tuple[str, float, Row]]:
    """Yield the class of problems, the sort key and the table row of each claim."""
    caught, faults = count_caught_and_catchable_faults(manifest)
    for claim, verdict in zip(manifest["claims"], manifest["verdicts"], strict=True):
        kind = ", ".join(claim["assumptions"]) or f"not stated, {claim['method'] or 'no method'}"
        share = tightness(verdict)
        row = {
            "class of problems": escape_html(kind),
            "claim": _link(link, claim["name"]),
            "says": escape_html(claim["statement"]),
            "method": escape_html(claim["method"]),
            "verdict": escape_html(verdict["verdict"]),
            "share of its bound": "" if share is None else f"{share:.3f}",
            "units": escape_html(unit_check_text(claim)),
            "faults caught": f"{caught} of {faults}",
            "of": escape_html(manifest["title"]),
        }
        yield kind, -(share or 0.0), row | check


def _counterexample_rows(manifest: Mapping[str, Any], link: str, check: Row) -> Iterator[Row]:
    """Yield a table row for each counterexample."""
    statements = {claim["name"]: claim["statement"] for claim in manifest["claims"]}
    for record in manifest["counterexamples"]:
        script = script_name(record)
        location = link.replace("index.html", script)
        yield {
            "counterexample to": _link(link, record["claim"]),
            "says": escape_html(statements[record["claim"]]),
            "measured > bound": escape_html(describe_violation(record)),
            "script": _link(location, script) if record["script"] else "",
            "of": escape_html(manifest["title"]),
        } | check


def _erratum_rows(manifest: Mapping[str, Any], link: str, check: Row) -> Iterator[Row]:
    """Yield a table row for each erratum that was reproduced."""
    for erratum in manifest["errata"]:
        if erratum["evidence"]["shown"]:
            yield {
                "erratum": _link(link, erratum["erratum"]),
                "conclusion": escape_html(erratum["ruling"]),
                "as printed or read": escape_html(erratum["as_printed"]),
                "corrected": escape_html(erratum["corrected"]),
                "of": escape_html(erratum["claim"]),
            } | check


def _describe_check(record: Mapping[str, Any]) -> str:
    runs, verdicts = record["runs"][0], record["verdicts"][0]
    return escape_html(
        f"{runs} runs and {verdicts} verdicts recomputed, {record['new']} runs with new seeds; "
        f"salt {record['salt']}"
    )


def _link(target: str, text: str) -> str:
    return f'<a href="{escape_html(target)}">{escape_html(text)}</a>'


def _table(title: str, rows: Sequence[Row]) -> str:
    """Return an HTML table with a title; empty if the table has no rows."""
    if not rows:
        return ""
    lines = [("th", list(rows[0])), *(("td", list(row.values())) for row in rows)]
    cells = ("".join(f"<{kind}>{cell}</{kind}>" for cell in row) for kind, row in lines)
    body = "".join(f"<tr>{line}</tr>" for line in cells)
    return f"<h2>{escape_html(title)}</h2><div><table>{body}</table></div>"


def _document(title: str, body: Sequence[str]) -> bytes:
    """Return an HTML page that has no scripts and loads no external resources."""
    head = (
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">',
        '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; '
        "style-src 'unsafe-inline'\">",
        '<meta name="viewport" content="width=device-width">',
        f"<title>{escape_html(title)}</title><style>{_STYLE}</style></head><body>",
        f"<h1>{escape_html(title)}</h1>",
    )
    return "\n".join([*head, *filter(None, body), "</body></html>\n"]).encode()


def _write(folder: Path, name: str, content: bytes) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with atomic_write(folder / name) as file:
        file.write(content)
