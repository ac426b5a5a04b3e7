"""Database file of a store: opening, and messages for errors of the disk.

The database is a SQLite file. It has a write-ahead log if the file system lets processes share
memory, and otherwise, or on a network disk, a rollback journal. The file is untrusted: its tables
must be exactly those below, and only a regular file is opened.
"""

import os
import sqlite3
import stat
import sys
import time
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO
from urllib.parse import quote

from pfbench.base.errors import StorageError
from pfbench.runs.storage.damage import OPEN_FLAGS
from pfbench.runs.storage.serialization import Record

if sys.platform != "win32":
    import fcntl

NAME = "store.sqlite"
"""Name of the database file in the folder of a store."""

LOCK = "store.lock"
"""File on which each process that has a store open holds a shared lock."""

COLUMN_TYPES = {
    **dict.fromkeys(Record._fields, "TEXT"),
    **dict.fromkeys(("seed", "iterations", "stored", "checksum"), "INTEGER"),
    **{"seconds": "REAL", "meta": "BLOB", "trace": "BLOB", "sha256": "BLOB"},
}
"""SQL type of each column of an entry."""

_COLUMNS = ", ".join(f"{name} {kind}" for name, kind in COLUMN_TYPES.items())
_TABLES = (
    f"CREATE TABLE entries (id INTEGER PRIMARY KEY, {_COLUMNS}, UNIQUE (kind, key))",
    f"CREATE TABLE damaged (id INTEGER PRIMARY KEY, {_COLUMNS}, reason TEXT, detail TEXT)",
)
_PATIENCE = 60.0  # seconds to wait for another process that writes
_LONGEST = 2**28  # bytes of the largest cell that is read
_NETWORK = frozenset(
    {"nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "afs", "ceph", "lustre", "gpfs", "beegfs"}
)
_LOG_FILES = ("-wal", "-journal")
_SHARED, _EXCLUSIVE = "mode=rwc", "mode=rwc exclusive"
_DAMAGED = frozenset({"SQLITE_CORRUPT", "SQLITE_NOTADB", "SQLITE_ERROR", "SQLITE_SCHEMA", ""})


class DamagedStoreError(StorageError):
    """Error for a store file that is damaged, or not a store of pfbench."""


def open_database(path: Path) -> sqlite3.Connection:
    """Open the file of a store, creating it if it is missing.

    Raises
    ------
    StorageError
        If the system does not allow it.
    DamagedStoreError
        If the file is damaged, or not a store.
    """
    _check_regular(path)
    errors = []
    for mode in (_SHARED, _EXCLUSIVE, "mode=ro", "immutable=1"):
        with translate_errors(path):
            try:
                return _open(path, mode)
            except sqlite3.OperationalError as error:
                if _name(error) in ("SQLITE_BUSY", "SQLITE_ERROR") or not path.exists():
                    raise
                errors.append(error)
    raise storage_error(path, errors[0]) from errors[0]


def _open(path: Path, mode: str) -> sqlite3.Connection:
    """Open a database file in one of four modes: shared, exclusive, read-only or immutable.

    A new file on a local disk gets a write-ahead log. Where processes cannot share memory, the log
    of an older file is removed (`_EXCLUSIVE`).
    """
    is_new = not path.exists()
    connection = _connect(path, mode.partition(" ")[0])
    try:
        if mode == _SHARED and is_new and not _is_on_network(path.parent):
            _retry_journal_mode(connection, "WAL")
        elif mode == _EXCLUSIVE:
            connection.execute("PRAGMA locking_mode = EXCLUSIVE")
            _retry_journal_mode(connection, "DELETE")
            connection.execute("PRAGMA locking_mode = NORMAL")
        _create_or_check_tables(connection, path)
        if mode == _SHARED:
            # Where no memory can be shared a log may still be read.
            connection.execute("BEGIN IMMEDIATE")
            connection.execute("ROLLBACK")
    except BaseException:
        connection.close()
        raise
    return connection


def _connect(path: Path, mode: str) -> sqlite3.Connection:
    connection = sqlite3.connect(
        f"file:{quote(os.fspath(path.absolute()))}?{mode}",
        uri=True,
        timeout=_PATIENCE,
        isolation_level=None,
        check_same_thread=False,
    )
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LONGEST)
    for statement in ("trusted_schema = OFF", "cell_size_check = ON"):
        connection.execute(f"PRAGMA {statement}")
    return connection


def open_damaged_database(path: Path) -> sqlite3.Connection:
    """Open a damaged file as far as possible, without checking its tables."""
    _check_regular(path)
    return _connect(path, "mode=rw")


def _retry_journal_mode(connection: sqlite3.Connection, mode: str) -> None:
    """Set the journal mode; retry while another process is setting it, too.

    SQLite itself does not wait in this case.
    """
    until = time.monotonic() + _PATIENCE
    while True:
        try:
            connection.execute(f"PRAGMA journal_mode = {mode}").fetchall()
            return
        except sqlite3.OperationalError as error:
            if _name(error) != "SQLITE_BUSY" or time.monotonic() > until:
                raise
            time.sleep(0.01)


def _create_or_check_tables(connection: sqlite3.Connection, path: Path) -> None:
    """Create the tables of a new file, or raise if the file has other tables."""
    query = "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY rowid"
    if not connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
        with transaction(connection):
            if not connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
                for table in _TABLES:
                    connection.execute(table)
    tables = tuple(sql for (sql,) in connection.execute(query))
    if tables != _TABLES:
        raise damage_error(path, "its tables are not those of this version of pfbench")
    connection.execute("PRAGMA synchronous = FULL")


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """Commit the block as one transaction; its changes are on the disk at the end."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            with suppress(sqlite3.Error):
                connection.execute("ROLLBACK")
        raise


def find_structural_error(connection: sqlite3.Connection, *, quick: bool = False) -> str:
    """Return a description of the structural error of a file; empty if there is none."""
    try:
        pragma = "quick_check" if quick else "integrity_check"
        (text,) = connection.execute(f"PRAGMA {pragma}(1)").fetchone()
    except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
        text = str(error)
    return "" if text == "ok" else str(text).splitlines()[-1]


# --- who has it open ------------------------------------------------------------------------------


def has_leftover_journal(path: Path) -> bool:
    """Return whether a journal lies next to a file, from an open or killed process."""
    for suffix in _LOG_FILES:
        with suppress(OSError):
            if os.stat(f"{path}{suffix}").st_size:
                return True
    return False


def lock_or_share(folder: Path) -> tuple[BinaryIO | None, bool]:
    """Acquire a lock on a store; return the lock, and whether no other process holds a lock.

    The lock is exclusive if no other process holds one, and shared otherwise. If the system offers
    no locks, the lock may be None, and other processes are assumed to hold one.
    """
    file = None
    with suppress(OSError):
        file = os.fdopen(os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | OPEN_FLAGS, 0o666), "r+b")
    if file is None or sys.platform == "win32":
        return file, False
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        with suppress(OSError):
            fcntl.flock(file, fcntl.LOCK_SH)
        return file, False
    except OSError:
        return file, False
    return file, True


class OpenDatabase:
    """Open database of a store in one process, closed when the store is garbage-collected."""

    def __init__(self, path: Path) -> None:
        self.process = os.getpid()
        lock, is_alone = lock_or_share(path.parent)
        try:
            was_killed = is_alone and has_leftover_journal(path)
            self.connection = open_database(path)
            if was_killed and (wrong := find_structural_error(self.connection, quick=True)):
                self.connection.close()
                raise damage_error(path, wrong)
        except BaseException:
            if lock is not None:
                lock.close()
            raise
        if lock is not None and is_alone and sys.platform != "win32":
            with suppress(OSError):
                fcntl.flock(lock, fcntl.LOCK_SH)
        self.close = weakref.finalize(self, _close, self.connection, lock, self.process)


def _close(connection: sqlite3.Connection, lock: BinaryIO | None, process: int) -> None:
    if os.getpid() != process:  # a forked process has no right to it
        return
    with suppress(sqlite3.Error):
        connection.close()
    if lock is not None:
        lock.close()


def _check_regular(path: Path) -> None:
    """Raise if a pipe, device, link or folder is in place of a file, where SQLite might hang."""
    for suffix in ("", "-wal", "-journal", "-shm"):
        name = f"{path}{suffix}"
        try:
            mode = os.lstat(name).st_mode
        except OSError:  # it is missing, or SQLite cannot open it either
            continue
        # Without a shared memory SQLite has another journal.
        if not stat.S_ISREG(mode) and not (suffix == "-shm" and stat.S_ISDIR(mode)):
            raise DamagedStoreError(
                f"{name} is a link, a folder, a pipe or a device: remove it, or choose another "
                "store with --store."
            )


def _is_on_network(folder: Path) -> bool:
    """Return whether a folder is on a network disk, as far as the system knows."""
    try:
        mounts = Path("/proc/self/mounts").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
    own = folder.resolve()
    points = [line.split()[1:3] for line in mounts.splitlines() if len(line.split()) > 2]
    above = [(point, kind) for point, kind in points if own.is_relative_to(point)]
    kind = max(above, key=lambda item: len(item[0]), default=("", ""))[1]
    return kind in _NETWORK or kind.startswith("fuse.ssh")


# --- sentences ------------------------------------------------------------------------------------


def _name(error: sqlite3.Error) -> str:
    name: str = getattr(error, "sqlite_errorname", "") or ""
    return "_".join(name.split("_")[:2])


def damage_error(path: Path, detail: str) -> DamagedStoreError:
    """Return the error for a damaged file."""
    return DamagedStoreError(
        f"the store's file {path} is damaged ({detail}): `pfbench store check --repair --store "
        f"{path.parent}` keeps the readable entries, and moves the file aside."
    )


def storage_error(path: Path, error: sqlite3.Error, subject: str = "") -> StorageError:
    """Return a `StorageError` that describes a failure of SQLite.

    Parameters
    ----------
    subject
        Name of the entry that could not be stored; empty if the file could not be read.
    """
    if _name(error) in _DAMAGED:
        return damage_error(path, str(error))
    subject = f"{subject} could not be stored in" if subject else "entries could not be read from"
    return StorageError(
        f"{subject} {path.parent} ({error}): free some space, and repeat the command when no other "
        "process writes, or fix its permissions, or choose another store with --store; entries "
        "stored before are safe."
    )


@contextmanager
def translate_errors(path: Path, subject: str = "") -> Iterator[None]:
    """Convert SQLite errors raised in the block to storage errors; see `storage_error`."""
    try:
        yield
    except sqlite3.Error as error:
        raise storage_error(path, error, subject) from error
    except UnicodeDecodeError as error:  # in the schema, or in SQLite's message about it
        raise damage_error(path, f"its text is not UTF-8: {error.reason}") from error
