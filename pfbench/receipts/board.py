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
td { overflow-wrap: anywhere; min-width: 3rem } th { color: #555 } p { max-width: 46rem }
"""
_BY_CLASS = (
    *("class of problems", "upper bound", "lower bound", "worst by runs"),
    *("by semidefinite program", "formal proof"),
)
_CLAIMS = (
    *("theorem", "says", "about", "verdict", "worst by runs", "by semidefinite program"),
    *("units", "faults found", "formal proof", "checked"),
)
_METHODS = ("method", "where it stands", "checked")
_ABOUT = (
    "Each claim is of a receipt that was made again before it was taken in. The worst is the share "
    "of its bound that was reached: in the mean of runs on the instance that binds, and by a "
    "semidefinite program over the whole class, for few steps. 1 cannot be improved. Of a class "
    "the bound stands first that came nearest to it; a link to a formal proof is its author's word."
)


@dataclass(frozen=True)
class Line:
    """A claim on the board; texts are not yet safe, but for links.

    Attributes
    ----------
    claim, verdict, place
        As the receipt has them, and its folder.
    by_runs, by_program
        The largest share of its bound; None where there is none.
    proof, checked, faults
        A link, and words.
    """

    claim: Mapping[str, Any]
    verdict: str
    place: str
    by_runs: float | None
    by_program: float | None
    proof: str
    checked: str
    faults: str

    @property
    def of(self) -> str:
        """The class of problems that it is about."""
        return ", ".join(self.claim["assumptions"]) or "not stated"

    @property
    def found(self) -> float:
        """The largest share of its bound that was found by any means."""
        return max(self.by_runs or 0.0, self.by_program or 0.0)

    @property
    def upper(self) -> bool:
        """Whether it is an upper bound that stands."""
        return self.claim["kind"] in UPPER and self.verdict in ("holds", "tight")


def page(record: Record, out: Path) -> int:
    """Write the site of a record, and the page of each receipt.

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
    suites: dict[tuple[str, str], list[Sequence[str]]] = {}
    with storing(f"the site {out}"):
        out.mkdir(parents=True, exist_ok=True)
        for place in record.places():
            kept = json.loads((place / CHECK).read_text("utf-8"))
            with opened(place / FILE, RECEIPT, COMPARISON) as archive:
                if archive.form is RECEIPT:
                    lines += _claims(archive, place.name, kept, out)
                else:
                    suite, row = _method(archive, place.name, kept, out)
                    suites.setdefault(suite, []).append(row)
        parts = [f"<p>{_ABOUT}</p>", _table(_BY_CLASS, _by_class(lines)) if lines else ""]
        if lines:
            parts += ["<h2>All claims</h2>", _table(_CLAIMS, map(_cells, lines))]
        for (name, digest), rows in sorted(suites.items()):
            title = f"Suite {name}, version {digest[:12]}"
            parts += [f"<h2>{_safe(title)}</h2>", _table(_METHODS, rows)]
        text = (
            '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>Board of theorems'
            f"</title><style>{_STYLE}</style></head><body><h1>Board of theorems</h1>"
            f"{''.join(parts)}</body></html>\n"
        )
        with whole(out / "index.html") as file:
            file.write(text.encode())
    return len(record.places())


def _table(head: Sequence[str], rows: Iterator[Sequence[str]] | Sequence[Sequence[str]]) -> str:
    """Return a table of cells that are safe."""
    lines = ["".join(f"<td>{cell}</td>" for cell in row) for row in rows]
    names = "".join(f"<th>{name}</th>" for name in head)
    return f"<table><tr>{names}</tr>{''.join(f'<tr>{line}</tr>' for line in lines)}</table>"


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
        means = list(_means(about, rows, claim)) if claim["kind"] == "bound" else []
        yield Line(
            claim,
            verdict["verdict"],
            place,
            max(means, default=None),
            max(worst, default=None),
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


def _by_class(lines: Sequence[Line]) -> Iterator[Sequence[str]]:
    """Yield for each class of problems its bounds, the nearest first, and what was found."""
    for of in sorted({one.of for one in lines}):
        there = [one for one in lines if one.of == of]
        uppers = sorted((one for one in there if one.upper), key=lambda one: -one.found)
        lowers = [one for one in there if one.claim["kind"] in LOWER and one.verdict == "holds"]
        if uppers or lowers:
            best = uppers[0] if uppers else None
            yield (
                _safe(of),
                "<br>".join(map(_said, uppers)),
                "<br>".join(map(_said, lowers)),
                _share(best.by_runs if best else None, best),
                _share(best.by_program if best else None, best),
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
    return (about["suite"], hashlib.sha256(archive.read(SPEC)).hexdigest()), row


def _checked(kept: Mapping[str, Any]) -> str:
    return f"{kept['runs'][0]} runs again, {kept['new']} new; salt {kept['salt']}"


def _write_pages(pages: Mapping[str, str], folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    for name in (PAGE, MARKDOWN, BADGE):
        with whole(folder / name) as file:
            file.write(pages[name].encode())


def _safe(text: str) -> str:
    return html.escape(visible(text))
