"""A record: a folder of receipts that were checked, and its page, a board of theorems."""

import html
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pfbench.base.errors import InputError
from pfbench.base.files import storing, whole
from pfbench.base.visible import visible
from pfbench.receipts.content import BADGE, MARKDOWN, PAGE, RECEIPT, RUNS
from pfbench.receipts.page import shown, summary
from pfbench.receipts.runs import read
from pfbench.runs.storage.archive import opened

MARK, FILE, CHECK = "record.json", "receipt.zip", "check.json"
"""The names in a record: what says that it is one; of each receipt, itself and its check."""

FIELDS = ("sha256", "salt", "same", "runs", "new", "least_p", "verdicts", "faults", "text")
"""What is kept of a check."""

_LINK = re.compile(r"https://[^\s\"'<>]+")


@dataclass(frozen=True)
class Record:
    """A folder of receipts."""

    folder: Path

    @classmethod
    def init(cls, folder: Path) -> "Record":
        """Make one.

        Raises
        ------
        InputError
            If the folder has something in it.
        """
        if folder.exists() and any(folder.iterdir()):
            raise InputError(f"{folder} has something in it: name a new folder.")
        with storing(str(folder)):
            folder.mkdir(parents=True, exist_ok=True)
            _write(folder / MARK, {"schema": 1, "receipts": "receipts/NAME-HASH/receipt.zip"})
        return cls(folder)

    @classmethod
    def open(cls, folder: Path) -> "Record":
        """Open one.

        Raises
        ------
        InputError
            If the folder is none.
        """
        if not (folder / MARK).is_file():
            raise InputError(
                f"{folder} is no record: make one with `pfbench record init {folder}`."
            )
        return cls(folder)

    def places(self) -> list[Path]:
        """Return the folders of its receipts, in the order of their names."""
        return sorted(path.parent for path in self.folder.glob(f"receipts/*/{FILE}"))

    def place(self, name: str, digest: str) -> Path:
        """Return the folder of a receipt.

        Raises
        ------
        InputError
            If it is there already.
        """
        found = (
            self.folder / "receipts" / f"{re.sub('[^a-z0-9]+', '-', name.lower())}-{digest[:12]}"
        )
        if found.exists():
            raise InputError(f"{found} is there already: this receipt is in the record.")
        return found

    def add(self, path: Path, place: Path, checked: Mapping[str, Any], proof: str) -> None:
        """Take in a receipt that was checked; `proof` is where a formal proof stands, if any."""
        with storing(str(place)):
            place.mkdir(parents=True)
            (place / FILE).write_bytes(path.read_bytes())
            kept = {name: checked[name] for name in FIELDS}
            _write(place / CHECK, {"schema": 1, **kept, "proof": proof})


def check_link(proof: str) -> str:
    """Return a link to a formal proof; refuse what is none."""
    if proof and not _LINK.fullmatch(proof):
        raise InputError(f"--proof {proof!r} must be a link, https://...")
    return proof


def _write(path: Path, content: Mapping[str, Any]) -> None:
    with whole(path) as file:
        file.write((json.dumps(content, indent=1) + "\n").encode())


# --- its page -------------------------------------------------------------------------------------

_HEAD = ("theorem", "says", "about", "verdict", "worst by runs", "by semidefinite program")
_MORE = ("units", "faults found", "formal proof", "checked")
_STYLE = """
body { font: 14px/1.4 system-ui, sans-serif; margin: 1.5rem auto; max-width: 90rem;
padding: 0 1rem }
table { border-collapse: collapse } td, th { text-align: left; vertical-align: top;
padding: .25rem .8rem .25rem 0; border-bottom: 1px solid #ddd }
td { overflow-wrap: anywhere; min-width: 3rem } th { color: #555 } p { max-width: 46rem }
"""


def page(record: Record, out: Path) -> int:
    """Write the site of a record: a board of theorems, and the page of each receipt.

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
    rows: list[str] = []
    with storing(f"the site {out}"):
        out.mkdir(parents=True, exist_ok=True)
        for place in record.places():
            rows += _of(place, out)
        head = "".join(f"<th>{name}</th>" for name in (*_HEAD, *_MORE))
        text = (
            '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>Board of theorems'
            f"</title><style>{_STYLE}</style></head><body><h1>Board of theorems</h1>"
            "<p>Each row is a claim of a receipt that was made again before it was taken in. The "
            "worst is the share of its bound that was reached: in the mean of runs on the "
            "instance that binds, and by a semidefinite program over the whole class, for few "
            "steps. 1 cannot be improved.</p>"
            f"<table><tr>{head}</tr>{''.join(rows)}</table></body></html>\n"
        )
        with whole(out / "index.html") as file:
            file.write(text.encode())
    return len(record.places())


def _of(place: Path, out: Path) -> Iterator[str]:
    """Write the pages of a receipt, drawn anew from its numbers; yield a row for each claim."""
    with opened(place / FILE, RECEIPT) as archive:
        about = archive.about
        rows = read(archive.read(RUNS), len(about["cells"]))
    pages = shown(about, rows)
    (out / place.name).mkdir(exist_ok=True)
    for name in (PAGE, MARKDOWN, BADGE):
        with whole(out / place.name / name) as file:
            file.write(pages[name].encode())
    kept = json.loads((place / CHECK).read_text("utf-8"))
    short = summary(about, rows)
    for claim, verdict in zip(about["claims"], about["verdicts"], strict=True):
        worst = [
            one["worst_case"] / one["bound"]
            for one in about["worst"]
            if one["claim"] == claim["name"] and one.get("bound") and one["worst_case"] is not None
        ]
        own = [r["measured"] for r in rows if about["cells"][int(r["cell"])] in claim["settings"]]
        bound = claim["kind"] == "bound" and own
        proof = kept.get("proof", "")
        link = f'<a href="{_safe(proof)}">proof</a>' if _LINK.fullmatch(proof) else ""
        cells = (
            f'<a href="{place.name}/{PAGE}">{_safe(claim["name"])}</a>',
            _safe(claim["statement"]),
            _safe(", ".join([claim["method"], *claim["assumptions"]])),
            _safe(verdict["verdict"]),
            f"{max(_means(about, rows, claim)):.3f}" if bound else "",
            f"{max(worst):.3f}" if worst else "",
            {True: "✓", False: "✗", None: ""}[claim["homogeneous"]],
            f"{short.found} of {short.faults}",
            link,
            _safe(f"{kept['runs'][0]} runs again, {kept['new']} new; salt {kept['salt']}"),
        )
        yield "<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"


def _means(about: Mapping[str, Any], rows: Any, claim: Mapping[str, Any]) -> Iterator[float]:
    for at, name in enumerate(about["cells"]):
        own = [row["measured"] for row in rows if row["cell"] == at]
        if name in claim["settings"] and own:
            yield sum(own) / len(own)


def _safe(text: str) -> str:
    return html.escape(visible(text))
