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

from pfbench.base.files import storing, whole
from pfbench.base.verdicts import Verdict
from pfbench.receipts.comparison import COMPARISON
from pfbench.receipts.content import BADGE, MARKDOWN, PAGE, RECEIPT, RUNS
from pfbench.receipts.markup import document, safe, table
from pfbench.receipts.page import means, share, shown, summary, units
from pfbench.receipts.record import CHECK, FILE, LINK, Record
from pfbench.receipts.runs import read
from pfbench.runs.storage.archive import SPEC, Archive, opened

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
class Line:
    """A claim on the board; texts are not yet safe, but for links.

    Attributes
    ----------
    claim, verdict, place
        As the receipt has them, and its folder.
    by_runs, by_program, by_oracle
        The largest share of its bound; None where there is none.
    proof, checked, faults
        A link, and words.
    """

    claim: Mapping[str, Any]
    verdict: str
    place: str
    by_runs: float | None
    by_program: float | None
    by_oracle: float | None
    proof: str
    checked: str
    faults: str

    @property
    def of(self) -> str:
        """The class of problems that it is about; where that is not stated, its method's own."""
        return (
            ", ".join(self.claim["assumptions"])
            or f"not stated, {self.claim['method'] or 'of no method'}"
        )

    @property
    def found(self) -> float:
        """The largest share of its bound that was found by any means."""
        return max(self.by_runs or 0.0, self.by_program or 0.0, self.by_oracle or 0.0)

    def stands(self, kinds: Collection[str]) -> bool:
        """Return whether it is a claim of one of these kinds, and holds."""
        return self.claim["kind"] in kinds and Verdict(self.verdict).is_kept


@dataclass(frozen=True)
class Known:
    """A suite of pfbench: its name, its text, and where each of its methods stands."""

    name: str
    text: str
    standings: Sequence[tuple[str, str]]


def page(record: Record, out: Path, suites: Sequence[Known] = ()) -> int:
    """Write the site of a record, and the page of each receipt.

    Parameters
    ----------
    record
        What is shown.
    out
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
    lines: list[Line] = []
    errata: list[Sequence[str]] = []
    by_suite: dict[tuple[str, str], list[Sequence[str]]] = {
        (one.name, _digest(one.text.encode())): [
            (safe(name), safe(where), "shipped with pfbench") for name, where in one.standings
        ]
        for one in suites
    }
    with storing(f"the site {out}"):
        out.mkdir(parents=True, exist_ok=True)
        for place in record.places():
            kept = json.loads((place / CHECK).read_text("utf-8"))
            with opened(place / FILE, RECEIPT, COMPARISON) as archive:
                if archive.form is RECEIPT:
                    lines += _claims(archive, place.name, kept, out)
                    errata += _errata(archive.about, place.name, kept)
                else:
                    suite, row = _method(archive, place.name, kept, out)
                    by_suite.setdefault(suite, []).append(row)
        _write(out, {"index.html": _site(lines, errata, by_suite).encode()})
    return len(record.places())


def _site(
    lines: Sequence[Line],
    errata: Sequence[Sequence[str]],
    by_suite: Mapping[tuple[str, str], Sequence[Sequence[str]]],
) -> str:
    parts = [
        ("", _BY_CLASS, list(_by_class(lines))),
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


def _claims(archive: Archive, place: str, kept: Mapping[str, Any], out: Path) -> Iterator[Line]:
    """Write the pages of a receipt, drawn anew from its numbers; yield its claims."""
    about = archive.about
    rows = read(archive.read(RUNS), len(about["cells"]))
    pages = shown(about, rows)
    _write(out / place, {name: pages[name].encode() for name in (PAGE, MARKDOWN, BADGE)})
    short, proof, reached = summary(about, rows), kept.get("proof", ""), means(about, rows)
    for claim, verdict in zip(about["claims"], about["verdicts"], strict=True):
        own = [share(one) for one in about["worst"] if one["claim"] == claim["name"]]
        worst = [one for one in own if one is not None]
        # Where a check is a function there are no runs, but what it measured.
        measured = list(_ratios(verdict))
        by_runs = [reached[name] for name in claim["settings"] if name in reached] or measured
        yield Line(
            claim,
            verdict["verdict"],
            place,
            max(by_runs, default=None) if claim["kind"] == "bound" else None,
            max(worst, default=None),
            max(measured, default=None) if claim["kind"] in LOWER else None,
            proof if LINK.fullmatch(proof) else "",
            _checked(kept),
            f"{short.found} of {short.faults}",
        )


def _ratios(verdict: Mapping[str, Any]) -> Iterator[float]:
    """Yield the shares of a bound among what a verdict measured."""
    for name, value in verdict["measured"].items():
        is_one = name.rpartition(": ")[2] == "ratio" and not name.startswith("condition ")
        if is_one and isinstance(value, int | float):
            yield value


def _errata(
    about: Mapping[str, Any], place: str, kept: Mapping[str, Any]
) -> Iterator[Sequence[str]]:
    """Yield the errata whose evidence shows them."""
    for one in about["errata"]:
        if one["evidence"]["shown"]:
            yield (
                f'<a href="{place}/{PAGE}">{safe(one["erratum"])}</a>',
                *(safe(one[name]) for name in ("ruling", "as_printed", "corrected", "claim")),
                safe(_checked(kept)),
            )


def _by_class(lines: Sequence[Line]) -> Iterator[Sequence[str]]:
    """Yield for each class of problems its bounds, the nearest first, and what was found."""
    for of in sorted({one.of for one in lines}):
        there = [one for one in lines if one.of == of]
        uppers = sorted((one for one in there if one.stands(UPPER)), key=lambda one: -one.found)
        lowers = [one for one in there if one.stands(LOWER)]
        if uppers or lowers:
            best = uppers[0] if uppers else None
            yield (
                safe(of),
                "<br>".join(map(_said, uppers)),
                "<br>".join(map(_said, lowers)),
                _number(best.by_runs if best else None, best),
                _number(best.by_program if best else None, best),
                "<br>".join(_number(one.by_oracle, one) for one in lowers),
                " ".join(filter(None, map(_proof, [*uppers, *lowers]))),
            )


def _cells(one: Line) -> Sequence[str]:
    return (
        _link(one, one.claim["name"]),
        safe(one.claim["statement"]),
        safe(", ".join(filter(None, [one.claim["method"], *one.claim["assumptions"]]))),
        safe(one.verdict),
        _number(one.by_runs, one),
        _number(one.by_program, one),
        _number(one.by_oracle, one),
        safe(units(one.claim)),
        safe(one.faults),
        _proof(one),
        safe(one.checked),
    )


def _said(one: Line) -> str:
    return f"{_link(one, one.claim['name'])}: {safe(one.claim['statement'])}"


def _number(value: float | None, one: Line | None) -> str:
    return "" if value is None or one is None else _link(one, f"{value:.3f}")


def _proof(one: Line) -> str:
    return f'<a href="{safe(one.proof)}">proof</a>' if one.proof else ""


def _link(one: Line, text: str) -> str:
    return f'<a href="{one.place}/{PAGE}">{safe(text)}</a>'


# --- methods --------------------------------------------------------------------------------------


def _method(
    archive: Archive, place: str, kept: Mapping[str, Any], out: Path
) -> tuple[tuple[str, str], Sequence[str]]:
    """Write the page of a comparison as text; return its suite, and what stands in its row.

    To draw it anew its author's code would have to be imported; so nothing of it that a browser
    would run is taken.
    """
    about = archive.about
    _write(out / place, {TEXT: archive.read(MARKDOWN)})
    said = re.search('aria-label="([^"]*)"', archive.read(BADGE).decode(errors="replace"))
    row = (
        f'<a href="{place}/{TEXT}">{safe(about["method"])}</a>',
        safe(html.unescape(said[1]) if said else ""),
        safe(_checked(kept)),
    )
    return (about["suite"], _digest(archive.read(SPEC))), row


def _checked(kept: Mapping[str, Any]) -> str:
    return (
        f"{kept['runs'][0]} runs and {kept['verdicts'][0]} verdicts again, {kept['new']} runs new; "
        f"salt {kept['salt']}"
    )


def _write(folder: Path, files: Mapping[str, bytes]) -> None:
    folder.mkdir(exist_ok=True)
    for name, content in files.items():
        with whole(folder / name) as file:
            file.write(content)
