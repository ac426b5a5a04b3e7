"""``pfbench record``: a folder of checked receipts, and its site, a board of theorems."""

import hashlib
import json
import secrets
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from pfbench.base.errors import InputError
from pfbench.base.visible import visible
from pfbench.cli import options, printing
from pfbench.cli.options import argument, flag, option
from pfbench.cli.receipt import shipped_suite
from pfbench.cli.tables import show
from pfbench.cli.words import plural

if TYPE_CHECKING:
    from pfbench.receipts.confined import Confinement

app = typer.Typer(
    no_args_is_help=True, help="Keep checked receipts in a folder, and make its site."
)

_MORE = 120.0
"""Seconds that a child may take beside its check."""


@app.command()
def init(folder: Path = argument("DIR", default=...)) -> None:
    """Make a folder for receipts; put it under version control."""
    from pfbench.receipts.record import Record

    Record.init(folder)
    show(f"wrote {folder}; next:\n  pfbench record add {folder} FILE.zip")


@app.command()
def add(
    folder: Path = argument("DIR", default=...),
    receipt: Path = argument("FILE.zip", default=...),
    proof: str = option("LINK", "Where a formal proof of it stands, https://...", default=""),
    seconds: float = option("S", "The time that the check may take.", default=100.0),
    jobs: int | None = options.JOBS,
) -> None:
    """Check a receipt, and take it in if it is as it says.

    The check runs a stranger's code: in a child with limits of time, memory, processes and files,
    with an empty home and, where the system offers it, without a network. What was found of that
    is said before.
    """
    from pfbench.receipts.comparison import COMPARISON
    from pfbench.receipts.confined import confinement
    from pfbench.receipts.content import RECEIPT
    from pfbench.receipts.record import Record, check_link
    from pfbench.runs.storage.archive import opened

    record, proof = Record.open(folder), check_link(proof)
    with opened(receipt, RECEIPT, COMPARISON) as archive:
        name = archive.about["name"]
    place = record.place(name, hashlib.sha256(receipt.read_bytes()).hexdigest())
    within = confinement()
    printing.note(f"running the code of {receipt}, which is a stranger's: {within.sentence}")
    found = _checked(receipt, seconds, jobs, within)
    if found is None:
        printing.fail(f"{receipt} is not taken in.")
    record.add(receipt, place, found, proof)
    show(f"took in {place}\n{found['text']}")


@app.command()
def check(
    folder: Path = argument("DIR", default=...),
    seconds: float = option("S", "The time that each check may take.", default=100.0),
    jobs: int | None = options.JOBS,
) -> None:
    """Check all receipts of a record again, each with a new salt; exit status 1 if one fails."""
    from pfbench.receipts.confined import confinement
    from pfbench.receipts.record import FILE, Record

    places = Record.open(folder).places()
    if not places:
        raise InputError(f"{folder} has no receipt: add one with `pfbench record add`.")
    within = confinement()
    printing.note(f"running the code of {len(places)} receipts: {within.sentence}")
    failed = [
        place.name for place in places if _checked(place / FILE, seconds, jobs, within) is None
    ]
    show(f"{len(places) - len(failed)} of {len(places)} receipts are as they say")
    printing.exit_if(failed)


@app.command()
def page(
    folder: Path = argument("DIR", default=...),
    output: Path = option("DIR", "Where to write it.", "--output", "-o", default=...),
    suites: bool = flag("Show the methods of pfbench's own suites, too.", "--suites"),
) -> None:
    """Write the site of a record: a board of theorems, and the page of each receipt."""
    from pfbench.cli import catalogue
    from pfbench.receipts.board import Known
    from pfbench.receipts.board import page as written
    from pfbench.receipts.comparison import standings
    from pfbench.receipts.record import Record
    from pfbench.runs.planning.spec import read_spec

    record = Record.open(folder)
    known = [
        Known(name, one.text, list(standings(read_spec(path), one.shipped)))
        for name, path in (catalogue.suites().items() if suites else ())
        if (one := shipped_suite(name))
    ]
    show(f"wrote {output / 'index.html'}: {plural(written(record, output, known), 'receipt')}")


def _checked(
    receipt: Path, seconds: float, jobs: int | None, within: "Confinement"
) -> dict[str, Any] | None:
    """Return the outcome of a check in a child; None, with its reasons told, if it failed."""
    from pfbench.receipts.confined import run

    salt = secrets.token_hex(8)
    arguments = ["receipt", "--check", str(receipt.resolve()), "--json", "--salt", salt]
    arguments += ["--seconds", str(seconds), "--jobs", str(jobs or options.cpus())]
    status, output, errors = run(arguments, seconds + _MORE, within)
    try:
        found: dict[str, Any] = json.loads(output)
    except ValueError:
        found = {}
    for text in [*found.get("off", ()), *found.get("unreached", ())]:
        printing.complain(f"{receipt.name}: {visible(str(text))}.")
    if status == 0 and found.get("salt") == salt:
        return found
    if found and not (found["off"] or found["unreached"]):
        printing.complain(f"{receipt.name}: its check was ended before its end (status {status}).")
    if not found:
        last = errors.strip().splitlines()[-1:] or ["no reason is given"]
        printing.complain(f"{receipt.name}: {visible(last[0].removeprefix('pfbench: '))}")
    return None
