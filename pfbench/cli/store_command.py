"""``pfbench store``: list, check, merge and export stored results."""

import json
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from math import isfinite
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from pfbench.base.errors import InputError, end_sentence
from pfbench.base.escaping import escape_hidden
from pfbench.base.selectors import selector_or_name_equals
from pfbench.base.status import VERDICT_NAMES
from pfbench.cli.formatting import format_bytes, format_plural
from pfbench.cli.options import AS_JSON, STORE, argument, flag, option
from pfbench.cli.progress import StepProgress
from pfbench.cli.terminal import (
    SCHEMA,
    dataclass_as_dict,
    exit_if,
    print_error,
    print_json,
    print_parts,
)
from pfbench.runs.storage.damage import KINDS, DamageReport

if TYPE_CHECKING:
    from pfbench.runs.storage.entry_list import Listing, Row
    from pfbench.runs.storage.maintenance import MergeReport
    from pfbench.runs.storage.store import Store

app = typer.Typer(rich_markup_mode=None)

PROBLEM = option("NAME", "Only entries on this problem: a name, or a selector.")
ALGORITHM = option("NAME", "Only entries of this algorithm: a name, or a selector.")
STATUS = option("STATUS", "Only entries of this status.")

_SHOWN = ("shown", "not shown", "certified", "not certified")
_SEE_CHECK = "; see `pfbench store check`"
_LINE = "%-11s  %-13s  %-5s  %-10s  %-8s  %-12s  %s\n"
_SHOWN_COLUMNS = (
    *("kind", "status", "seed", "iterations", "seconds", "key"),
    *("claim", "algorithm", "problem"),
)


@app.callback()
def store() -> None:
    """List, check, merge and export stored results."""


@app.command("list")
def list_entries(
    folder: Path = STORE,
    kind: str | None = option("KIND", f"Only entries of this kind: {', '.join(KINDS)}."),
    problem: str | None = PROBLEM,
    algorithm: str | None = ALGORITHM,
    status: str | None = STATUS,
    as_json: bool = AS_JSON,
) -> None:
    """List stored entries.

    With --json, damaged entries are reported, but not moved: see `pfbench store check`.
    """
    columns = {} if as_json else {"columns": _SHOWN_COLUMNS}
    opened = _open_store(folder)
    listing, rows = _select_rows(opened, kind, problem, algorithm, status, **columns)
    if as_json:
        # Line by line: a store may have very many.
        for index, row in enumerate(rows):
            print(",\n " if index else "[", json.dumps(_json_row(row)), sep="", end="")
        print("]" if rows else "[]")
    else:
        _show_rows(rows, len(listing.rows))
    _print_damage(listing.damaged, remedy=_SEE_CHECK)


@app.command()
def check(
    folder: Path = STORE,
    repair: bool = flag("Quarantine damaged entries, so that they are re-run.", "--repair"),
    as_json: bool = AS_JSON,
) -> None:
    """Read every entry completely, and report damaged ones.

    Exit status 1 if an entry is damaged.
    """
    from pfbench.runs.storage.maintenance import check_entries

    opened = _open_store(folder)
    with StepProgress("checking", None, "entries", quiet=as_json) as steps:
        number, damaged = check_entries(opened, repair=repair, progress=steps.advance)
    if as_json:
        print_json({"entries": number, "damaged": _damage_records(damaged)})
    else:
        print_parts(f"{number:,} entries read, {len(damaged):,} damaged")
    _print_damage(damaged, f" of {folder}")
    exit_if(damaged)


@app.command()
def gc(
    folder: Path = STORE,
    dry_run: bool = flag("Only list what would be removed.", "--dry-run"),
    as_json: bool = AS_JSON,
) -> None:
    """Remove entries that older code of pfbench computed.

    Entries without a note of their source, or of user-defined modules, are retained.
    """
    from pfbench.runs.storage.maintenance import find_outdated_entries

    opened = _open_store(folder)
    with StepProgress("clearing", None, "runs", quiet=as_json) as steps:
        outdated = find_outdated_entries(opened, progress=steps.advance)
    rows = [row for row in opened.rows() if (row.kind, row.key) in outdated]
    _remove_rows(opened, rows, dry_run=dry_run, as_json=as_json)


@app.command()
def merge(
    other: Path = argument("DIR", default=...), folder: Path = STORE, as_json: bool = AS_JSON
) -> None:
    """Copy the entries of another store, DIR.

    If both stores have an entry of one key, the entries must agree in everything but times. If they
    do not, the entry is refused, and the store keeps its own. Exit status 1 if an entry is refused
    or damaged. A merge recomputes nothing: to check the runs of others, ask for an archive, and see
    `pfbench archive check`.
    """
    from pfbench.runs.storage.maintenance import merge as merge_all
    from pfbench.runs.storage.store import Store

    source = _open_store(other)
    with StepProgress("merging", None, "entries", quiet=as_json) as steps:
        report = merge_all(Store(folder), source, progress=steps.advance)
    _show_merge_and_exit_if_incomplete(report, as_json=as_json)


def _show_merge_and_exit_if_incomplete(report: "MergeReport", *, as_json: bool) -> None:
    """Print the numbers of copied and refused entries of a merge.

    The command ends with exit status 1 if an entry was refused or damaged.
    """
    if as_json:
        names = "kind", "key", "differs_in"
        refused = [dict(zip(names, item, strict=True)) for item in report.refused]
        numbers = {"added": report.added, "identical": report.equal}
        damaged = _damage_records(report.damaged)
        print_json({**numbers, "refused": refused, "damaged": damaged})
    else:
        texts = (f"{report.added:,} copied", f"{report.equal:,} present before")
        print_parts(", ".join((*texts, f"{len(report.refused):,} refused")))
    for kind, key, subject in report.refused:
        print_error(f"{kind} {key} is refused: its {subject} differs between the stores.")
    _print_damage(report.damaged, " of DIR")
    exit_if(report.refused or report.damaged)


@app.command("import")
def import_old(
    old: Path = argument("DIR", default=...), folder: Path = STORE, as_json: bool = AS_JSON
) -> None:
    """Import DIR, a Parquet store of an earlier version of pfbench.

    The import needs `pip install "pfbench[parquet]"`, and does not change DIR. Entries in both
    stores are merged.
    """
    from pfbench.runs.storage.maintenance import merge_entries
    from pfbench.runs.storage.old_store import read_old_store
    from pfbench.runs.storage.store import Store

    with StepProgress("reading", None, "entries", quiet=as_json) as steps:
        report = merge_entries(Store(folder), read_old_store(old), progress=steps.advance)
    _show_merge_and_exit_if_incomplete(report, as_json=as_json)


@app.command()
def forget(
    keys: list[str] | None = argument("[KEY]...", default=None),
    folder: Path = STORE,
    kind: str | None = option("KIND", f"Only entries of this kind: {', '.join(KINDS)}."),
    problem: str | None = PROBLEM,
    algorithm: str | None = ALGORITHM,
    status: str | None = STATUS,
    dry_run: bool = flag("Only list what would be removed.", "--dry-run"),
    as_json: bool = AS_JSON,
) -> None:
    """Remove entries, selected by keys or by options.

    A key may be shortened to 8 characters or more. With several options, all must apply.
    """
    if not (keys or kind or problem or algorithm or status):
        raise InputError("select entries: give keys, --problem, --algorithm, --status or --kind.")
    keys = keys or []
    if short := next((key for key in keys if len(key) < 8), ""):
        raise InputError(f"the key {short!r} is too short: give 8 characters or more.")
    opened = _open_store(folder)
    _, rows = _select_rows(opened, kind, problem, algorithm, status)
    chosen = [row for row in rows if not keys or row.key.startswith(tuple(keys))]
    if lacking := [key for key in keys if not any(row.key.startswith(key) for row in chosen)]:
        raise InputError(f"no selected entry has the key {lacking[0]}: see `pfbench store list`.")
    _remove_rows(opened, chosen, dry_run=dry_run, as_json=as_json)


def _remove_rows(opened: "Store", rows: "Sequence[Row]", *, dry_run: bool, as_json: bool) -> None:
    """Remove entries, unless `dry_run` is true, and print their number and size."""
    if rows and not dry_run:
        opened.remove([(row.kind, row.key) for row in rows])
    size = sum(row.bytes for row in rows)
    if as_json:
        keys = [row.key for row in rows]
        print_json({"dry_run": dry_run, "removed": keys, "bytes": size})
    else:
        removed = "would be removed" if dry_run else "removed"
        print_parts(f"{len(rows):,} {removed}, {format_bytes(size)} in all")


@app.command()
def export(
    form: str = argument("FORMAT", default=...),
    output: Path = option("DIR", "A new or an empty folder.", "--output", "-o", default=...),
    folder: Path = STORE,
    problem: str | None = PROBLEM,
    algorithm: str | None = ALGORITHM,
    status: str | None = STATUS,
) -> None:
    """Write stored runs as tables.

    FORMAT is one of csv-wide, csv-long, benchopt. In CSV, a text that a spreadsheet would evaluate
    gets a leading quote.
    """
    from pfbench.base.checks import check_choice
    from pfbench.runs.storage.export import FORMATS
    from pfbench.runs.storage.export import export as write

    check_choice("format", form, FORMATS)
    opened = _open_store(folder)
    listing, rows = _select_rows(opened, "run", problem, algorithm, status, columns=_SHOWN_COLUMNS)
    files, left_out = write(opened, rows, form, output)
    number = len(rows) - sum(left_out.values())
    print_parts(f"{format_plural(number, 'run')} in {format_plural(len(files), 'file')}: {output}")
    for reason, many in left_out.items():
        print_error(f"{format_plural(many, 'run')} left out: {end_sentence(reason)}")
    _print_damage(listing.damaged, remedy=_SEE_CHECK)


# --- the parts ------------------------------------------------------------------------------------


def _open_store(folder: Path) -> "Store":
    from pfbench.runs.storage.store import Store

    return Store(folder, make=False)


def _select_rows(
    store: "Store",
    kind: str | None,
    problem: str | None,
    algorithm: str | None,
    status: str | None,
    **columns: Sequence[str],
) -> "tuple[Listing, list[Row]]":
    """Return the listing of a store, and those of its rows that match all given filters.

    Raises an error for an unknown kind or status.
    """
    from pfbench.base.checks import check_choice
    from pfbench.runs.loop.run import STATUSES

    if kind is not None:
        check_choice("--kind", kind, KINDS)
    if status is not None:
        check_choice("--status", status, (*STATUSES, *VERDICT_NAMES, *_SHOWN))
    listing = store.listing(**columns)
    rows = listing.rows
    arguments = {"kind": kind, "status": status, "problem": problem, "algorithm": algorithm}
    for name, value in arguments.items():
        if value is not None:
            cell = attrgetter(name)
            rows = [row for row in rows if selector_or_name_equals(cell(row) or "", value)]
    return listing, rows


def _json_row(row: "Row") -> dict[str, Any]:
    """Return a row of a listing for JSON, with times that are not finite replaced by None."""
    fields = row._asdict() | {
        "counts": None if row.counts is None else json.loads(row.counts),
        "seconds": row.seconds if row.seconds is not None and isfinite(row.seconds) else None,
        "stored": datetime.fromtimestamp(row.stored, UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
    }
    del fields["family"], fields["limits"]
    return {"schema": SCHEMA, **fields}


def _show_rows(rows: Sequence["Row"], stored: int) -> None:
    # By hand: a table that fits its columns to 100,000 rows would take a minute.
    sys.stdout.write(_LINE % ("kind", "status", "seed", "iterations", "seconds", "key", "what"))
    for *cells, seconds, key, claim, algorithm, problem in map(attrgetter(*_SHOWN_COLUMNS), rows):
        subject = " on ".join(filter(None, (claim, algorithm, problem)))
        cells += (None if seconds is None else f"{seconds:.3g}", key[:12], subject)
        line = _LINE % tuple("" if cell is None else cell for cell in cells)
        sys.stdout.write(f"{escape_hidden(line.rstrip())}\n")
    rest = f" of {stored:,}" if stored != len(rows) else ""
    print(f"\n{len(rows):,}{rest} stored")


def _damage_records(damaged: Sequence[DamageReport]) -> list[dict[str, Any]]:
    return [dataclass_as_dict(damage, aside="quarantined") for damage in damaged]


def _print_damage(damaged: Sequence[DamageReport], origin: str = "", *, remedy: str = "") -> None:
    for damage in damaged:
        aside = "" if damage.aside is None else f"; moved to {damage.aside}"
        observed = f"{damage.reason} ({damage.detail}){aside}{remedy}"
        print_error(f"{damage.kind} {damage.key}{origin} is damaged: {observed}.")
