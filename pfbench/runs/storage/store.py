"""The store of finished runs, verdicts, findings and certificates: a file each, named by its key.

A run is a Parquet file: the trace as its table, everything else as JSON in the table's metadata. A
verdict or a certificate is a JSON file. Each is written beside its final name, flushed to the disk,
and renamed, so that a file with the right name is whole. A file that is damaged all the same is
set aside in ``damaged``, never deleted, and the store goes on as if it were missing.
"""

import errno
import hashlib
import json
import logging
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from pfbench.base.counts import Counts
from pfbench.base.errors import InputError, StorageError
from pfbench.base.files import check_writable, whole
from pfbench.runs.loop.run import TRACE_COLUMNS, Run
from pfbench.runs.storage.damaged import DAMAGES, Damaged
from pfbench.runs.storage.index import Index, Listing, Row, row_of

if TYPE_CHECKING:
    import pyarrow as pa

KINDS: Mapping[str, str] = MappingProxyType(
    {
        "run": "runs/{shard}/{key}.parquet",
        "verdict": "verdicts/{shard}/{key}.json",
        "finding": "findings/{shard}/{key}.json",
        "certificate": "certificates/{shard}/{key}.json",
        "fault": "faults/{shard}/{key}.json",
    }
)
"""The kinds of entries, with the file of each; a shard is a key's first two characters."""

DAMAGED = "damaged"
"""The folder of a store for what is set aside."""

SCHEMA = 1
"""Version of the metadata; files of another version are not read."""

_METADATA, _DIGEST = b"pfbench", b"pfbench.digest"
_MARK = b"PAR1"  # the first and last bytes of a Parquet file
_KEY = re.compile(r"[0-9a-zA-Z_-]{8,128}")
_INTEGERS = frozenset(TRACE_COLUMNS) - {"seconds"}
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class Entry:
    """A stored run with its key and the environment it was made in.

    `notes` is what the sweep that made it says beside: see `pfbench.runs.execute`.
    """

    key: str
    run: Run
    environment: Mapping[str, str]
    notes: Mapping[str, Any] = field(default_factory=dict)


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

    def __init__(self, folder: Path, *, make: bool = True) -> None:
        self.folder = folder
        self._index = Index(folder)
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
        if not _KEY.fullmatch(key):
            raise InputError(f"{key!r} is no key: it must be 8 to 128 letters or digits.")
        return self.folder / KINDS[kind].format(shard=key[:2], key=key)

    def __contains__(self, key: str) -> bool:
        return self.path(key).is_file()

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
        about = run.as_json() | {"own_output": run.own_output}
        del about["schema"]
        header = {
            "schema": SCHEMA,
            "key": key,
            "run": about,
            "environment": dict(environment),
            "notes": dict(notes or {}),
        }
        self.write("run", key, _parquet(run, json.dumps(header, default=_plain)), header)

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
            plain = json.loads(json.dumps(row, allow_nan=False, default=_plain))
        except ValueError as error:
            raise InputError(f"the row of {kind} {key} is no JSON ({error}).") from error
        header = {
            "schema": SCHEMA,
            "kind": kind,
            "key": key,
            "sha256": _row_digest(plain),
            "row": plain,
            "notes": dict(notes or {}),
        }
        self.write(kind, key, json.dumps(header, indent=1).encode() + b"\n", header)

    def write(self, kind: str, key: str, data: bytes, header: Mapping[str, Any]) -> None:
        """Write the file of an entry as it is (`header` is for the index); see `put`."""
        path = self.path(key, kind)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with whole(path) as file:
                file.write(data)
                file.flush()
                stamp = os.fstat(file.fileno())
        except OSError as error:
            raise _refused(f"{kind} {key}", self.folder, error) from error
        self._index.add(row_of(kind, key, header), stamp)

    # --- reading ----------------------------------------------------------------------------------

    def get(self, key: str) -> Entry | None:
        """Return a stored run, or None if there is none.

        A damaged file is reported to the log and set aside, and None is returned, so that it is
        run again.

        Raises
        ------
        StorageError
            If the file is there and cannot be read.
        """
        found: Entry | None = self._get("run", key)
        return found

    def get_row(self, kind: str, key: str) -> Mapping[str, Any] | None:
        """Return a stored verdict, finding or certificate, or None; see `get`."""
        row: Mapping[str, Any] | None = self._get(kind, key)
        return row

    def _get(self, kind: str, key: str) -> Any:
        data = self.read(self.path(key, kind))
        try:
            return None if data is None else parse(kind, key, data)[0]
        except Damaged as damage:
            aside = self.set_aside(kind, key, data)
            where = "not moved" if aside is None else f"set aside as {aside}"
            said = "%s %s is damaged: %s; its file is %s, and it counts as missing."
            _LOG.warning(said, kind, key, damage, where)
            return None

    def read(self, path: Path) -> bytes | None:
        """Return the bytes of a file, or None if there is none.

        Raises
        ------
        StorageError
            If the system does not let it be read.
        """
        try:
            return path.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise _unreadable(path, error) from error

    def set_aside(self, kind: str, key: str, data: bytes | None) -> Path | None:
        """Move a damaged file to the store's folder ``damaged``, with its name kept.

        Nothing is moved if another process has written or moved the file since it was read.

        Parameters
        ----------
        data
            The bytes that were found to be damaged.

        Returns
        -------
        Path or None
            Where it lies now; None if it was not moved.
        """
        path = self.path(key, kind)
        folder = self.folder / DAMAGED / path.parent.parent.name
        aside, number = folder / path.name, 1
        try:
            if path.read_bytes() != data:
                return None
            folder.mkdir(parents=True, exist_ok=True)
            while aside.exists():
                number += 1
                aside = folder / f"{path.stem}.{number}{path.suffix}"
            path.rename(aside)
            if aside.read_bytes() != data:  # it was written anew in between
                aside.replace(path)
                return None
        except OSError:
            return None
        return aside

    def keys(self, kind: str = "run") -> Iterator[str]:
        """Return the keys of all files of a kind, sorted."""
        return (key for _, key, _, _ in self._files([kind]))

    def listing(self, *, write: bool = True) -> Listing:
        """Return a row for each entry, and what is damaged; nothing is moved.

        The index is asked first. It is believed only where the size and the time of a file are
        those it was told; any other file is read, and the index written anew if `write` says so.
        """
        return self._index.listing(self._files(), _row, write=write)

    def rows(self) -> list[Row]:
        """Return a row for each entry that is whole, as ``pfbench store list --json`` prints it."""
        return self.listing().rows

    def _files(
        self, kinds: Iterable[str] = KINDS
    ) -> Iterator[tuple[str, str, str, os.stat_result]]:
        """Yield kind, key, path, size and time of every file, by kind and key."""
        for kind in kinds:
            folder, suffix = KINDS[kind].partition("/")[0], Path(KINDS[kind]).suffix
            for shard in sorted((self.folder / folder).glob("??")):
                with os.scandir(shard) as found:
                    files = sorted(found, key=lambda file: file.name)
                for file in files:
                    key = file.name.removesuffix(suffix)
                    if _KEY.fullmatch(key) and key != file.name:
                        try:
                            yield kind, key, file.path, file.stat()
                        except FileNotFoundError:
                            continue


# --- the content of the files ---------------------------------------------------------------------


def parse(kind: str, key: str, data: bytes) -> tuple[Any, Mapping[str, Any]]:
    """Return the content of a file (an `Entry`, or the row of another kind) and its metadata.

    Raises
    ------
    Damaged
        If the bytes are not those of this entry, or not whole.
    """
    return _parse_run(key, data) if kind == "run" else _parse_row(kind, key, data)


def _parse_run(key: str, data: bytes) -> tuple[Entry, Mapping[str, Any]]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    _check_marks(data)
    with _damaged("unreadable"):
        source = pq.ParquetFile(pa.BufferReader(data), page_checksum_verification=True)
        table = source.read()
        metadata = table.schema.metadata or {}
        header = json.loads(metadata[_METADATA])
        digest = _digest(metadata[_METADATA], table)
    _check_header(header, "run", key)
    # Files from before the hash was introduced have the JSON alone.
    if len(metadata) > 1 and metadata.get(_DIGEST) != digest.encode():
        raise Damaged("wrong content", DAMAGES["wrong content"])
    with _damaged("incomplete"):
        run = _run(header["run"], table)
        return Entry(key, run, header["environment"], header.get("notes", {})), header


def _parse_row(kind: str, key: str, data: bytes) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    if not data.endswith(b"}\n"):
        raise Damaged("truncated", f"{len(data)} bytes that do not end as JSON does")
    with _damaged("unreadable"):
        header = json.loads(data)
    _check_header(header, kind, key)
    with _damaged("incomplete"):
        row: Mapping[str, Any] = header["row"]
        same = header["kind"] == kind and header["sha256"] == _row_digest(row)
    if not same:
        raise Damaged("wrong content", DAMAGES["wrong content"])
    if not isinstance(row, dict):
        raise Damaged("incomplete", "its row is no object")
    return row, header


def _row(kind: str, key: str, path: str) -> Row:
    """Return the index's row of a file; of a run's, only the end is read."""
    try:
        with open(path, "rb") as file:
            if kind != "run":
                return row_of(kind, key, _parse_row(kind, key, file.read())[1])
            start = file.read(len(_MARK))
            file.seek(max(0, os.fstat(file.fileno()).st_size - len(_MARK)))
            _check_marks(start + file.read())
    except FileNotFoundError:
        raise
    except OSError as error:
        raise _unreadable(path, error) from error
    import pyarrow.parquet as pq

    with _damaged("unreadable"):
        header = json.loads((pq.read_metadata(path).metadata or {})[_METADATA])
    _check_header(header, kind, key)
    with _damaged("incomplete"):
        return row_of(kind, key, header)


def _check_marks(data: bytes) -> None:
    if not data:
        raise Damaged("truncated", "the file is empty")
    if not data.startswith(_MARK[: len(data)]):
        raise Damaged("unreadable", "it is no Parquet file")
    if len(data) < 2 * len(_MARK) or not data.endswith(_MARK):
        raise Damaged("truncated", "Parquet's last bytes are missing")


def _check_header(header: Any, kind: str, key: str) -> None:
    if not isinstance(header, dict):
        raise Damaged("unreadable", f"its metadata are no {kind}")
    if header.get("schema") != SCHEMA:
        raise Damaged("wrong schema version", f"{header.get('schema')!r}, where {SCHEMA} is known")
    if header.get("key") != key:
        raise Damaged("wrong key", f"it says {header.get('key')!r}")


def _parquet(run: Run, text: str) -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = list(zip(*run.rows, strict=True)) or [()] * len(run.columns)
    table = pa.table(
        [np.asarray(column) for column in columns],
        schema=pa.schema(
            [(name, pa.int64() if name in _INTEGERS else pa.float64()) for name in run.columns]
        ),
    )
    digest = _digest(text.encode(), table)
    table = table.replace_schema_metadata({_METADATA: text, _DIGEST: digest})
    out = pa.BufferOutputStream()
    pq.write_table(table, out, write_statistics=False, write_page_checksum=True)
    data: bytes = out.getvalue().to_pybytes()
    return data


def _digest(text: bytes, table: "pa.Table") -> str:
    """Return the hash of the metadata and of every number of the trace, bit for bit."""
    digest = hashlib.sha256(text)
    for name, column in zip(table.column_names, table.columns, strict=True):
        digest.update(f"{name} {column.type} {len(column)}\n".encode())
        digest.update(np.ascontiguousarray(column.to_numpy()).tobytes())
    return digest.hexdigest()


def _run(about: dict[str, Any], table: "pa.Table") -> Run:
    columns = [column.to_pylist() for column in table.columns]
    known = {"counts": Counts(**about["counts"]), "unmet": tuple(about.get("unmet", ()))}
    return Run(
        **about | known, columns=tuple(table.column_names), rows=list(zip(*columns, strict=True))
    )


def _plain(value: Any) -> Any:
    """Return a NumPy number as a number, anything else that JSON does not know as text."""
    return value.item() if isinstance(value, np.generic) else str(value)


def _row_digest(row: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(row, sort_keys=True, allow_nan=False).encode()).hexdigest()


@contextmanager
def _damaged(what: str) -> Iterator[None]:
    """Refuse a file whose bytes raise anything inside: libraries have many errors for them."""
    try:
        yield
    except MemoryError:
        raise
    except Exception as error:
        first = (str(error).splitlines() or [""])[0]
        kind = f"{type(error).__name__}: " if isinstance(error, KeyError) else ""
        raise Damaged(what, f"{kind}{first}") from error


def _unreadable(path: Path | str, error: OSError) -> StorageError:
    return StorageError(
        f"{path} cannot be read ({error.strerror}): mend its permissions, or the disk."
    )


def _refused(what: str, folder: Path, error: OSError) -> StorageError:
    """Return the sentence for an entry that could not be written."""
    if error.errno in _FULL:
        remedy = "free some space, and the same command goes on"
    elif error.errno in (errno.EROFS, errno.EACCES, errno.EPERM):
        remedy = "it is read-only: mend its permissions"
    else:
        remedy = "mend its disk"
    return StorageError(
        f"{what} could not be stored in {folder} ({error.strerror}): {remedy}, or choose another "
        "store with --store; what is stored already is safe."
    )
