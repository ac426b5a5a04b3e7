"""The store of finished runs, verdicts, findings and certificates: a file each, named by its key.

Many runs lie in segments, once they are packed down (`pfbench.runs.storage.segment_index`). Before
that, a run is a Parquet file: the trace as its table, everything else as JSON in the table's
metadata. A verdict or a certificate is a JSON file. Each is written beside its final name, flushed
to the disk, and renamed, so that a file with the right name is whole. A file that is damaged all
the same is set aside in ``damaged``, never deleted, and the store goes on as if it were missing.
"""

import json
import logging
import os
from collections.abc import Callable, Iterator, Mapping
from heapq import merge
from itertools import takewhile
from pathlib import Path
from typing import Any

from pfbench.base.errors import InputError, StorageError
from pfbench.base.files import atomic_write, check_writable
from pfbench.runs.loop.run import Run
from pfbench.runs.storage import safe_open
from pfbench.runs.storage.damage import DamagedFileError
from pfbench.runs.storage.entry_kinds import KEY, KINDS
from pfbench.runs.storage.index import Listing, Row, StoreIndex, gc_disabled, make_row
from pfbench.runs.storage.segment_index import SegmentIndex
from pfbench.runs.storage.segment_writer import SEGMENTS
from pfbench.runs.storage.serialization import (
    SCHEMA,
    Columns,
    StoredRun,
    encode_metadata,
    json_default,
    make_entry,
    pack_run_file,
    parse,
    read_header,
    row_digest,
    run_columns,
    run_metadata,
)
from pfbench.runs.storage.store_files import iterate_files, translate_os_errors, unreadable_error

DAMAGED = "damaged"
"""The folder of a store for what is set aside."""

_LOG = logging.getLogger(__name__)


class Store:
    """A folder of finished runs, and of verdicts and certificates beside them.

    Any number of processes may read and write it at the same time.

    Parameters
    ----------
    folder
        The store; it is made if it is not there.
    make
        False: it must be there.

    Raises
    ------
    StorageError
        If the folder cannot be made, read or written; the message says what to do.
    InputError
        If it must be there, and is not.
    """

    def __init__(self, folder: Path | str, *, make: bool = True) -> None:
        self.folder = folder = Path(folder)
        self._index = StoreIndex(folder)
        self.segments = SegmentIndex(folder)
        if not make and not (folder / "runs").is_dir():
            raise InputError(f"there is no store in {folder}: name another with --store.")
        try:
            (folder / "runs").mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StorageError(
                f"the store {folder} cannot be made ({error.strerror}): choose another with "
                "--store, or mend its permissions."
            ) from error

    def path(self, key: str, kind: str = "run") -> Path:
        """Return the file of a key.

        Raises
        ------
        InputError
            If a key is no name of 8 to 128 letters, digits, - and _.
        """
        if not KEY.fullmatch(key):
            raise InputError(f"{key!r} is no key: it must be 8 to 128 letters or digits.")
        return self.folder / KINDS[kind].file.format(shard=key[:2], key=key)

    # --- writing ----------------------------------------------------------------------------------

    def check_writable(self) -> None:
        """Refuse a store that cannot be written before any work is done for it.

        Raises
        ------
        StorageError
            If it cannot.
        """
        check_writable(
            self.folder / "runs",
            f"the store {self.folder}",
            folder=True,
            remedy="choose another with --store",
            error=StorageError,
        )

    def put(
        self,
        key: str,
        run: Run,
        environment: Mapping[str, str],
        notes: Mapping[str, Any] | None = None,
    ) -> None:
        """Write a finished run; an interruption leaves either the whole file or none.

        Raises
        ------
        StorageError
            If the disk is full or the store cannot be written; what is stored already stays.
        """
        header = run_metadata(key, run, environment, notes or {})
        self.write("run", key, pack_run_file(encode_metadata(header), run_columns(run)), header)

    def put_row(
        self, kind: str, key: str, row: Mapping[str, Any], notes: Mapping[str, Any] | None = None
    ) -> None:
        """Write a verdict, a finding or a certificate: an object of JSON; see `put`.

        Raises
        ------
        InputError
            If the row is no JSON.
        """
        try:
            plain = json.loads(json.dumps(row, allow_nan=False, default=json_default))
        except ValueError as error:
            raise InputError(f"the row of {kind} {key} is no JSON ({error}).") from error
        header = {
            "schema": SCHEMA,
            "kind": kind,
            "key": key,
            "sha256": row_digest(plain),
            "row": plain,
            "notes": dict(notes or {}),
        }
        self.write(kind, key, json.dumps(header, indent=1).encode() + b"\n", header)

    def write(self, kind: str, key: str, data: bytes, header: Mapping[str, Any]) -> None:
        """Write the file of an entry as it is (`header` is for the index); see `put`."""
        path = self.path(key, kind)
        with translate_os_errors(self.folder, f"{kind} {key}"):
            safe_open.check_folders(path, self.folder)
            path.parent.mkdir(parents=True, exist_ok=True)
            with atomic_write(path) as file:
                file.write(data)
                file.flush()
                stamp = os.fstat(file.fileno())
        self._index.add(make_row(kind, key, header), stamp)

    # --- reading ----------------------------------------------------------------------------------

    def get(self, key: str) -> StoredRun | None:
        """Return a stored run, or None if there is none.

        A damaged file is reported to the log and set aside, and None is returned, so that it is
        run again.

        Raises
        ------
        StorageError
            If the file is there and cannot be read.
        """
        stored_run: StoredRun | None = self._get("run", key)
        return stored_run

    def get_row(self, kind: str, key: str) -> Mapping[str, Any] | None:
        """Return a stored verdict, finding or certificate, or None; see `get`."""
        row: Mapping[str, Any] | None = self._get(kind, key)
        return row

    def stat_entry(self, kind: str, key: str) -> tuple[Any, Mapping[str, Any]] | None:
        """Return the content of a file and its metadata, as `parse` does; None if there is none.

        Raises
        ------
        DamagedFileError
            If it is damaged; it stays where it is.
        StorageError
            If the system does not let it be read.
        """
        data = self.read_file(kind, key)
        if data is not None:
            return parse(kind, key, data)
        raw = self._read_packed(kind, key)
        return None if raw is None else make_entry(key, *raw)

    def _get(self, kind: str, key: str) -> Any:
        try:
            stat_entry = self.stat_entry(kind, key)
        except DamagedFileError as damage:
            aside = self.quarantine(kind, key)
            location = "not moved" if aside is None else f"set aside as {aside}"
            statement = "%s %s is damaged: %s; its file is %s, and it counts as missing."
            _LOG.warning(statement, kind, key, damage, location)
            return None
        return None if stat_entry is None else stat_entry[0]

    def header(self, kind: str, key: str) -> Mapping[str, Any] | None:
        """Return the metadata of an entry, of a run with a file only its end is read; see `look`.

        Raises
        ------
        DamagedFileError
            If they are damaged.
        StorageError
            If the system does not let them be read.
        """
        try:
            return read_header(kind, key, self.path(key, kind))
        except FileNotFoundError:
            raw = self._read_packed(kind, key)
            return None if raw is None else make_entry(key, *raw)[1]
        except OSError as error:
            raise unreadable_error(self.path(key, kind), error) from error

    def read(self, kind: str, key: str) -> bytes | None:
        """Return the bytes of an entry's file, of a packed run those that it had; None without one.

        Raises
        ------
        DamagedFileError
            If a packed run is damaged; see `read_file`.
        StorageError
            If the system does not let it be read.
        """
        data = self.read_file(kind, key)
        raw = None if data is not None else self._read_packed(kind, key)
        if raw is None:
            return data
        make_entry(key, *raw)
        return pack_run_file(*raw[:2])

    def _read_packed(self, kind: str, key: str) -> tuple[bytes, Columns, str] | None:
        try:
            return self.segments.read_bytes(key) if kind == "run" else None
        except OSError as error:
            raise unreadable_error(self.folder / SEGMENTS, error) from error

    def read_file(self, kind: str, key: str) -> bytes | None:
        """Return the bytes of a file, or None if there is none.

        Raises
        ------
        DamagedFileError
            If no regular file is in its place, or one that is larger than any that pfbench writes.
        StorageError
            If the system does not let it be read.
        """
        path = self.path(key, kind)
        try:
            os.lstat(path)  # most runs of a large store are packed
            safe_open.check_folders(path, self.folder)
            return safe_open.read_file(path, KINDS[kind].max_bytes)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise unreadable_error(path, error) from error

    def quarantine(self, kind: str, key: str) -> Path | None:
        """Move a damaged file, or what is in its place, to the store's folder ``damaged``.

        Its name is kept. Nothing is moved if it is whole, as where another process has made it
        again, or if a folder of the store is a link.

        Returns
        -------
        Path or None
            Where it lies now; None if it was not moved.
        """
        path = self.path(key, kind)
        folder = self.folder / DAMAGED / path.parent.parent.name
        aside, number = folder / path.name, 1
        try:
            safe_open.check_folders(aside, self.folder)
            safe_open.check_folders(path, self.folder)
            if _parses(lambda: self.stat_entry(kind, key)):
                return None
            folder.mkdir(parents=True, exist_ok=True)
            while os.path.lexists(aside):
                number += 1
                aside = folder / f"{path.stem}.{number}{path.suffix}"
            path.rename(aside)
            max_bytes = KINDS[kind].max_bytes
            if _parses(lambda: parse(kind, key, safe_open.read_file(aside, max_bytes))):
                aside.replace(path)  # it was written anew in between
                return None
        except (OSError, DamagedFileError):
            return None
        return aside

    def keys(self, kind: str = "run") -> Iterator[str]:
        """Return the keys of all entries of a kind, sorted."""
        loose = (key for _, key, _, _ in iterate_files(self.folder, [kind]))
        if kind != "run":
            return loose
        packed = self.segments.keys()
        return iter(sorted({*loose, *packed})) if packed else loose

    @gc_disabled()
    def listing(self, *, write: bool = True) -> Listing:
        """Return a row for each entry, and what is damaged; nothing is moved.

        Of what has a file the index is asked first. It is believed only where the size and the time
        of a file are those it was told; any other file is read, and the index written anew if
        `write` says so. Of packed runs the columns of a listing are read.
        """
        # Files first: what is packed down in between is found in its segment.
        listing = self._index.listing(iterate_files(self.folder, KINDS), _row, write=write)
        loose = {row["key"] for row in listing.rows if row["kind"] == "run"}
        try:
            rows, lost = self.segments.rows(loose)
        except OSError as error:
            raise unreadable_error(self.folder / SEGMENTS, error) from error
        if not rows and not lost:
            return listing
        runs = [*takewhile(lambda row: row["kind"] == "run", listing.rows)]
        both = list(merge(runs, rows, key=lambda row: row["key"])) if runs else rows
        damaged = [("segment", name, damage) for name, damage in lost]
        return Listing(both + listing.rows[len(runs) :], listing.damaged + damaged)

    def rows(self) -> list[Row]:
        """Return a row for each entry that is whole, as ``pfbench store list --json`` prints it."""
        return self.listing().rows


def _parses(read: Callable[[], object]) -> bool:
    try:
        read()
    except DamagedFileError:
        return False
    return True


def _row(kind: str, key: str, path: str) -> Row:
    """Return the index's row of a file."""
    try:
        return make_row(kind, key, read_header(kind, key, path))
    except FileNotFoundError:
        raise
    except OSError as error:
        raise unreadable_error(path, error) from error
