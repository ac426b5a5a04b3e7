"""The site of a record: a board of theorems by class of problems, and methods by suite."""

import hashlib
import html
import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import starmap
from pathlib import Path
from typing import Any

from pfbench.base.files import atomic_write, translate_os_errors
from pfbench.base.verdicts import Verdict
from pfbench.receipts.comparison_receipt import COMPARISON
from pfbench.receipts.markup import document, escape_html, table
from pfbench.receipts.receipt_page import means, render_pages, share, summary, units
from pfbench.receipts.receipt_runs import decode_runs
from pfbench.receipts.record import CHECK, FILE, LINK, Record
from pfbench.receipts.theorem_receipt import BADGE, MARKDOWN, PAGE, RECEIPT, RUNS
from pfbench.runs.storage.archive import SPEC, Archive, open_archive

UPPER, LOWER = frozenset({"bound", "rate", "computed"}), frozenset({"certificate"})
"""Kinds of claims that say how good a method is, and how good none can be."""

TEXT = "receipt.txt"
"""The page of a comparison in the site."""

_STYLE = """
body { max-width: 90rem } p { max-width: 46rem }
td, th { min-width: 4rem; padding: .25rem .8rem .25rem 0; border-bottom: 1px solid #ddd }
:is(td, th):first-child { position: sticky; left: 0; background: #fff }
"""
_WORST = ("worst by runs", "by semidefinite program", "by a resisting oracle")
_BY_CLASS = ("class of problems", "upper bound", "lower bound", *_WORST, "formal proof")
_CLAIMS = (
    *("theorem", "says", "about", "verdict", *_WORST),
    *("units", "faults found", "formal proof", "checked"),
)
_ERRATA = ("erratum", "ruling", "as printed or read", "as it stands", "of", "checked")
_METHODS = ("method", "where it stands", "checked")
_ABOUT = (
    "Each claim is of a receipt that was made again before it was taken in. The worst is the share "
    "of its bound that was reached: in the mean of runs on the instance that binds, and by a "
    "semidefinite program over the whole class, for few steps; of a lower bound it is its share of "
    "what a resisting oracle, or its instance, forced upon the method. 1 cannot be improved. Of a "
    "class the bound stands first that came nearest to it; a link to a formal proof is its "
    "author's word."
)


@dataclass(frozen=True)
class BoardRow:
    """A claim on the board; texts are not yet safe, but for links.

    Attributes
    ----------
    claim, verdict, receipt_path
        As the receipt has them, and its folder.
    share_by_runs, share_by_program, share_by_adversary
        The largest share of its bound; None where there is none.
    proof, check_result, faults
        A link, and words.
    """

    claim: Mapping[str, Any]
    verdict: str
    receipt_path: str
    share_by_runs: float | None
    share_by_program: float | None
    share_by_adversary: float | None
    proof: str
    check_result: str
    faults: str

    @property
    def problem_class(self) -> str:
        """The class of problems that it is about; where that is not stated, its method's own."""
        return (
            ", ".join(self.claim["assumptions"])
            or f"not stated, {self.claim['method'] or 'of no method'}"
        )

    @property
    def best_share(self) -> float:
        """The largest share of its bound that was found by any means."""
        return max(
            self.share_by_runs or 0.0, self.share_by_program or 0.0, self.share_by_adversary or 0.0
        )

    def is_confirmed(self, kinds: Collection[str]) -> bool:
        """Return whether it is a claim of one of these kinds, and holds."""
        return self.claim["kind"] in kinds and Verdict(self.verdict).keeps_bound


@dataclass(frozen=True)
class SuiteStandings:
    """A suite of pfbench: its name, its text, and where each of its methods stands."""

    name: str
    text: str
    standings: Sequence[tuple[str, str]]


def page(record: Record, output: Path, suites: Sequence[SuiteStandings] = ()) -> int:
    """Write the site of a record, and the page of each receipt.

    Parameters
    ----------
    record
        What is shown.
    output
        The folder of the site.
    suites
        Those of pfbench whose methods are shown, too.

    Returns
    -------
    int
        How many receipts it shows.

    Raises
    ------
    InputError
        If a receipt is damaged.
    StorageError
        If it cannot be written.
    """
    lines: list[BoardRow] = []
    errata: list[Sequence[str]] = []
    by_suite: dict[tuple[str, str], list[Sequence[str]]] = {
        (standings.name, _digest(standings.text.encode())): [
            (escape_html(name), escape_html(location), "shipped with pfbench")
            for name, location in standings.standings
        ]
        for standings in suites
    }
    with translate_os_errors(f"the site {output}"):
        output.mkdir(parents=True, exist_ok=True)
        for path in record.list_folders():
            data = json.loads((path / CHECK).read_text("utf-8"))
            with open_archive(path / FILE, RECEIPT, COMPARISON) as archive:
                if archive.form is RECEIPT:
                    lines += _claims(archive, path.name, data, output)
                    errata += _errata(archive.manifest, path.name, data)
                else:
                    suite, row = _method(archive, path.name, data, output)
                    by_suite.setdefault(suite, []).append(row)
        _write(output, {"index.html": _site(lines, errata, by_suite).encode()})
    return len(record.list_folders())


def _site(
    lines: Sequence[BoardRow],
    errata: Sequence[Sequence[str]],
    by_suite: Mapping[tuple[str, str], Sequence[Sequence[str]]],
) -> str:
    parts = [
        ("", _BY_CLASS, list(_class_rows(lines))),
        ("Errata that stand", _ERRATA, errata),
        *(
            (f"Suite {name}, version {digest[:12]}", _METHODS, rows)
            for (name, digest), rows in sorted(by_suite.items())
        ),
        ("All claims", _CLAIMS, list(map(_cells, lines))),
    ]
    return document("Board of theorems", [f"<p>{_ABOUT}</p>", *starmap(table, parts)], _STYLE)


def _digest(text: bytes) -> str:
    return hashlib.sha256(text).hexdigest()


# --- theorems -------------------------------------------------------------------------------------


def _claims(
    archive: Archive, location: str, record: Mapping[str, Any], output: Path
) -> Iterator[BoardRow]:
    """Write the pages of a receipt, drawn anew from its numbers; yield its claims."""
    manifest = archive.manifest
    rows = decode_runs(archive.read(RUNS), len(manifest["cells"]))
    pages = render_pages(manifest, rows)
    _write(output / location, {name: pages[name].encode() for name in (PAGE, MARKDOWN, BADGE)})
    short, proof, reached = summary(manifest, rows), record.get("proof", ""), means(manifest, rows)
    for claim, verdict in zip(manifest["claims"], manifest["verdicts"], strict=True):
        own = [share(item) for item in manifest["worst"] if item["claim"] == claim["name"]]
        worst = [value for value in own if value is not None]
        # Where a check is a function there are no runs, but what it measured.
        measured = list(_ratios(verdict))
        by_runs = [reached[name] for name in claim["settings"] if name in reached] or measured
        yield BoardRow(
            claim,
            verdict["verdict"],
            location,
            max(by_runs, default=None) if claim["kind"] == "bound" else None,
            max(worst, default=None),
            max(measured, default=None) if claim["kind"] in LOWER else None,
            proof if LINK.fullmatch(proof) else "",
            _check_cell(record),
            f"{short.caught_faults} of {short.faults}",
        )


def _ratios(verdict: Mapping[str, Any]) -> Iterator[float]:
    """Yield the shares of a bound among what a verdict measured."""
    for name, value in verdict["measured"].items():
        is_one = name.rpartition(": ")[2] == "ratio" and not name.startswith("condition ")
        if is_one and isinstance(value, int | float):
            yield value


def _errata(
    fields: Mapping[str, Any], location: str, record: Mapping[str, Any]
) -> Iterator[Sequence[str]]:
    """Yield the errata whose evidence shows them."""
    for erratum in fields["errata"]:
        if erratum["evidence"]["shown"]:
            yield (
                f'<a href="{location}/{PAGE}">{escape_html(erratum["erratum"])}</a>',
                *(
                    escape_html(erratum[name])
                    for name in ("ruling", "as_printed", "corrected", "claim")
                ),
                escape_html(_check_cell(record)),
            )


def _class_rows(lines: Sequence[BoardRow]) -> Iterator[Sequence[str]]:
    """Yield for each class of problems its bounds, the nearest first, and what was found."""
    for problem_kind in sorted({row.problem_class for row in lines}):
        board_rows = [row for row in lines if row.problem_class == problem_kind]
        uppers = sorted(
            (row for row in board_rows if row.is_confirmed(UPPER)), key=lambda row: -row.best_share
        )
        lowers = [row for row in board_rows if row.is_confirmed(LOWER)]
        if uppers or lowers:
            best = uppers[0] if uppers else None
            yield (
                escape_html(problem_kind),
                "<br>".join(map(_statement_cell, uppers)),
                "<br>".join(map(_statement_cell, lowers)),
                _number(best.share_by_runs if best else None, best),
                _number(best.share_by_program if best else None, best),
                "<br>".join(_number(row.share_by_adversary, row) for row in lowers),
                " ".join(filter(None, map(_proof, [*uppers, *lowers]))),
            )


def _cells(row: BoardRow) -> Sequence[str]:
    return (
        _link(row, row.claim["name"]),
        escape_html(row.claim["statement"]),
        escape_html(", ".join(filter(None, [row.claim["method"], *row.claim["assumptions"]]))),
        escape_html(row.verdict),
        _number(row.share_by_runs, row),
        _number(row.share_by_program, row),
        _number(row.share_by_adversary, row),
        escape_html(units(row.claim)),
        escape_html(row.faults),
        _proof(row),
        escape_html(row.check_result),
    )


def _statement_cell(row: BoardRow) -> str:
    return f"{_link(row, row.claim['name'])}: {escape_html(row.claim['statement'])}"


def _number(value: float | None, row: BoardRow | None) -> str:
    return "" if value is None or row is None else _link(row, f"{value:.3f}")


def _proof(row: BoardRow) -> str:
    return f'<a href="{escape_html(row.proof)}">proof</a>' if row.proof else ""


def _link(row: BoardRow, text: str) -> str:
    return f'<a href="{row.receipt_path}/{PAGE}">{escape_html(text)}</a>'


# --- methods --------------------------------------------------------------------------------------


def _method(
    archive: Archive, location: str, record: Mapping[str, Any], output: Path
) -> tuple[tuple[str, str], Sequence[str]]:
    """Write the page of a comparison as text; return its suite, and what stands in its row.

    To draw it anew its author's code would have to be imported; so nothing of it that a browser
    would run is taken.
    """
    manifest = archive.manifest
    _write(output / location, {TEXT: archive.read(MARKDOWN)})
    match = re.search('aria-label="([^"]*)"', archive.read(BADGE).decode(errors="replace"))
    row = (
        f'<a href="{location}/{TEXT}">{escape_html(manifest["method"])}</a>',
        escape_html(html.unescape(match[1]) if match else ""),
        escape_html(_check_cell(record)),
    )
    return (manifest["suite"], _digest(archive.read(SPEC))), row


def _check_cell(record: Mapping[str, Any]) -> str:
    return (
        f"{record['runs'][0]} runs and {record['verdicts'][0]} verdicts again, {record['new']} runs new; "  # noqa: E501
        f"salt {record['salt']}"
    )


def _write(folder: Path, files: Mapping[str, bytes]) -> None:
    folder.mkdir(exist_ok=True)
    for name, content in files.items():
        with atomic_write(folder / name) as file:
            file.write(content)
