"""``pfbench record``: a folder of checked receipts, and its site, a board of theorems."""

import hashlib
import json
import secrets
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from pfbench.base.errors import InputError
from pfbench.base.escaping import escape_text
from pfbench.cli import options, terminal
from pfbench.cli.formatting import format_plural
from pfbench.cli.options import argument, flag, option
from pfbench.cli.receipt import load_shipped_suite
from pfbench.cli.terminal_tables import print_parts

if TYPE_CHECKING:
    from pfbench.receipts.confinement import Confinement

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
    print_parts(f"wrote {folder}; next:\n  pfbench record add {folder} FILE.zip")


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
    from pfbench.receipts.comparison_receipt import COMPARISON
    from pfbench.receipts.confinement import confinement
    from pfbench.receipts.record import Record, check_link
    from pfbench.receipts.theorem_receipt import RECEIPT
    from pfbench.runs.storage.archive import open_archive

    record, proof = Record.open(folder), check_link(proof)
    with open_archive(receipt, RECEIPT, COMPARISON) as archive:
        name = archive.manifest["name"]
    path = record.find_folder(name, hashlib.sha256(receipt.read_bytes()).hexdigest())
    inner = confinement()
    terminal.print_note(f"running the code of {receipt}, which is a stranger's: {inner.sentence}")
    in_child = _check_in_child(receipt, seconds, jobs, inner)
    if in_child is None:
        terminal.exit_with_error(f"{receipt} is not taken in.")
    record.add(receipt, path, in_child, proof)
    print_parts(f"took in {path}\n{in_child['text']}")


@app.command()
def check(
    folder: Path = argument("DIR", default=...),
    seconds: float = option("S", "The time that each check may take.", default=100.0),
    jobs: int | None = options.JOBS,
) -> None:
    """Check all receipts of a record again, each with a new salt; exit status 1 if one fails."""
    from pfbench.receipts.confinement import confinement
    from pfbench.receipts.record import FILE, Record

    paths = Record.open(folder).list_folders()
    if not paths:
        raise InputError(f"{folder} has no receipt: add one with `pfbench record add`.")
    inner = confinement()
    terminal.print_note(f"running the code of {len(paths)} receipts: {inner.sentence}")
    failed = [
        path.name for path in paths if _check_in_child(path / FILE, seconds, jobs, inner) is None
    ]
    print_parts(f"{len(paths) - len(failed)} of {len(paths)} receipts are as they say")
    terminal.exit_if(failed)


@app.command()
def page(
    folder: Path = argument("DIR", default=...),
    output: Path = option("DIR", "Where to write it.", "--output", "-o", default=...),
    suites: bool = flag("Show the methods of pfbench's own suites, too.", "--suites"),
) -> None:
    """Write the site of a record: a board of theorems, and the page of each receipt."""
    from pfbench.cli import catalogue
    from pfbench.receipts.comparison_receipt import standings
    from pfbench.receipts.record import Record
    from pfbench.receipts.record_site import SuiteStandings
    from pfbench.receipts.record_site import page as written
    from pfbench.runs.planning.spec import load_spec

    record = Record.open(folder)
    existing = [
        SuiteStandings(name, suite.text, list(standings(load_spec(path), suite.archive)))
        for name, path in (catalogue.suite_spec_paths().items() if suites else ())
        if (suite := load_shipped_suite(name))
    ]
    print_parts(
        f"wrote {output / 'index.html'}: {format_plural(written(record, output, existing), 'receipt')}"  # noqa: E501
    )


def _check_in_child(
    receipt: Path, seconds: float, jobs: int | None, confinement: "Confinement"
) -> dict[str, Any] | None:
    """Return the outcome of a check in a child; None, with its reasons told, if it failed."""
    from pfbench.receipts.confinement import run

    salt = secrets.token_hex(8)
    arguments = ["receipt", "--check", str(receipt.resolve()), "--json", "--salt", salt]
    arguments += ["--seconds", str(seconds), "--jobs", str(jobs or options.cpu_count())]
    status, output, errors = run(arguments, seconds + _MORE, confinement)
    try:
        data: dict[str, Any] = json.loads(output)
    except ValueError:
        data = {}
    for text in [*data.get("off", ()), *data.get("unreached", ())]:
        terminal.print_error(f"{receipt.name}: {escape_text(str(text))}.")
    if status == 0 and data.get("salt") == salt:
        return data
    if data and not (data["off"] or data["unreached"]):
        terminal.print_error(
            f"{receipt.name}: its check was ended before its end (status {status})."
        )
    if not data:
        last = errors.strip().splitlines()[-1:] or ["no reason is given"]
        terminal.print_error(f"{receipt.name}: {escape_text(last[0].removeprefix('pfbench: '))}")
    return None
