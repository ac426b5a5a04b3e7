"""Repair of a store: copying the readable part of its damaged file to a new one."""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from pfbench.base.errors import StorageError
from pfbench.base.files import sync_folder, translate_os_errors
from pfbench.runs.storage.damage import DamagedFileError
from pfbench.runs.storage.database import NAME, connect_raw, lock_folder, translate_errors
from pfbench.runs.storage.serialization import Record, decode_metadata
from pfbench.runs.storage.store import Store
from pfbench.runs.storage.write_batch import WriteBatch

ASIDE = "damaged"
"""Folder of a store for its damaged files."""

_NAMES = ", ".join(Record._fields)
_LEAST_ROW = 256  # bytes: a file has no more rows than it has room for
_LEAST_GAP = 1000  # rows that are looked for one by one between two damaged pages


def salvage(store: Store) -> str:
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
    lock, alone = lock_folder(store.folder)
    try:
        if lock is not None and not alone:
            raise StorageError(
                f"the store {store.folder} is open in another process: end that process."
            )
        subject = f"the repaired store {store.folder}"
        with (
            translate_os_errors(subject),
            TemporaryDirectory(prefix=".repair-", dir=store.folder) as temporary,
        ):
            new = Store(temporary)
            with translate_errors(store.path):
                _copy_whole(store.path, new)
            new.close()
            aside = _move_aside(store.path)
            os.replace(new.path, store.path)
            sync_folder(store.folder)
    finally:
        if lock is not None:
            lock.close()
    return str(aside)


def _copy_whole(path: Path, new: Store) -> None:
    with WriteBatch[None](new) as batch:
        for row in _readable_rows(path):
            record = Record._make(row)
            with suppress(DamagedFileError):
                decode_metadata(record)
                batch.add(record, [])


def _readable_rows(path: Path) -> Iterator[tuple[object, ...]]:
    """Yield the readable rows of a damaged file: from both ends, then one by one in between."""
    try:
        connection = connect_raw(path)
    except (sqlite3.DatabaseError, UnicodeDecodeError):
        return
    with closing(connection):
        low, high = -1, -1
        for order in ("ASC", "DESC"):
            try:
                query = f"SELECT id, {_NAMES} FROM entries NOT INDEXED ORDER BY id {order}"
                for number, *row in connection.execute(query):
                    if order == "ASC":
                        low = number
                    elif number <= low:
                        return
                    else:
                        high = number
                    yield tuple(row)
                return
            except (sqlite3.Error, OverflowError, UnicodeDecodeError):
                continue
        limit = low + 1 + max(_LEAST_GAP, path.stat().st_size // _LEAST_ROW)
        for number in range(low + 1, min(high, limit) if high > low else limit):
            with suppress(sqlite3.Error, UnicodeDecodeError):
                query = f"SELECT {_NAMES} FROM entries NOT INDEXED WHERE id = ?"
                yield from connection.execute(query, (number,)).fetchall()


def _move_aside(path: Path) -> Path:
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
