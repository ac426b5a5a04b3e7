"""What is inside the files of a store: read with limits, checked, and refused by name.

Nothing is unpacked before its size is known, and nothing is believed before its types are.
"""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import accumulate
from operator import sub
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from pfbench.base.counts import Counts
from pfbench.runs.loop.run import TRACE_COLUMNS, Run
from pfbench.runs.loop.trace_rows import make_rows
from pfbench.runs.storage import safe_open
from pfbench.runs.storage.damage import DAMAGES, DamagedFileError
from pfbench.runs.storage.entry_kinds import KINDS
from pfbench.runs.storage.field_types import check_content, count

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

Columns = Mapping[str, "np.ndarray[Any, Any]"]
"""The columns of a trace by name, in order."""

SCHEMA = 1
"""Version of the metadata; files of another version are not read."""

MOST_NUMBERS = 2**24
"""The most numbers that the trace of a run has."""

MOST_COLUMNS = 500
"""The most columns that the trace of a run has."""

MOST_TEXT = 2**22
"""Bytes of the longest metadata of a run."""

INTEGERS = frozenset(TRACE_COLUMNS) - {"seconds"}
"""The columns of a trace that are of 64-bit integers; all others are 64-bit floats."""

LONGEST_REASON = 10_000
"""Characters of a stop reason that are stored."""

_DEEPEST = 32
_GROUPS = 64
_MARK = b"PAR1"  # the first and last bytes of a Parquet file
_FOOTER = 8  # bytes after a Parquet file's metadata: their length, and the mark
_METADATA, _DIGEST = b"pfbench", b"pfbench.digest"
_SCHEMA = b"ARROW:schema"  # what pyarrow writes beside
_ESCAPED = re.compile(rb"\\.", re.DOTALL)
_TEXT = re.compile(rb'"[^"]*"')
_NOT_NESTING = bytes(index for index in range(256) if index not in b'[]{}"')
_OPENS = bytes(index in b"[{" for index in range(256))
_CLOSES = bytes(index in b"]}" for index in range(256))
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")


@dataclass(frozen=True)
class StoredRun:
    """A stored run with its key and the environment it was made in.

    `notes` is what the sweep that made it says beside: see `pfbench.runs.execute`.
    """

    key: str
    run: Run
    environment: Mapping[str, str]
    notes: Mapping[str, Any] = field(default_factory=dict)


# --- reading --------------------------------------------------------------------------------------


def parse(kind: str, key: str, data: bytes) -> tuple[Any, Mapping[str, Any]]:
    """Return the content of a file (an `StoredRun`, or the row of another kind) and its metadata.

    Raises
    ------
    DamagedFileError
        If the bytes are not those of this entry, or not whole.
    """
    return make_entry(key, *split_run_file(data)) if kind == "run" else _parse_row(kind, key, data)


def read_header(kind: str, key: str, path: Path | str) -> Mapping[str, Any]:
    """Return the metadata of a file; of a run's, only the end is read.

    Raises
    ------
    DamagedFileError
        If they are not those of this entry.
    OSError
        If the system does not let it be read.
    """
    if kind != "run":
        return _parse_row(kind, key, safe_open.read_file(path, KINDS[kind].max_bytes))[1]
    import pyarrow.parquet as pq

    with safe_open.open_file(path) as file:
        check_marks(file)
        with refuse_damaged("unreadable"):
            metadata = pq.read_metadata(file)
    return _header((metadata.metadata or {}).get(_METADATA), key)


def decode_json(data: bytes) -> Any:
    """Return what JSON says.

    Raises
    ------
    DamagedFileError
        If it is none, is nested very deep, or has a text that is no Unicode.
    """
    if _is_deep(data):
        raise DamagedFileError("unreadable", f"its JSON is nested more than {_DEEPEST} deep")
    with refuse_damaged("unreadable"):
        value = json.loads(data)
        if _SURROGATE.search(data):
            json.dumps(value, ensure_ascii=False).encode()
    return value


def _is_deep(data: bytes) -> bool:
    if data.count(b"[") + data.count(b"{") <= _DEEPEST:
        return False
    brackets = _TEXT.sub(b"", _ESCAPED.sub(b"", data).translate(None, _NOT_NESTING))
    steps = map(sub, brackets.translate(_OPENS), brackets.translate(_CLOSES))
    return max(accumulate(steps), default=0) > _DEEPEST


def split_run_file(data: bytes) -> tuple[bytes, Columns, str | None]:
    """Return the metadata, the columns and the hash of a run's file; nothing is checked but sizes.

    Files from before the hash was introduced have none: None.

    Raises
    ------
    DamagedFileError
        If it is no Parquet file, or not that of a trace.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    source = pa.BufferReader(data)
    check_marks(source)
    with refuse_damaged("unreadable"):
        file = pq.ParquetFile(
            source,
            page_checksum_verification=True,
            thrift_string_size_limit=2 * MOST_TEXT,
            thrift_container_size_limit=MOST_COLUMNS * _GROUPS,
        )
        _check_sizes(file.metadata)
        metadata = file.metadata.metadata or {}
        columns = trace_columns(file.read(use_threads=False))
    if _METADATA not in metadata:
        raise DamagedFileError("unreadable", "it has no metadata of pfbench")
    hidden = bool(metadata.keys() - {_METADATA, _SCHEMA})
    digest = metadata.get(_DIGEST, b"").decode("ascii", "replace") if hidden else None
    return metadata[_METADATA], columns, digest


def make_entry(
    key: str, text: bytes, columns: Columns, digest: str | None
) -> tuple[StoredRun, Mapping[str, Any]]:
    """Return a run and its metadata, from their text, its trace, and the hash of both.

    Raises
    ------
    DamagedFileError
        If they are not those of this key, or not whole.
    """
    header = _header(text, key)
    if digest is not None and digest != run_digest(text, columns):
        raise DamagedFileError("wrong content", DAMAGES["wrong content"])
    with refuse_damaged("incomplete"):
        run = make_run(header["run"], [*columns], make_rows([*columns.values()]))
        return StoredRun(key, run, header["environment"], header.get("notes", {})), header


def check_marks(file: "BinaryIO | pa.BufferReader") -> None:
    """Refuse what is no whole Parquet file; its metadata end with their own length."""
    size = file.seek(0, 2)
    file.seek(0)
    start = file.read(len(_MARK))
    if not size:
        raise DamagedFileError("truncated", "the file is empty")
    if not start or not _MARK.startswith(start):
        raise DamagedFileError("unreadable", "it is no Parquet file")
    file.seek(max(0, size - _FOOTER))
    end = file.read(_FOOTER)
    file.seek(0)
    if size < len(_MARK) + _FOOTER or not end.endswith(_MARK):
        raise DamagedFileError("truncated", "Parquet's last bytes are missing")
    length = int.from_bytes(end[:4], "little")
    if length > min(2 * MOST_TEXT, size - _FOOTER - len(_MARK)):
        raise DamagedFileError("too large", f"its metadata would have {length:,} bytes")


def _check_sizes(metadata: "pq.FileMetaData") -> None:
    """Refuse a Parquet file that is more than a trace once it is unpacked; nothing of it is yet."""
    rows, names = metadata.num_rows, metadata.num_columns
    if names > MOST_COLUMNS or not 0 <= rows * names <= MOST_NUMBERS:
        raise DamagedFileError("too large", f"{rows:,} rows of {names:,} columns")
    groups = metadata.num_row_groups
    if groups > _GROUPS:
        raise DamagedFileError("too large", f"{groups:,} groups of rows")
    parts = [metadata.row_group(k) for k in range(groups)]
    if any(part.num_rows < 0 for part in parts) or sum(part.num_rows for part in parts) != rows:
        raise DamagedFileError("unreadable", "its groups have other rows than the whole")
    for part in parts:
        # A number has 8 bytes, and at most as many again where it is one of a dictionary. What a
        # group says of single columns is not asked: pyarrow ends the process if it is damaged.
        if not 0 <= part.total_byte_size <= names * (16 * part.num_rows + 2**16):
            raise DamagedFileError(
                "too large", f"{part.total_byte_size:,} bytes in a group of rows"
            )
    for k in range(names):
        column = metadata.schema.column(k)
        if column.physical_type not in ("INT64", "DOUBLE") or column.max_repetition_level:
            raise DamagedFileError("unreadable", "a column of its table is none of numbers")


def trace_columns(table: "pa.Table") -> Columns:
    """Return the columns of a trace; refuse other columns, other types, and cells without one."""
    names = tuple(table.column_names)
    if names[: len(TRACE_COLUMNS)] != TRACE_COLUMNS or len(set(names)) < len(names):
        raise DamagedFileError("incomplete", "its table has other columns than a trace")
    numpies = {}
    for name, column in zip(names, table.columns, strict=True):
        if column.null_count:
            raise DamagedFileError("incomplete", f"its column {name} has empty cells")
        numpies[name] = column.to_numpy()
        if numpies[name].dtype != column_dtype(name):
            raise DamagedFileError(
                "incomplete", f"its column {name} is of type {numpies[name].dtype}"
            )
    return numpies


def _header(result: bytes | None, key: str) -> Mapping[str, Any]:
    """Return the checked metadata of a run."""
    if result is None:
        raise DamagedFileError("unreadable", "it has no metadata of pfbench")
    if len(result) > MOST_TEXT:
        raise DamagedFileError("too large", f"{len(result):,} bytes of metadata")
    header: Mapping[str, Any] = decode_json(result)
    _check_header(header, "run", key)
    check_content("run", header)
    return header


def _parse_row(kind: str, key: str, data: bytes) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    if not data.endswith(b"}\n"):
        raise DamagedFileError("truncated", f"{len(data)} bytes that do not end as JSON does")
    header = decode_json(data)
    _check_header(header, kind, key)
    check_content(kind, header)
    row: Mapping[str, Any] = header["row"]
    with refuse_damaged("incomplete"):
        same = header["kind"] == kind and header["sha256"] == row_digest(row)
    if not same:
        raise DamagedFileError("wrong content", DAMAGES["wrong content"])
    return row, header


def _check_header(header: Any, kind: str, key: str) -> None:
    if not isinstance(header, dict):
        raise DamagedFileError("unreadable", f"its metadata are no {kind}")
    if header.get("schema") != SCHEMA:
        raise DamagedFileError(
            "wrong schema version", f"{header.get('schema')!r}, where {SCHEMA} is known"
        )
    if header.get("key") != key:
        raise DamagedFileError("wrong key", f"it says {header.get('key')!r}")


def make_run(
    fields: Mapping[str, Any], columns: Sequence[str], rows: Sequence[tuple[Any, ...]]
) -> Run:
    """Return a run of its trace and what `run_fields` kept beside."""
    parsed = {name: value for name, value in fields.items() if name not in ("unmet", "own_output")}
    parsed["counts"] = Counts(**fields["counts"])
    parsed["unmet_assumptions"] = tuple(fields.get("unmet", ()))
    parsed["yields_output"] = fields.get("own_output")
    return Run(**parsed, columns=tuple(columns), rows=rows)


@contextmanager
def refuse_damaged(subject: str) -> Iterator[None]:
    """Refuse a file whose bytes raise anything inside: libraries have many errors for them."""
    try:
        yield
    except (DamagedFileError, MemoryError):
        raise
    except Exception as error:
        first = (str(error).splitlines() or [""])[0]
        kind = f"{type(error).__name__}: " if isinstance(error, KeyError) else ""
        raise DamagedFileError(subject, f"{kind}{first}") from error


# --- writing --------------------------------------------------------------------------------------


def run_columns(run: Run) -> Columns:
    """Return the columns of a run's trace.

    Raises
    ------
    TypeError
        If a count is not a whole number.
    """
    columns = list(zip(*run.rows, strict=True)) or [()] * len(run.columns)
    kinds = {name: column_dtype(name) for name in run.columns}
    return {
        name: np.asarray(column, None if column else kind).astype(kind, casting="same_kind")
        for (name, kind), column in zip(kinds.items(), columns, strict=True)
    }


def pack_run_file(text: bytes, columns: Columns) -> bytes:
    """Return the bytes of a run's file, from its metadata and its trace."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pa.table(dict(columns)).replace_schema_metadata(
        {_METADATA: text, _DIGEST: run_digest(text, columns)}
    )
    out = pa.BufferOutputStream()
    pq.write_table(table, out, write_statistics=False, write_page_checksum=True)
    data: bytes = out.getvalue().to_pybytes()
    return data


def run_metadata(
    key: str, run: Run, environment: Mapping[str, str], notes: Mapping[str, Any]
) -> Mapping[str, Any]:
    """Return what the file of a run says beside its trace."""
    return {
        "schema": SCHEMA,
        "key": key,
        "run": run_fields(run) | {"stop_reason": run.stop_reason[:LONGEST_REASON]},
        "environment": dict(environment),
        "notes": dict(notes),
    }


def run_fields(run: Run) -> dict[str, Any]:
    """Return what is kept of a run beside its trace, from which `make_run` makes it again."""
    return run.as_json() | {"own_output": run.yields_output}


def encode_metadata(header: Mapping[str, Any]) -> bytes:
    """Return the metadata of a run as JSON."""
    return json.dumps(header, default=json_default).encode()


def json_default(value: Any) -> Any:
    """Return a NumPy number as a number, anything else that JSON does not know as text."""
    return value.item() if isinstance(value, np.generic) else str(value)


def column_dtype(name: str) -> type[np.generic]:
    """Return the type of a column of a trace."""
    return np.int64 if name in INTEGERS else np.float64


def row_digest(row: Mapping[str, Any]) -> str:
    """Return the hash of a row."""
    return hashlib.sha256(json.dumps(row, sort_keys=True, allow_nan=False).encode()).hexdigest()


def storage_obstacle(run: Run) -> str:
    """Return why a run cannot be stored; empty if it can."""
    if not all(map(count, (run.iterations, *run.counts.as_dict().values()))):
        return "its counts are larger than 64 bits hold"
    number = len(run.rows) * len(run.columns)
    if number > MOST_NUMBERS or len(run.columns) > MOST_COLUMNS:
        return (
            f"its trace has {len(run.rows):,} rows of {len(run.columns):,} columns, and "
            f"{MOST_NUMBERS:,} numbers is the most that is stored: record fewer iterates (every)"
        )
    return ""


def run_digest(text: bytes, columns: Columns) -> str:
    """Return the hash of the metadata and of every number of the trace, bit for bit."""
    digest = hashlib.sha256(text)
    for name, column in columns.items():
        kind = "int64" if name in INTEGERS else "double"
        digest.update(f"{name} {kind} {len(column)}\n".encode())
        digest.update(np.ascontiguousarray(column).tobytes())
    return digest.hexdigest()
