"""Maintenance of a store: check and repair all entries, remove some, and merge two stores."""

import json
import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from pfbench.base.errors import InputError, StorageError
from pfbench.base.files import as_storage_errors, flush_folder_to_disk
from pfbench.base.selectors import replace_file_by_module
from pfbench.base.user_code import is_pfbench_module
from pfbench.runs.loop.run import UNINFORMATIVE, Run
from pfbench.runs.storage.content_keys import source_digest
from pfbench.runs.storage.damage import DamagedFileError, DamageReport
from pfbench.runs.storage.database import (
    NAME,
    DamagedStoreError,
    lock_or_share,
    open_damaged_database,
    translate_errors,
)
from pfbench.runs.storage.field_types import list_type, text
from pfbench.runs.storage.serialization import Record, StoredRun, decode, decode_metadata
from pfbench.runs.storage.store import Store, WriteBatch

TIMES = frozenset({"seconds", "oracle_seconds"})
"""Fields and columns that may differ when a run is re-run."""

ASIDE = "damaged"
"""Folder of a store for its damaged files."""

_NAMES = ", ".join(Record._fields)

Progress = Callable[[], None]


def check_entries(
    store: Store, *, repair: bool = False, progress: Progress = lambda: None
) -> tuple[int, list[DamageReport]]:
    """Read and check every entry of a store, and check the structure of its file.

    Parameters
    ----------
    repair
        Quarantine damaged entries, so that they count as missing and are re-run. The readable part
        of a damaged file is copied to a new one.

    Returns
    -------
    int, list of DamageReport
        Number of entries read, and the damaged ones.

    Raises
    ------
    StorageError
        If the system does not let the file be read.
    """
    reports = []
    try:
        wrong = store.find_structural_error()
        if not wrong:
            number, damages = _check_each(store, progress)
    except DamagedStoreError as error:
        wrong = str(error)
    if wrong:
        aside = salvage_and_move(store) if repair else None
        reports.append(DamageReport("file", store.path.name, "unreadable", wrong, aside))
        if not repair:
            return 0, reports
        number, damages = _check_each(store, progress)
    for record, damage in damages:
        moved = repair and store.quarantine(record.kind, record.key, damage)
        aside = "its table damaged" if moved else None
        reports.append(damage.report(record.kind, record.key, aside))
    return number, reports


def _check_each(
    store: Store, progress: Progress
) -> tuple[int, list[tuple[Record, DamagedFileError]]]:
    number, damages = 0, []
    for record in store.records():
        progress()
        number += 1
        try:
            decode_metadata(record)
        except DamagedFileError as damage:
            damages.append((record, damage))
    return number, damages


# --- repairing ------------------------------------------------------------------------------------


def salvage_and_move(store: Store) -> str:
    """Write the readable part of a damaged store to a new file, and quarantine the old one.

    Damaged entries remain in the old file.

    Returns
    -------
    str
        New path of the old file.

    Raises
    ------
    StorageError
        If another process has the store open, or the disk does not let it be written.
    """
    store.close()
    lock, alone = lock_or_share(store.folder)
    try:
        if lock is not None and not alone:
            raise StorageError(
                f"the store {store.folder} is open in another process: end that process."
            )
        subject = f"the repaired store {store.folder}"
        with (
            as_storage_errors(subject),
            TemporaryDirectory(prefix=".repair-", dir=store.folder) as temporary,
        ):
            new = Store(temporary)
            with translate_errors(store.path), WriteBatch[None](new) as batch:
                for record in map(Record._make, _readable_rows(store.path)):
                    with suppress(DamagedFileError):
                        decode_metadata(record)
                        batch.add(record)
            new.close()
            aside = _move_to_damaged_folder(store.path)
            os.replace(new.path, store.path)
            flush_folder_to_disk(store.folder)
    finally:
        if lock is not None:
            lock.close()
    return str(aside)


def _readable_rows(path: Path) -> Iterator[tuple[object, ...]]:
    """Yield the readable rows of a damaged file, whose ids are in its table or its index."""
    errors = sqlite3.Error, OverflowError, UnicodeDecodeError
    with suppress(*errors), closing(open_damaged_database(path)) as connection:
        ids = set[int]()
        table, index = "NOT INDEXED", "INDEXED BY sqlite_autoindex_entries_1"
        for order in (f"{table} ORDER BY id", f"{index} ORDER BY kind"):
            for direction in ("ASC", "DESC"):
                with suppress(*errors):  # what was read before counts
                    rows = connection.execute(f"SELECT id FROM entries {order} {direction}")
                    ids.update(number for (number,) in rows)
        for number in sorted(ids):
            with suppress(*errors):
                query = f"SELECT {_NAMES} FROM entries NOT INDEXED WHERE id = ?"
                yield from connection.execute(query, (number,)).fetchall()


def _move_to_damaged_folder(path: Path) -> Path:
    """Move a file, with its journal files, to a new name in the folder of damaged files."""
    folder = path.parent / ASIDE
    folder.mkdir(exist_ok=True)
    number = 1
    while os.path.lexists(aside := folder / f"{number}-{NAME}"):
        number += 1
    for suffix in ("-wal", "-shm", "-journal", ""):
        with suppress(FileNotFoundError):
            os.rename(f"{path}{suffix}", f"{aside}{suffix}")
    return aside


# --- removing -------------------------------------------------------------------------------------


def find_outdated_entries(
    store: Store, *, progress: Progress = lambda: None
) -> set[tuple[str, str]]:
    """Return kind and key of the entries that an outdated version of pfbench's source computed.

    An entry is outdated if the source of pfbench that it could reach has changed. Damaged entries,
    those without a note of their source, and those of user-defined modules are not outdated.
    Nothing that a store names is imported.
    """
    sources = cache(source_digest)
    outdated = set()
    for record in store.records():
        progress()
        with suppress(DamagedFileError):
            if _is_outdated(decode_metadata(record)[0], sources):
                outdated.add((record.kind, record.key))
    return outdated


def _is_outdated(header: Mapping[str, Any], sources: Callable[[frozenset[str]], str]) -> bool:
    note = header.get("notes", {}).get("source")
    if not isinstance(note, Mapping) or not list_type(text)(note.get("modules")):
        return False
    modules = frozenset(note["modules"])
    return all(map(is_pfbench_module, modules)) and sources(modules) != note.get("digest")


# --- merging --------------------------------------------------------------------------------------


@dataclass
class MergeReport:
    """Result of merging another store into a store.

    Attributes
    ----------
    added, equal
        Number of copied entries, and number of equal entries that existed in both stores.
    refused
        Kind, key and first difference of entries whose content differs between the stores.
    damaged
        Damaged entries of the other store.
    """

    added: int = 0
    equal: int = 0
    refused: list[tuple[str, str, str]] = field(default_factory=list)
    damaged: list[DamageReport] = field(default_factory=list)


def merge(store: Store, other: Store, *, progress: Progress = lambda: None) -> MergeReport:
    """Copy to `store` those entries of the store `other` that it lacks.

    Two entries of the same key must agree in everything but times and notes. If they differ, the
    entry of the other store is refused. A run of this store that was killed from outside is
    replaced by the other store's run.

    Raises
    ------
    InputError
        If both stores have the same folder.
    StorageError
        If a file cannot be read or written; entries copied before remain.
    """
    if store.folder.resolve() == other.folder.resolve():
        raise InputError(f"{other.folder} is the store itself: name another store to merge.")
    return merge_entries(store, other.records(), progress=progress)


def merge_entries(
    store: Store, entries: Iterable[Record | DamageReport], *, progress: Progress = lambda: None
) -> MergeReport:
    """Copy the entries of another store, which may be in the old format; see `merge`."""
    report = MergeReport()
    with WriteBatch[None](store) as batch:
        for entry in entries:
            progress()
            if isinstance(entry, DamageReport):
                report.damaged.append(entry)
                continue
            try:
                reference = decode(entry)
            except DamagedFileError as damage:
                report.damaged.append(damage.report(*entry[:2]))
                continue
            kind, key = entry[:2]
            row = store.get(key) if kind == "run" else store.get_row(kind, key)
            differs = None if row is None else difference(kind, row, reference)
            if row is None or (differs and _was_killed(row)):
                report.added += 1
                batch.add(entry)
            elif differs is None or _was_killed(reference):
                report.equal += 1
            else:
                report.refused.append((kind, key, differs))
    return report


def _was_killed(content: Any) -> bool:
    return isinstance(content, StoredRun) and content.run.status in UNINFORMATIVE


def difference(kind: str, computed: Any, reference: Any) -> str | None:
    """Return the first difference between two entries with the same key; None if they agree.

    Differences in times and notes are ignored.
    """
    if kind != "run":
        return _first_difference(computed, reference)
    first_difference = _first_difference(_run_as_json(computed.run), _run_as_json(reference.run))
    if first_difference is None and dict(computed.environment) != dict(reference.environment):
        return "environment"
    return first_difference or trace_difference(computed.run, reference.run)


def _run_as_json(run: Run) -> dict[str, Any]:
    """Return a run as JSON data for comparison, with user files named without their folders."""
    names = {
        "problem": replace_file_by_module(run.problem),
        "algorithm": replace_file_by_module(run.algorithm),
    }
    return run.as_json() | names


def _first_difference(computed: Mapping[str, Any], reference: Mapping[str, Any]) -> str | None:
    for name in (name for name in dict.fromkeys([*computed, *reference]) if name not in TIMES):
        # As JSON, so that two NaN are the same.
        texts = [
            json.dumps(row.get(name), sort_keys=True, default=str) for row in (computed, reference)
        ]
        if texts[0] != texts[1] or (name in computed) != (name in reference):
            return str(name)
    return None


def trace_difference(run: Run, recorded: Run, tolerance: float | None = None) -> str | None:
    """Return the first difference of two traces, except in times; None if they agree.

    A column may differ by `tolerance` times its largest absolute value. If `tolerance` is None, the
    columns must be bitwise equal.
    """
    if run.columns != recorded.columns:
        return "columns of the trace"
    if len(run.rows) != len(recorded.rows):
        return "length of the trace"
    columns = zip(*run.rows, strict=True), zip(*recorded.rows, strict=True)
    far = "" if tolerance is None else f", by more than {tolerance:g} of its largest value"
    for name, column, other in zip(run.columns, *columns, strict=False):
        if name not in TIMES and not _values_equal(column, other, tolerance):
            return f"column {name} of the trace{far}"
    return None


def _values_equal(
    computed: Sequence[Any], reference: Sequence[Any], tolerance: float | None
) -> bool:
    if tolerance is None:
        return np.array_equal(computed, reference, equal_nan=True)
    item, other = (np.array(each, dtype=float) for each in (computed, reference))
    scale = float(np.max(np.abs(item), initial=0.0, where=np.isfinite(item)))
    return np.allclose(item, other, rtol=0.0, atol=tolerance * scale, equal_nan=True)
