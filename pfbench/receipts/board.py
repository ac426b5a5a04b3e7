"""The site of a record: a board of theorems by class of problems, and methods by suite."""

import hashlib
import html
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import Any

from pfbench.base.files import storing, whole
from pfbench.base.visible import visible
from pfbench.receipts.comparison import COMPARISON
from pfbench.receipts.content import BADGE, MARKDOWN, PAGE, RECEIPT, RUNS
from pfbench.receipts.page import shown, summary
from pfbench.receipts.record import CHECK, FILE, LINK, Record
from pfbench.receipts.runs import Row, read
from pfbench.runs.storage.archive import SPEC, Archive, opened

UPPER, LOWER = frozenset({"bound", "rate", "computed"}), frozenset({"certificate"})
"""Kinds of claims that say how good a method is, and how good none can be."""

TEXT = "receipt.txt"
"""The page of a comparison in the site."""

_STYLE = """
body { font: 14px/1.4 system-ui, sans-serif; margin: 1.5rem auto; max-width: 90rem;
padding: 0 1rem }
table { border-collapse: collapse } td, th { text-align: left; vertical-align: top;
padding: .25rem .8rem .25rem 0; border-bottom: 1px solid #ddd }
td { min-width: 4rem } th { color: #555 } p { max-width: 46rem }
div { overflow-x: auto }
"""
_WORST = ("worst by runs", "by semidefinite program", "by a resisting oracle")
_BY_CLASS = ("class of problems", "upper bound", "lower bound", *_WORST, "formal proof")
_CLAIMS = (
    *("theorem", "says", "about", "verdict", *_WORST),
    *("units", "faults found", "formal proof", "checked"),
)
_ERRATA = ("erratum", "ruling", "as printed", "as it stands", "of", "checked")
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

    @property
    def upper(self) -> bool:
        """Whether it is an upper bound that stands."""
        return self.claim["kind"] in UPPER and self.verdict in ("holds", "tight")

    @property
    def lower(self) -> bool:
        """Whether it is a lower bound that stands."""
        return self.claim["kind"] in LOWER and self.verdict in ("holds", "tight")


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
            (_safe(name), _safe(where), "shipped with pfbench") for name, where in one.standings
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
        with whole(out / "index.html") as file:
            file.write(_site(lines, errata, by_suite).encode())
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
    tables = [
        (f"<h2>{_safe(title)}</h2>" if title else "") + _table(head, rows)
        for title, head, rows in parts
        if rows
    ]
    return (
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width">'
        f"<title>Board of theorems</title><style>{_STYLE}</style></head><body>"
        f"<h1>Board of theorems</h1><p>{_ABOUT}</p>{''.join(tables)}</body></html>\n"
    )


def _digest(text: bytes) -> str:
    return hashlib.sha256(text).hexdigest()


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table of cells that are safe."""
    lines = ["".join(f"<td>{cell}</td>" for cell in row) for row in rows]
    names = "".join(f"<th>{name}</th>" for name in head)
    body = "".join(f"<tr>{line}</tr>" for line in lines)
    return f"<div><table><tr>{names}</tr>{body}</table></div>"


# --- theorems -------------------------------------------------------------------------------------


def _claims(archive: Archive, place: str, kept: Mapping[str, Any], out: Path) -> Iterator[Line]:
    """Write the pages of a receipt, drawn anew from its numbers; yield its claims."""
    about = archive.about
    rows = read(archive.read(RUNS), len(about["cells"]))
    _write_pages(shown(about, rows), out / place)
    short, proof = summary(about, rows), kept.get("proof", "")
    for claim, verdict in zip(about["claims"], about["verdicts"], strict=True):
        worst = [
            one["worst_case"] / one["bound"]
            for one in about["worst"]
            if one["claim"] == claim["name"] and one.get("bound") and one["worst_case"] is not None
        ]
        # Where a check is a function there are no runs, but what it measured.
        measured = list(_ratios(verdict))
        means = list(_means(about, rows, claim)) or measured if claim["kind"] == "bound" else []
        yield Line(
            claim,
            verdict["verdict"],
            place,
            max(means, default=None),
            max(worst, default=None),
            max(measured, default=None) if claim["kind"] in LOWER else None,
            proof if LINK.fullmatch(proof) else "",
            _checked(kept),
            f"{short.found} of {short.faults}",
        )


def _means(
    about: Mapping[str, Any], rows: Sequence[Row], claim: Mapping[str, Any]
) -> Iterator[float]:
    for at, name in enumerate(about["cells"]):
        own = [row["measured"] for row in rows if row["cell"] == at]
        if name in claim["settings"] and own:
            yield mean(own)


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
                f'<a href="{place}/{PAGE}">{_safe(one["erratum"])}</a>',
                *(_safe(one[name]) for name in ("ruling", "as_printed", "corrected", "claim")),
                _safe(_checked(kept)),
            )


def _by_class(lines: Sequence[Line]) -> Iterator[Sequence[str]]:
    """Yield for each class of problems its bounds, the nearest first, and what was found."""
    for of in sorted({one.of for one in lines}):
        there = [one for one in lines if one.of == of]
        uppers = sorted((one for one in there if one.upper), key=lambda one: -one.found)
        lowers = [one for one in there if one.lower]
        if uppers or lowers:
            best = uppers[0] if uppers else None
            yield (
                _safe(of),
                "<br>".join(map(_said, uppers)),
                "<br>".join(map(_said, lowers)),
                _share(best.by_runs if best else None, best),
                _share(best.by_program if best else None, best),
                "<br>".join(_share(one.by_oracle, one) for one in lowers),
                " ".join(filter(None, map(_proof, [*uppers, *lowers]))),
            )


def _cells(one: Line) -> Sequence[str]:
    return (
        _link(one, one.claim["name"]),
        _safe(one.claim["statement"]),
        _safe(", ".join([one.claim["method"], *one.claim["assumptions"]])),
        _safe(one.verdict),
        _share(one.by_runs, one),
        _share(one.by_program, one),
        _share(one.by_oracle, one),
        {True: "✓", False: "✗", None: ""}[one.claim["homogeneous"]],
        _safe(one.faults),
        _proof(one),
        _safe(one.checked),
    )


def _said(one: Line) -> str:
    return f"{_link(one, one.claim['name'])}: {_safe(one.claim['statement'])}"


def _share(value: float | None, one: Line | None) -> str:
    return "" if value is None or one is None else _link(one, f"{value:.3f}")


def _proof(one: Line) -> str:
    return f'<a href="{_safe(one.proof)}">proof</a>' if one.proof else ""


def _link(one: Line, text: str) -> str:
    return f'<a href="{one.place}/{PAGE}">{_safe(text)}</a>'


# --- methods --------------------------------------------------------------------------------------


def _method(
    archive: Archive, place: str, kept: Mapping[str, Any], out: Path
) -> tuple[tuple[str, str], Sequence[str]]:
    """Write the page of a comparison as text; return its suite, and what stands in its row.

    To draw it anew its author's code would have to be imported; so nothing of it that a browser
    would run is taken.
    """
    about = archive.about
    (out / place).mkdir(exist_ok=True)
    with whole(out / place / TEXT) as file:
        file.write(archive.read(MARKDOWN))
    said = re.search('aria-label="([^"]*)"', archive.read(BADGE).decode(errors="replace"))
    row = (
        f'<a href="{place}/{TEXT}">{_safe(about["method"])}</a>',
        _safe(html.unescape(said[1]) if said else ""),
        _safe(_checked(kept)),
    )
    return (about["suite"], _digest(archive.read(SPEC))), row


def _checked(kept: Mapping[str, Any]) -> str:
    return (
        f"{kept['runs'][0]} runs and {kept['verdicts'][0]} verdicts again, {kept['new']} runs new; "
        f"salt {kept['salt']}"
    )


def _write_pages(pages: Mapping[str, str], folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    for name in (PAGE, MARKDOWN, BADGE):
        with whole(folder / name) as file:
            file.write(pages[name].encode())


def _safe(text: str) -> str:
    return html.escape(visible(text))
