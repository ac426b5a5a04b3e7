"""A segment of a store: many runs in two Parquet files, written once and never changed.

    NAME/manifest.json    what is in it: sizes and hashes of both files, and of their metadata
    NAME/runs.parquet     a row for each run: what a listing shows, its metadata, its hash
    NAME/trace-K.parquet  a row for each recorded iterate, of the runs with the same columns

Runs lie by algorithm, problem and seed, some hundreds to a group of rows; those of group k of
``runs.parquet`` have their iterates in one group of one trace. A folder with a right name is whole.
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from pfbench.base.counts import COUNTED
from pfbench.runs.loop.run import STATUSES
from pfbench.runs.storage import safe_open
from pfbench.runs.storage.damage import DAMAGES, DamagedFileError
from pfbench.runs.storage.entry_kinds import KEY
from pfbench.runs.storage.field_types import (
    Type,
    count,
    integer,
    list_type,
    record_type,
    table,
    text,
)
from pfbench.runs.storage.index import SCHEMA, Row
from pfbench.runs.storage.serialization import (
    MOST_NUMBERS,
    MOST_TEXT,
    Columns,
    check_marks,
    column_dtype,
    decode_json,
    refuse_damaged,
    trace_columns,
)

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

MANIFEST, RUNS, TRACE = "manifest.json", "runs.parquet", "trace-{}.parquet"
"""The files of a segment."""

MOST_RUNS = 100_000
"""The most runs of a segment."""

MOST_TRACES = 64
"""The most sets of columns that the traces of a segment have."""

GROUP = 1000
"""Runs of a group of rows; where the algorithm or the problem changes, a fourth is enough."""

_MOST_MANIFEST, _MOST_FILE, _MOST_PART = 2**24, 2**36, 2**28
_NULLABLE = frozenset({"family", "limits", *COUNTED})
_NUMBERS = frozenset({"seed", "iterations", "bytes", "stored", "length", *COUNTED})
LISTED = (
    *("key", "problem", "algorithm", "seed", "status", "stop_reason", "iterations", *COUNTED),
    *("seconds", "family", "limits", "bytes", "stored"),
)
"""The columns of ``runs.parquet`` that a listing reads: as in a row of the index, `limits` as JSON,
`bytes` and `stored` the size and the time (ns) of the file that the run had."""

_CONTENT_COLUMNS = ("length", "sha256", "about")
"""Its other columns: the rows of its trace, its hash, its metadata."""

_TEXTS = frozenset({*LISTED, *_CONTENT_COLUMNS}) - _NUMBERS - {"seconds"}

_FIELDS: Mapping[str, Type] = MappingProxyType(
    {
        "schema": integer,
        "runs": count,
        "groups": list_type(list_type(count)),
        "traces": list_type(list_type(text)),
        "files": table,
    }
)
_SUMMARY = record_type({"bytes": count, "sha256": text, "metadata": text})


@dataclass(frozen=True)
class PackedRun:
    """A run as a segment holds it.

    Attributes
    ----------
    row
        What a listing shows of it.
    text, columns
        Its metadata as JSON, and its trace.
    size, time
        The size of the file that it had, and when that was written (ns).
    """

    row: Row
    text: bytes
    columns: Columns
    size: int
    time: int


class Segment:
    """An opened segment; its files are opened where they are needed.

    Raises
    ------
    DamagedFileError
        If its manifest is not whole.
    OSError
        If it cannot be read.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._manifest = _load_manifest(folder / MANIFEST)
        self._last_group: tuple[int, _DecodedGroup] | None = None

    def read_listing(self) -> "tuple[list[tuple[int, pa.Table]], list[DamagedFileError]]":
        """Return what a listing shows of each group of runs that can be read; and what cannot.

        Raises
        ------
        DamagedFileError
            If the whole file cannot be read.
        """
        results, lost = [], []
        with self._open_parquet(RUNS) as file:
            for k in range(len(self._manifest["groups"])):
                try:
                    results.append((k, _check_listing(_group(file, k, LISTED))))
                except DamagedFileError as damage:
                    lost.append(damage)
        return results, lost

    def keys_by_group(self) -> Iterator[tuple[int, list[str]]]:
        """Yield the keys of each group of runs that can be read; see `listed`."""
        with self._open_parquet(RUNS) as file:
            for k in range(len(self._manifest["groups"])):
                with suppress(DamagedFileError):
                    keys = unique_texts(_group(file, k, ("key",))["key"])
                    if all(map(KEY.fullmatch, keys)):
                        yield k, keys

    def raw(self, group: int, index: int) -> tuple[bytes, Columns, str]:
        """Return metadata, trace and hash of a run, as `content.entry_of` takes them.

        Parameters
        ----------
        group, index
            Its group of rows, and its number in there.

        Raises
        ------
        DamagedFileError
            If its group cannot be read.
        OSError
            If the system does not let it be read.
        """
        if self._last_group is None or self._last_group[0] != group:
            self._last_group = group, self._decode_group(group)
        return self._last_group[1].run(index)

    def check(self) -> Iterator[tuple[str, DamagedFileError]]:
        """Yield the files of which a hash is wrong, with what is."""
        for name, statement in self._manifest["files"].items():
            try:
                file: Any
                with safe_open.open_file(self.folder / name) as file:
                    safe_open.check_size(file, _MOST_FILE)
                    same = hashlib.file_digest(file, "sha256").hexdigest() == statement["sha256"]
                if not same:
                    raise DamagedFileError("wrong content", DAMAGES["wrong content"])
            except FileNotFoundError:
                yield name, DamagedFileError("incomplete", "the file is missing")
            except DamagedFileError as damage:
                yield name, damage

    def _decode_group(self, group: int) -> "_DecodedGroup":
        with self._open_parquet(RUNS) as file:
            heads = _group(file, group, _CONTENT_COLUMNS)
        number, part = self._manifest["groups"][group]
        with self._open_parquet(TRACE.format(number)) as file:
            trace = _group(file, part, self._manifest["traces"][number])
        with refuse_damaged("incomplete"):
            return _DecodedGroup(heads, trace)

    @contextmanager
    def _open_parquet(self, name: str) -> "Iterator[pq.ParquetFile]":
        """Open a file of which the metadata have the right hash."""
        import pyarrow.parquet as pq

        statement = self._manifest["files"][name]
        try:
            file = safe_open.open_file(self.folder / name)
        except FileNotFoundError as error:
            if not self.folder.exists():
                raise
            raise DamagedFileError("incomplete", f"its file {name} is missing") from error
        with file:
            if safe_open.check_size(file, _MOST_FILE) != statement["bytes"]:
                raise DamagedFileError("truncated", f"{name} has not {statement['bytes']:,} bytes")
            check_marks(file)
            if metadata_digest(file) != statement["metadata"]:
                raise DamagedFileError(
                    "wrong content", f"the metadata of {name} do not match their hash"
                )
            file.seek(0)
            with refuse_damaged("unreadable"):
                opened = pq.ParquetFile(
                    file,
                    page_checksum_verification=True,
                    # Of a text that is there a thousand times, one is unpacked.
                    read_dictionary=[*_TEXTS] if name == RUNS else None,
                    thrift_string_size_limit=2 * MOST_TEXT,
                    thrift_container_size_limit=MOST_RUNS,
                )
            yield opened


class _DecodedGroup:
    """A group of runs in memory."""

    def __init__(self, heads: "pa.Table", trace: "pa.Table") -> None:
        self._texts, self._digests = (unique_texts(heads[name]) for name in ("about", "sha256"))
        lengths = heads["length"].to_numpy()
        ends = np.cumsum(lengths)
        if lengths.min(initial=0) < 0 or ends[-1] != trace.num_rows:
            raise DamagedFileError("incomplete", "its runs have other rows than its trace")
        self._ends, self._lengths = ends.tolist(), lengths.tolist()
        self._columns = trace_columns(trace)

    def run(self, index: int) -> tuple[bytes, Columns, str]:
        end = self._ends[index]
        rows = slice(end - self._lengths[index], end)
        columns = {name: column[rows] for name, column in self._columns.items()}
        return self._texts[index], columns, self._digests[index]


def _group(file: "pq.ParquetFile", group: int, names: Sequence[str]) -> "pa.Table":
    """Return columns of a group of rows, if they have no more than pfbench writes."""
    with refuse_damaged("unreadable"):
        part, schema = file.metadata.row_group(group), file.metadata.schema
        columns = {schema.column(k).name: schema.column(k) for k in range(len(schema))}
        for name in names:
            if name not in columns or columns[name].max_repetition_level:
                raise DamagedFileError("incomplete", f"there is no column {name}")
            if columns[name].physical_type not in ("INT64", "DOUBLE", "BYTE_ARRAY"):
                raise DamagedFileError("incomplete", f"its column {name} is of another type")
        numbers = part.num_rows * len(names)
        if not 0 <= numbers <= MOST_NUMBERS or not 0 <= part.total_byte_size <= _MOST_PART:
            raise DamagedFileError(
                "too large", f"{part.num_rows:,} rows, {part.total_byte_size:,} bytes"
            )
        table = file.read_row_group(group, columns=list(names), use_threads=False)
        return table.select(list(names)).combine_chunks()


def _check_listing(table: "pa.Table") -> "pa.Table":
    """Refuse columns of a listing that are none: nothing is believed before its types are."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if table.num_rows > GROUP:
        raise DamagedFileError("too large", f"{table.num_rows:,} runs in a group")
    for name in LISTED:
        kind = table.schema.field(name).type
        kind = kind.value_type if pa.types.is_dictionary(kind) else kind
        if kind != schema_of_runs().field(name).type:
            raise DamagedFileError("incomplete", f"its column {name} is of type {kind}")
        if table[name].null_count and name not in _NULLABLE:
            raise DamagedFileError("incomplete", f"its column {name} has empty cells")
        min_count = 0 if name in _NUMBERS and name != "seed" else None
        if min_count is not None and (pc.min(table[name]).as_py() or 0) < min_count:
            raise DamagedFileError("incomplete", f"its column {name} has numbers below 0")
    if not set(unique_texts(table["status"])) <= STATUSES.keys():
        raise DamagedFileError("incomplete", "a status is none of a run")
    if not all(map(KEY.fullmatch, unique_texts(table["key"]))):
        raise DamagedFileError("incomplete", "a key is no name of 8 to 128 letters or digits")
    return table


def unique_texts(column: "pa.ChunkedArray") -> list[Any]:
    """Return the texts of a column, equal ones as one object."""
    unique_texts: list[Any] = []
    for part in column.chunks:
        values = part.dictionary.to_pylist()
        unique_texts += [None if k is None else values[k] for k in part.indices.to_pylist()]
    return unique_texts


def schema_of_runs() -> "pa.Schema":
    """Return the columns of ``runs.parquet``."""
    import pyarrow as pa

    kinds = dict.fromkeys((*LISTED, *_CONTENT_COLUMNS), pa.string())
    kinds |= dict.fromkeys(_NUMBERS, pa.int64())
    kinds |= {"seconds": pa.float64(), "about": pa.binary()}
    return _schema(kinds)


def schema_of_trace(names: Sequence[str]) -> "pa.Schema":
    """Return the columns of a trace with these names."""
    import pyarrow as pa

    return _schema({name: pa.from_numpy_dtype(column_dtype(name)) for name in names})


def _schema(kinds: "Mapping[str, pa.DataType]") -> "pa.Schema":
    """Return a schema in which only some columns of a listing may have empty cells."""
    import pyarrow as pa

    return pa.schema([pa.field(name, kind, name in _NULLABLE) for name, kind in kinds.items()])


def metadata_digest(file: BinaryIO) -> str:
    """Return the hash of the metadata at the end of a Parquet file, with their length."""
    size = file.seek(-8, 2)
    length = int.from_bytes(file.read(4), "little")
    file.seek(max(0, size - length))
    return hashlib.sha256(file.read()).hexdigest()


def _load_manifest(path: Path) -> Mapping[str, Any]:
    try:
        data = safe_open.read_file(path, _MOST_MANIFEST)
    except FileNotFoundError as error:
        if not path.parent.exists():
            raise
        raise DamagedFileError("incomplete", f"its {MANIFEST} is missing") from error
    statement, _, rest = data.partition(b"\n")
    if not rest.endswith(b"\n"):
        raise DamagedFileError("truncated", f"{len(data):,} bytes of {MANIFEST}")
    if hashlib.sha256(rest[:-1]).hexdigest().encode() != statement:
        raise DamagedFileError("wrong content", f"{MANIFEST} does not match its hash")
    subject: Mapping[str, Any] = decode_json(rest)
    if subject.get("schema") != SCHEMA:
        raise DamagedFileError(
            "wrong schema version", f"{subject.get('schema')!r}, where {SCHEMA} is known"
        )
    for name, kind in _FIELDS.items():
        if name not in subject or not kind(subject[name]):
            raise DamagedFileError("incomplete", f"the field {name} of {MANIFEST}")
    number = len(subject["traces"])
    files = segment_files(number)
    right = set(subject["files"]) == set(files) and all(map(_SUMMARY, subject["files"].values()))
    if not right or not all(len(group) == 2 and group[0] < number for group in subject["groups"]):
        raise DamagedFileError(
            "incomplete", f"{MANIFEST} names other files or groups than there are"
        )
    return subject


def segment_files(traces: int) -> list[str]:
    """Return the Parquet files of a segment with so many traces."""
    return [RUNS, *(TRACE.format(k) for k in range(traces))]
