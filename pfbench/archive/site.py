"""The site of a collection: claims by class of problems, errata, and methods by suite."""

import hashlib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import starmap
from pathlib import Path
from typing import Any

from pfbench.archive.collection import CheckedArchive
from pfbench.archive.markup import document, escape_html, table
from pfbench.archive.page import (
    count_faults,
    describe_violation,
    pages,
    script_name,
    tightness,
    unit_check_text,
)
from pfbench.base.files import atomic_write, translate_os_errors
from pfbench.runs.storage.archive import PAGE, SPEC

_STYLE = """
body { max-width: 90rem } p { max-width: 46rem } pre { white-space: pre-wrap }
td, th { min-width: 4rem; padding: .25rem .8rem .25rem 0; border-bottom: 1px solid #ddd }
"""
_CLAIMS = (
    *("class of problems", "claim", "says", "method", "verdict", "share of its bound"),
    *("units", "faults caught", "of", "checked"),
)
_ERRATA = ("erratum", "conclusion", "as printed or read", "corrected", "of", "checked")
_COUNTEREXAMPLES = ("counterexample to", "says", "measured > bound", "script", "of", "checked")
_METHODS = ("method", "rank", "checked")
_SWEEPS = ("sweep", "runs", "checked")
_ABOUT = (
    "A part of each archive was recomputed before it was listed. The share of its bound is the "
    "largest ratio of measured value to bound; a bound with ratio 1 cannot be improved. In each "
    "class of problems the claim with the largest ratio comes first."
)

Row = Sequence[str]


def write_site(checked: Sequence[CheckedArchive], output: Path) -> None:
    """Write the site of checked archives, with a page for each archive.

    Raises
    ------
    StorageError
        If a file of the site cannot be written.
    """
    claims: list[tuple[str, float, Row]] = []
    counterexamples: list[Row] = []
    errata: list[Row] = []
    sweeps: list[Row] = []
    suites: dict[str, list[Row]] = defaultdict(list)
    with translate_os_errors(f"the site {output}"):
        for item in checked:
            manifest, location = item.archive.manifest, item.archive.path.stem
            _write_pages(item, output / location)
            link, how = f"{location}/index.html", escape_html(_describe_check(item.record))
            if manifest["kind"] == "claim":
                claims += _claim_classes_ranks_and_cells(manifest, link, how)
                counterexamples += _counterexample_rows(manifest, link, how)
                errata += _erratum_rows(manifest, link, how)
            elif manifest["kind"] == "comparison":
                digest = hashlib.sha256(item.archive.read(SPEC)).hexdigest()[:12]
                row = (_link(link, manifest["method"]), escape_html(manifest["says"]), how)
                suites[f"Suite {manifest['suite']}, version {digest}"].append(row)
            else:
                sweeps.append((_link(link, manifest["title"]), str(manifest["planned"]), how))
        parts = [
            ("Claims", _CLAIMS, [row for *_, row in sorted(claims, key=lambda item: item[:2])]),
            ("Counterexamples", _COUNTEREXAMPLES, counterexamples),
            ("Reproduced errata", _ERRATA, errata),
            *((title, _METHODS, rows) for title, rows in sorted(suites.items())),
            ("Sweeps", _SWEEPS, sweeps),
        ]
        body = [f"<p>{_ABOUT}</p>", *starmap(table, parts)]
        _write(output, "index.html", document("Leaderboard", body, _STYLE).encode())


def _write_pages(item: CheckedArchive, folder: Path) -> None:
    """Write the page of an archive; unless it is a comparison, its badge and scripts too."""
    archive, manifest = item.archive, item.archive.manifest
    if manifest["kind"] == "comparison":  # to draw it again would import its code
        page_files = {PAGE: archive.read(PAGE)}
    else:
        page_files = pages(manifest)
        for name in page_files.keys() - {PAGE}:
            _write(folder, name, page_files[name])
    text = page_files[PAGE].decode(errors="replace")
    displayed = "<br>".join(map(escape_html, text.splitlines()))
    _write(folder, "index.html", document(manifest["title"], [f"<pre>{displayed}</pre>"]).encode())


def _claim_classes_ranks_and_cells(
    manifest: Mapping[str, Any], link: str, check_description: str
) -> Iterator[tuple[str, float, Row]]:
    """Yield the assumption class, the sort rank and the table cells of each claim."""
    caught, faults = count_faults(manifest)
    for claim, verdict in zip(manifest["claims"], manifest["verdicts"], strict=True):
        kind = ", ".join(claim["assumptions"]) or f"not stated, {claim['method'] or 'no method'}"
        share = tightness(verdict)
        cells = (
            escape_html(kind),
            _link(link, claim["name"]),
            *map(escape_html, (claim["statement"], claim["method"], verdict["verdict"])),
            "" if share is None else f"{share:.3f}",
            escape_html(unit_check_text(claim)),
            f"{caught} of {faults}",
            escape_html(manifest["title"]),
            check_description,
        )
        yield kind, -(share or 0.0), cells


def _counterexample_rows(
    manifest: Mapping[str, Any], link: str, check_description: str
) -> Iterator[Row]:
    """Yield a table row for each counterexample."""
    statements = {claim["name"]: claim["statement"] for claim in manifest["claims"]}
    for record in manifest["counterexamples"]:
        name, location = record["claim"], link.replace("index.html", script_name(record))
        script = _link(location, script_name(record)) if record["script"] else ""
        cells = map(escape_html, (statements[name], describe_violation(record)))
        title = escape_html(manifest["title"])
        yield (_link(link, name), *cells, script, title, check_description)


def _erratum_rows(manifest: Mapping[str, Any], link: str, check_description: str) -> Iterator[Row]:
    """Yield a table row for each erratum that is reproduced."""
    for erratum in manifest["errata"]:
        if erratum["evidence"]["shown"]:
            parts = [erratum[name] for name in ("ruling", "as_printed", "corrected", "claim")]
            yield (_link(link, erratum["erratum"]), *map(escape_html, parts), check_description)


def _link(target: str, text: str) -> str:
    return f'<a href="{escape_html(target)}">{escape_html(text)}</a>'


def _describe_check(record: Mapping[str, Any]) -> str:
    runs, verdicts = record["runs"][0], record["verdicts"][0]
    return (
        f"{runs} runs and {verdicts} verdicts recomputed, {record['new']} runs with new seeds; "
        f"salt {record['salt']}"
    )


def _write(folder: Path, name: str, content: bytes) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with atomic_write(folder / name) as file:
        file.write(content)
