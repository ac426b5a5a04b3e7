"""Store of runs, verdicts, findings, certificates and faults: one SQLite file.

An entry is a row, with a kind, a key and a hash of all its columns. A damaged entry is moved to the
table ``damaged``, never deleted, and counts as missing.
"""

import json
import logging
import os
import sqlite3
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from sys import getsizeof
from threading import RLock
from typing import Any, Generic, Self, TypeVar

from pfbench.base.errors import InputError, StorageError
from pfbench.base.files import check_writable
from pfbench.runs.loop.run import Run
from pfbench.runs.storage.damage import KEY, DamagedFileError
from pfbench.runs.storage.database import (
    NAME,
    OpenDatabase,
    find_structural_error,
    transaction,
    translate_errors,
)
from pfbench.runs.storage.entry_list import Listing, Row, check_and_list_rows, gc_disabled
from pfbench.runs.storage.field_types import check_metadata_types
from pfbench.runs.storage.serialization import (
    Record,
    StoredRun,
    StoredTrace,
    decode_metadata,
    has_right_hash,
    json_default,
    make_record,
    make_stored_runs,
    run_record,
)

_NAMES = ", ".join(Record._fields)
_READ = f"SELECT {_NAMES} FROM entries"
_READ_RUNS = (
    f"SELECT chosen.value, {_NAMES} FROM (SELECT value FROM json_each(?)) AS chosen"
    " LEFT JOIN entries ON kind = 'run' AND key = chosen.value"
)
_WRITE = (
    f"INSERT INTO entries ({_NAMES}) VALUES ({', '.join('?' * len(Record._fields))})"
    " ON CONFLICT (kind, key) DO UPDATE SET "
    + ", ".join(f"{name} = excluded.{name}" for name in Record._fields)
)
_SET_ASIDE = (
    f"INSERT INTO damaged ({_NAMES}, reason, detail) SELECT {_NAMES}, ?, ? FROM entries"
    " WHERE kind = ? AND key = ?"
)
_AT_ONCE, _MOST_BYTES = 500, 2**24  # rows, and about their bytes, that are read together
_MOST_ROWS = 2**14  # rows of traces that are in one array
_FAST, _LONGEST_WAIT = 0.02, 0.25  # seconds
_LOG = logging.getLogger(__name__)
Report = TypeVar("Report")


class Store:
    """Folder with a database of finished runs, verdicts and other entries.

    Any number of processes may read and write it at the same time.

    Parameters
    ----------
    folder
        Folder of the store; created if it is missing.
    make
        Whether a missing store is created; if false, the store must exist.

    Raises
    ------
    StorageError
        If the folder cannot be created, read or written; the message has a remedy.
    InputError
        If `make` is false, and there is no store.
    """

    def __init__(self, folder: Path | str, *, make: bool = True) -> None:
        self.folder = folder = Path(folder)
        self.path = folder / NAME
        self._mutex = RLock()
        self._opened: OpenDatabase | None = None
        if os.path.lexists(self.path):
            return
        if not make:
            raise InputError(
                f"there is no store in {folder}: choose another with --store, or read one of an "
                "earlier pfbench version by `pfbench store import`."
            )
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StorageError(
                f"the store {folder} cannot be created ({error.strerror}): choose another with "
                "--store, or fix its permissions."
            ) from error
        _ = self._database

    def __getstate__(self) -> dict[str, Any]:
        return {"folder": self.folder}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        self.__init__(state["folder"])  # type: ignore[misc]

    def close(self) -> None:
        """Close the file; the next access to the store opens it again."""
        if self._opened is not None:
            self._opened.close()
            self._opened = None

    @property
    def _database(self) -> sqlite3.Connection:
        """Connection to the file of the store; a forked process opens a new one."""
        if self._opened is None or self._opened.process != os.getpid():
            with self._mutex:
                self._opened = OpenDatabase(self.path)
        return self._opened.connection

    # --- writing ----------------------------------------------------------------------------------

    def check_writable(self) -> None:
        """Raise if the store cannot be written, before work whose results would be lost.

        Raises
        ------
        StorageError
            If the store cannot be written.
        """
        subject, remedy = f"the store {self.folder}", "choose another with --store"
        check_writable(self.folder, subject, folder=True, remedy=remedy, error=StorageError)

    def put(
        self,
        key: str,
        run: Run,
        environment: Mapping[str, str],
        notes: Mapping[str, Any] | None = None,
    ) -> None:
        """Write a finished run to the disk; if interrupted, the store is left unchanged.

        Raises
        ------
        StorageError
            If the disk is full or the store cannot be written; entries stored before remain.
        """
        self.write([run_record(check_key_characters(key), run, environment, notes)])

    def put_row(
        self, kind: str, key: str, row: Mapping[str, Any], notes: Mapping[str, Any] | None = None
    ) -> None:
        """Write a verdict, a finding or a certificate, given as JSON object; see `put`.

        Raises
        ------
        InputError
            If the row is not JSON, or a field has another type than in entries of this kind.
        """
        try:
            plain = json.loads(json.dumps(row, allow_nan=False, default=json_default))
            meta = {"row": plain, "notes": dict(notes or {})}
            check_metadata_types(kind, meta)
        except ValueError as error:
            raise InputError(f"the row of {kind} {key} is not valid JSON ({error}).") from error
        except DamagedFileError as error:
            raise InputError(f"the row of {kind} {key} is not valid ({error}).") from error
        self.write([make_record(kind, check_key_characters(key), meta)])

    def write(self, records: Sequence[Record]) -> None:
        """Write entries in one transaction; each replaces the stored entry of its key.

        For errors, see `put`.
        """
        if not records:
            return
        first = f"{records[0].kind} {records[0].key}"
        subject = first if len(records) == 1 else f"{first} and {len(records) - 1:,} more"
        with self._mutex, translate_errors(self.path, subject), transaction(self._database):
            self._database.executemany(_WRITE, records)

    def quarantine(self, kind: str, key: str, damage: DamagedFileError) -> bool:
        """Move a damaged entry to the table ``damaged``; return whether it was moved.

        The entry stays if the store cannot be written, or another process has repaired it
        meanwhile.
        """
        with suppress(StorageError), self._mutex, translate_errors(self.path, f"{kind} {key}"):
            with transaction(self._database):
                try:
                    record = self._find(kind, key)
                    if record is None or decode_metadata(record):
                        return False
                except DamagedFileError:
                    pass
                self._database.execute(_SET_ASIDE, (damage.reason, damage.detail, kind, key))
                self._delete([(kind, key)])
            return True
        return False

    def remove(self, entries: Iterable[tuple[str, str]]) -> None:
        """Remove the entries of these kinds and keys, and free their space on the disk."""
        with self._mutex, translate_errors(self.path, "the removal"):
            with transaction(self._database):
                self._delete(entries)
            with suppress(sqlite3.OperationalError):  # another process reads, or the disk is full
                self._database.execute("VACUUM")

    def _delete(self, entries: Iterable[tuple[str, str]]) -> None:
        self._database.executemany("DELETE FROM entries WHERE kind = ? AND key = ?", entries)

    # --- reading ----------------------------------------------------------------------------------

    def get(self, key: str) -> StoredRun | None:
        """Return a stored run, or None if there is none.

        A damaged run is logged and quarantined, and the result is None, so that the run is executed
        again.

        Raises
        ------
        StorageError
            If the store cannot be read.
        """
        return next(self.get_runs([check_key_characters(key)]), None)

    def get_runs(self, keys: Sequence[str]) -> Iterator[StoredRun]:
        """Yield the stored runs of those keys that have one; see `get`."""
        waiting, rows = list[tuple[str, Mapping[str, Any], StoredTrace]](), 0
        for key, record in zip(keys, self.read_runs(keys), strict=True):
            if (content := self._decode("run", key, record)) is not None:
                waiting.append((key, *content))
                rows += content[0]["trace"]["rows"]
            if rows > _MOST_ROWS or len(waiting) >= _AT_ONCE:
                yield from make_stored_runs(waiting)
                waiting, rows = [], 0
        yield from make_stored_runs(waiting)

    def intact_statuses(self, keys: Sequence[str]) -> dict[str, str]:
        """Return the status of each stored run of those keys whose row has the right hash.

        No row is unpacked, so that this takes a fifth of the time of `get_runs`.
        """
        pairs = zip(keys, self.read_runs(keys), strict=True)
        with suppress(TypeError):  # a content that is not bytes
            return {key: str(row.status) for key, row in pairs if row and has_right_hash(row)}
        return {}

    def get_row(self, kind: str, key: str) -> Mapping[str, Any] | None:
        """Return a stored verdict, finding or certificate, or None; see `get`."""
        metadata = self.get_metadata(kind, key)
        row: Mapping[str, Any] | None = metadata and metadata["row"]
        return row

    def get_metadata(self, kind: str, key: str) -> Mapping[str, Any] | None:
        """Return the metadata of an entry, or None; see `get`."""
        content = self._decode(kind, key, self.read(kind, key))
        return None if content is None else content[0]

    def read(self, kind: str, key: str) -> Record | None:
        """Return the row of an entry without checking it; None if there is no such entry."""
        check_key_characters(key)
        with self._mutex, translate_errors(self.path):
            return self._find(kind, key)

    def _find(self, kind: str, key: str) -> Record | None:
        rows = self._fetch(f"{_READ} WHERE kind = ? AND key = ?", kind, key)
        return Record(*rows[0]) if rows else None

    def _fetch(
        self, query: str, *arguments: Any, collect: Callable[[Iterable[Any]], Any] = list
    ) -> Any:
        """Return the collected rows of a query; invalid Unicode becomes replacement characters."""
        try:
            return collect(self._database.execute(query, arguments))
        except sqlite3.OperationalError as error:
            if "decode" not in str(error):
                raise
            self._database.text_factory = lambda data: data.decode(errors="replace")
            try:
                return collect(self._database.execute(query, arguments))
            finally:
                self._database.text_factory = str

    def _decode(
        self, kind: str, key: str, record: Record | None
    ) -> tuple[Mapping[str, Any], StoredTrace] | None:
        """Return the content of a row; None if there is none, or it is damaged and quarantined."""
        try:
            return None if record is None else decode_metadata(record)
        except DamagedFileError as damage:
            moved = self.quarantine(kind, key, damage)
            location = "set aside in its table damaged" if moved else "not moved"
            statement = "%s %s of %s is damaged: %s; it is %s, and counts as missing."
            _LOG.warning(statement, kind, key, self.path, damage, location)
            return None

    def keys(self, kind: str = "run") -> Iterator[str]:
        """Return the keys of all entries of a kind, sorted."""
        query = "SELECT key FROM entries WHERE kind = ? ORDER BY key"
        with self._mutex, translate_errors(self.path):
            keys = [key for (key,) in self._fetch(query, kind)]
        return (key for key in keys if isinstance(key, str) and KEY.fullmatch(key))

    def records(self) -> Iterator[Record]:
        """Yield the rows of all entries in batches, without checking them."""
        last = -(2**63)
        query = f"SELECT id, {_NAMES} FROM entries WHERE id > ? ORDER BY id LIMIT {_AT_ONCE}"
        while True:
            with self._mutex, translate_errors(self.path):
                rows = self._fetch(query, last, collect=_take_until_large)
            yield from (Record(*row[1:]) for row in rows)
            if not rows:
                return
            last = rows[-1][0]

    def read_runs(self, keys: Sequence[str]) -> Iterator[Record | None]:
        """Yield the rows of runs in the order of their keys, unchecked; None for a missing run."""
        done = 0
        while done < len(keys):
            chosen = json.dumps(keys[done : done + _AT_ONCE])
            with self._mutex, translate_errors(self.path):
                rows = self._fetch(_READ_RUNS, chosen, collect=_take_until_large)
            for key, *row in rows:
                if keys[done : done + 1] == [key]:  # a corrupted index may have a key twice
                    yield Record(*row) if row[0] else None
                    done += 1

    def find_structural_error(self) -> str:
        """Return the structural error of the file; empty if there is none."""
        with self._mutex:
            return find_structural_error(self._database)

    def listing(
        self, families: Collection[str] | None = None, columns: Collection[str] = Row._fields
    ) -> Listing:
        """Return a listing of all valid and all damaged entries, without quarantining any.

        The types and values of the columns are checked, and the checksum of each entry if all
        columns are read. An entry without its other columns may be damaged.

        Parameters
        ----------
        families
            If given, only runs whose keys without limits are among them are listed.
        columns
            Columns to read, among them kind and key; the others are None.
        """
        names = [name for name in Row._fields if name in columns]
        cells = ("length(meta) + length(trace)" if name == "bytes" else name for name in names)
        query, arguments = f"SELECT {', '.join(cells)}, checksum FROM entries", []
        if families is not None:
            query += " WHERE kind = 'run' AND family IN (SELECT value FROM json_each(?))"
            arguments.append(json.dumps([*families]))
        collect = partial(check_and_list_rows, names=names)
        with self._mutex, translate_errors(self.path), gc_disabled():
            listing: Listing = self._fetch(query, *arguments, collect=collect)
        return listing

    def rows(self) -> list[Row]:
        """Return the listed columns of each valid entry, in the order of ``pfbench store list``."""
        return self.listing().rows


def _take_until_large(rows: Iterable[Any]) -> list[Any]:
    """Return the first rows from an iterator, until their total size is large."""
    first, size = [], 0
    for row in rows:
        first.append(row)
        size += sum(map(getsizeof, row[-3:]))
        if size >= _MOST_BYTES:
            break
    return first


class WriteBatch(Generic[Report]):
    """Entries that a store writes in one transaction, each with a report to return afterwards.

    An entry waits only while others follow fast, because a disk can be flushed only some hundred
    times a second. If the process is killed, less than a second of work is lost.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._records: list[Record] = []
        self._reports: list[Report] = []
        self._first = self._last = -_FAST

    def __enter__(self) -> Self:
        """Return the batch; its waiting entries are written when the block ends or raises."""
        return self

    def __exit__(self, *error: object) -> None:
        self.flush()

    def add(self, record: Record, reports: Iterable[Report] = ()) -> list[Report]:
        """Add an entry with its reports; return the reports of all entries that this call wrote."""
        now = time.monotonic()
        follows = now - self._last < _FAST
        if not self._records:
            self._first = now
        self._last = now
        self._records.append(record)
        self._reports += reports
        full = len(self._records) >= _AT_ONCE or now - self._first > _LONGEST_WAIT
        return [] if follows and not full else self.flush()

    def flush(self) -> list[Report]:
        """Write all waiting entries, and return their reports."""
        records, reports = self._records, self._reports
        self._records, self._reports = [], []
        self._store.write(records)
        return reports


def has_store(folder: Path) -> bool:
    """Return whether a folder has a store."""
    return os.path.lexists(folder / NAME)


def check_key_characters(key: str) -> str:
    """Raise unless a key consists of 8 to 128 letters, digits, hyphens and underscores.

    Raises
    ------
    InputError
        If the key has another form.
    """
    if not KEY.fullmatch(key):
        raise InputError(f"{key!r} is not a key: a key consists of 8 to 128 letters or digits.")
    return key
