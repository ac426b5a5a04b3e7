"""Conversion between entries and rows of the store's table, with limits and checks.

The size of data is checked before they are unpacked, and types are checked before values are used.
"""

import hashlib
import json
import re
import time
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import accumulate, chain, groupby, pairwise
from math import isnan
from operator import attrgetter, itemgetter
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from pfbench.base.arrays import Floats
from pfbench.base.counts import COUNTED, Counts
from pfbench.runs.loop.run import TRACE_COLUMNS, Run
from pfbench.runs.loop.trace import rows_from_columns
from pfbench.runs.storage.damage import KEY, KINDS, DamagedFileError
from pfbench.runs.storage.field_types import check_required_fields, check_types, count, text

Columns = Mapping[str, "np.ndarray[Any, Any]"]
"""The columns of a trace by name, in order."""

Words = npt.NDArray[np.int64]
"""Numbers of a trace as 64-bit words, shape (columns, rows); the columns `INTEGERS` come first."""

MOST_NUMBERS = 2**24
"""Maximum number of values in the trace of a run."""

MOST_COLUMNS = 500
"""Maximum number of columns in the trace of a run."""

INTEGERS = TRACE_COLUMNS[:-1]
"""Columns of a trace with 64-bit integers; all others, from ``seconds`` on, are 64-bit floats."""

LONGEST_REASON = 10_000
"""Maximum number of characters of a stored stop reason."""

_DEEPEST = 32
_LEVEL = 3  # of compression: in two thirds of the time of 6, a thirtieth more bytes
_BLOCK = 2**12  # rows of a trace that are compressed together
_MOST_SHARED = 2**16  # bytes of the metadata that a run shares with others
_OWN = {
    *("seed", "status", "iterations", "stop_reason", "counts", "final", "seconds"),
    *("oracle_seconds", "failure_probability", "family", "rows"),
}
_SPLIT = ("run", "notes", "plan", "trace")
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")


@dataclass(frozen=True, slots=True)
class StoredRun:
    """Stored run with its key and the environment of its execution.

    The notes are those of the sweep that executed the run; see `pfbench.runs.execute`.
    """

    key: str
    run: Run
    environment: Mapping[str, str]
    notes: Mapping[str, Any] = field(default_factory=dict)


class StoredTrace(NamedTuple):
    """Trace of a stored run: the names of its columns, and their numbers.

    Each of the `blocks` has the next rows; only a long trace has more than one.
    """

    names: Sequence[str]
    blocks: Iterable[Words]

    @property
    def words(self) -> Words:
        """All numbers as one array."""
        blocks = [*self.blocks]
        return np.concatenate(blocks, axis=1) if len(blocks) > 1 else blocks[0]


def split_words(words: Words) -> tuple[Words, Floats]:
    """Return the integer columns and the float columns of the numbers of a trace."""
    return words[: len(INTEGERS)], words[len(INTEGERS) :].view(np.float64)


class Record(NamedTuple):
    """Row of the database table in which a store keeps its results.

    `LISTED` names the columns that a listing reads.

    Attributes
    ----------
    kind, key
        Kind and key of the entry.
    problem, algorithm, claim, seed, status, stop_reason, iterations, seconds
        Columns of a listing; None if a kind has no such value, or a number is NaN.
    counts, limits
        JSON objects.
    family
        The key of a run without its limits.
    stored
        Time of storage, in seconds since 1970.
    checksum
        CRC-32 of all fields above.
    meta
        Everything but the trace, as compressed JSON. In a run, the fields that are usually equal in
        many runs follow in a second compressed JSON text.
    trace
        The compressed columns of the trace, one after the other; in a long trace, those of a block
        of rows after the other. Empty for other kinds than runs.
    sha256
        The hash of all fields above.
    """

    kind: str
    key: str
    problem: str | None
    algorithm: str | None
    claim: str | None
    seed: int | None
    status: str | None
    stop_reason: str | None
    iterations: int | None
    counts: str | None
    seconds: float | None
    family: str | None
    limits: str | None
    stored: int
    checksum: int
    meta: bytes
    trace: bytes
    sha256: bytes


LISTED = Record._fields[: Record._fields.index("meta")]
"""Columns of a listing; the last is their checksum."""

SHOWN = len(LISTED) - 1
"""Number of displayed columns."""


# --- writing --------------------------------------------------------------------------------------


def run_record(
    key: str,
    run: Run,
    environment: Mapping[str, str],
    notes: Mapping[str, Any] | None = None,
    stored: int | None = None,
    level: int = _LEVEL,
) -> Record:
    """Return the row of the store's table for a run; `level` is that of the compression.

    Raises
    ------
    TypeError
        If a count is not an integer.
    """
    reason = run.stop_reason[:LONGEST_REASON].encode(errors="replace").decode()
    meta = {
        "run": run_fields(run) | {"stop_reason": reason},
        "environment": dict(environment),
        "notes": dict(notes or {}),
    }
    return make_record("run", key, meta, run_columns(run), stored, level)


def make_record(
    kind: str,
    key: str,
    meta: Mapping[str, Any],
    columns: Columns | None = None,
    stored: int | None = None,
    level: int = _LEVEL,
) -> Record:
    """Return the row of the store's table for an entry.

    Parameters
    ----------
    meta
        Metadata: ``run``, ``environment`` and ``notes`` of a run; ``row`` and ``notes`` otherwise.
    columns
        The columns of the trace of a run.
    stored
        Seconds since 1970; by default now.
    level
        Level of the compression, from 0 to 9.
    """
    if columns is not None:
        rows = len(next(iter(columns.values()), ()))
        block = {"block": _BLOCK} if rows > _BLOCK else {}
        meta = {**meta, "trace": {"columns": [*columns], "rows": rows, **block}}
    moment = int(time.time()) if stored is None else stored
    listed = (*json.loads(_as_json(_listing_columns(kind, key, meta))), moment)
    parts = [_select(meta, is_own) for is_own in (True, False)] if kind == "run" else [meta]
    texts = [_as_json(part).encode() for part in parts]
    if len(texts[-1]) > _MOST_SHARED:
        texts = [_as_json(meta).encode()]
    meta_bytes = b"".join(zlib.compress(text, level) for text in texts)
    packed = pack_columns(columns or {}, level)
    text = encode_for_checksum(listed)
    digest = hashlib.sha256(b"\0".join((text, meta_bytes, packed))).digest()
    return Record._make((*listed, zlib.crc32(text), meta_bytes, packed, digest))


def _select(fields: Mapping[str, Any], is_own: bool) -> dict[str, Any]:
    """Return the fields of a run alone, or those that are usually equal in many runs."""
    nested = {name for name in _SPLIT if isinstance(fields.get(name), dict)}
    return {
        name: _select(value, is_own) if name in nested else value
        for name, value in fields.items()
        if name in nested or (name in _OWN) == is_own
    }


def _merge(shared: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """Return all fields, of which `_select` returned the two parts."""
    merged = {**shared, **own}
    if len(merged) < len(shared) + len(own):
        for name in shared.keys() & own.keys():
            if isinstance(shared[name], dict) and isinstance(own[name], dict):
                merged[name] = _merge(shared[name], own[name])
    return merged


def pack_columns(columns: Columns, level: int = _LEVEL) -> bytes:
    """Return columns as compressed bytes: little-endian 64-bit numbers, column by column.

    The rows of a long trace are in blocks, each compressed by itself.
    """
    arrays = [
        column.astype("<i8" if column.dtype.kind == "i" else "<f8", copy=False)
        for column in columns.values()
    ]
    starts = range(0, max(map(len, arrays), default=0) or 1, _BLOCK)
    parts = (b"".join(array[start : start + _BLOCK].data for array in arrays) for start in starts)
    return b"".join(zlib.compress(part, level) for part in parts)


def run_columns(run: Run) -> Columns:
    """Return the columns of a run's trace.

    Raises
    ------
    TypeError
        If a count is not a whole number.
    """
    columns = list(zip(*run.rows, strict=True)) or [()] * len(run.columns)
    integer_count = sum(name in INTEGERS for name in run.columns)
    blocks = (np.int64, columns[:integer_count]), (np.float64, columns[integer_count:])
    arrays = (
        np.asarray(block, None if run.rows else kind).astype(kind, casting="same_kind")
        for kind, block in blocks
    )
    return dict(zip(run.columns, chain.from_iterable(arrays), strict=True))


def run_fields(run: Run) -> dict[str, Any]:
    """Return the stored fields of a run, without its trace, as `make_run` takes them."""
    return run.as_json() | {"own_output": run.yields_output}


def json_default(value: Any) -> Any:
    """Return a NumPy number as a Python number, and other values unknown to JSON as text."""
    return value.item() if isinstance(value, np.generic) else str(value)


_as_json = json.JSONEncoder(default=json_default).encode


def column_dtype(name: str) -> type[np.generic]:
    """Return the dtype of a column of a trace, given its name."""
    return np.int64 if name in INTEGERS else np.float64


def storage_obstacle(run: Run) -> str:
    """Return the reason why a run cannot be stored; empty if it can be stored."""
    if not all(map(count, (run.iterations, *run.counts.as_dict().values()))):
        return "its counts exceed 64 bits"
    number = len(run.rows) * len(run.columns)
    if number > MOST_NUMBERS or len(run.columns) > MOST_COLUMNS:
        return (
            f"its trace has {len(run.rows):,} rows of {len(run.columns):,} columns, but at most "
            f"{MOST_NUMBERS:,} numbers are stored: record fewer iterates (every)"
        )
    return ""


def _listing_columns(kind: str, key: str, meta: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return an entry's cells in a listing, except its time, computed from its metadata."""
    content = meta["run"] if kind == "run" else meta["row"]
    notes = meta.get("notes") or {} if kind == "run" else {}
    status = content.get("status")
    if kind == "verdict":
        status = content.get("verdict")
    elif kind != "run":
        statement = "shown" if kind == "finding" else "certified"
        status = statement if content.get(statement) else f"not {statement}"
    seconds = content.get("seconds")
    return (
        kind,
        key,
        *(content.get(name) for name in ("problem", "algorithm", "claim", "seed")),
        status,
        content.get("stop_reason"),
        content.get("iterations"),
        _as_json_or_none(content.get("counts")),
        None if seconds is None or isnan(seconds) else float(seconds),
        notes.get("family"),
        _as_json_or_none(notes.get("limits")),
    )


def _as_json_or_none(value: Any) -> str | None:
    return None if value is None else _as_json(value)


def encode_for_checksum(listed: Sequence[Any]) -> bytes:
    """Return the bytes from which the checksum of the listed columns is computed."""
    return "\0".join(map(str, listed)).encode(errors="surrogatepass")


# --- reading --------------------------------------------------------------------------------------


def decode(record: Record) -> Any:
    """Return the content of a row: a `StoredRun`, or a JSON object for other kinds than runs.

    For errors, see `decode_metadata`.
    """
    meta, trace = decode_metadata(record)
    if record.kind != "run":
        return meta["row"]
    return next(make_stored_runs([(record.key, meta, trace)]))


def make_stored_runs(contents: Iterable[Sequence[Any]]) -> Iterator[StoredRun]:
    """Yield stored runs, given the key of each, and its metadata and trace from `decode_metadata`.

    The traces of neighbours with equal columns are parts of one array.
    """
    for names, equal in groupby(contents, key=lambda content: content[2].names):
        some = [*equal]
        words = [trace.words for *_, trace in some]
        all_words = np.concatenate(words, axis=1) if len(words) > 1 else words[0]
        rows = rows_from_columns(*split_words(all_words))
        ends = accumulate((each.shape[1] for each in words), initial=0)
        for (key, meta, _), (start, end) in zip(some, pairwise(ends), strict=True):
            run = make_run(meta["run"], names, rows[start:end])
            yield StoredRun(key, run, meta["environment"], meta.get("notes", {}))


def decode_metadata(record: Record) -> tuple[dict[str, Any], StoredTrace]:
    """Return the metadata of a row, and its trace; for other kinds than runs, the trace is empty.

    Raises
    ------
    DamagedFileError
        If the row is incomplete or changed, or pfbench does not write such entries.
    """
    kind, key, packed, packed_trace = record.kind, record.key, record.meta, record.trace
    are_bytes = isinstance(packed, bytes) and isinstance(packed_trace, bytes)
    if not (are_bytes and isinstance(record.sha256, bytes) and kind in KINDS):
        raise DamagedFileError("incomplete", "a column of the store's table has a wrong type")
    if not has_right_hash(record):
        raise DamagedFileError("wrong content")
    meta, rest = _decode_part(kind, packed, KINDS[kind])
    if rest:
        shared, rest = _decode_shared_part(kind, rest, _MOST_SHARED)
        meta = _merge(shared, meta)
    if rest:
        raise DamagedFileError("unreadable", "its metadata have more than two parts")
    check_required_fields(kind, meta)
    if not isinstance(key, str) or not KEY.fullmatch(key):
        raise DamagedFileError("incomplete", "its key is not 8 to 128 letters or digits")
    if kind != "run":
        return meta, _NO_TRACE
    if _listed_fields(meta["run"]) != _listed_columns(record):
        raise DamagedFileError("wrong content", "its columns differ from its metadata")
    return meta, _read_trace(meta.get("trace"), packed_trace)


def has_right_hash(record: Record) -> bool:
    """Return whether the checksum and the hash of a row, whose content is bytes, are right."""
    columns = encode_for_checksum(record[:SHOWN])
    content = hashlib.sha256(b"\0".join((columns, record.meta, b"")))
    content.update(record.trace)  # a long trace is not copied
    return (zlib.crc32(columns), content.digest()) == (record.checksum, record.sha256)


def _decode_part(kind: str, packed: bytes, limit: int) -> tuple[dict[str, Any], bytes]:
    """Return a part of the metadata of an entry, in which fields may lack, and the other parts."""
    data, rest = _unpack(packed, limit, "metadata")
    meta = decode_json(data)
    if not isinstance(meta, dict):
        raise DamagedFileError("unreadable", f"its metadata are not those of a {kind}")
    check_types(kind, meta)
    return meta, rest


_decode_shared_part = lru_cache(maxsize=128)(_decode_part)
_NO_TRACE = StoredTrace((), (np.empty((0, 0), np.int64),))
_COMPARED = ("problem", "algorithm", "seed", "status", "iterations")
_listed_fields, _listed_columns = itemgetter(*_COMPARED), attrgetter(*_COMPARED)


def _read_trace(shape: Any, packed: bytes) -> StoredTrace:
    if not isinstance(shape, dict) or not count(shape.get("rows")):
        raise DamagedFileError("incomplete", "its field trace is missing or of a wrong type")
    rows: int = shape["rows"]
    names: Any = shape.get("columns")
    is_short_list = isinstance(names, list) and len(names) <= MOST_COLUMNS
    all_names = _complete_columns(*names) if is_short_list and all(map(text, names)) else None
    if all_names is None:
        raise DamagedFileError("incomplete", "its table has other columns than a trace")
    if rows * len(names) > MOST_NUMBERS:
        raise DamagedFileError("too large", f"{rows:,} rows of {len(names):,} columns")
    size = shape.get("block", rows)
    if not (count(size) and size >= min(rows, 1)):
        raise DamagedFileError("incomplete", "the size of a block of its trace is wrong")
    blocks = _Blocks(packed, [all_names.index(name) for name in names], rows, size or 1)
    return StoredTrace(all_names, [*blocks] if rows <= size else blocks.check())


@dataclass(frozen=True)
class _Blocks:
    """Blocks of the rows of a compressed trace, each of which is decompressed when it is read.

    Its columns have the given `indices` in a trace; the counts that it lacks are 0.
    """

    packed: bytes
    indices: Sequence[int]
    rows: int
    size: int

    def __iter__(self) -> Iterator[Words]:
        width, start = len(self.indices), 0
        for first in range(0, self.rows or 1, self.size):
            expected = 8 * width * min(self.size, self.rows - first)
            # No longer piece has so few bytes: what follows it is not copied.
            piece = self.packed[start : start + expected + expected // 512 + 64]
            data, rest = _unpack(piece, expected, "a trace")
            start += len(piece) - len(rest)
            if len(data) < expected:
                raise DamagedFileError("truncated", f"{len(data):,} bytes of {expected:,}")
            words = np.frombuffer(data, "<i8").reshape(width, -1)
            if (total := max(self.indices) + 1) > width:
                words, stored = np.zeros((total, words.shape[1]), np.int64), words
                words[self.indices] = stored
            yield words
        if start < len(self.packed):
            raise DamagedFileError("truncated", "there are bytes after its trace")

    def check(self) -> Self:
        """Decompress all blocks, and return them; raise if one is damaged."""
        for _ in self:
            pass
        return self


@lru_cache(maxsize=64)
def _complete_columns(*names: str) -> tuple[str, ...] | None:
    """Return all columns of a trace, given the stored ones; None if these are not of a trace.

    Counts that are not stored are 0; all other columns before the measures are always stored.
    """
    stored = tuple(name for name in TRACE_COLUMNS if name in names or name not in COUNTED)
    are_valid = len(set(names)) == len(names) and names[: len(stored)] == stored
    return (*TRACE_COLUMNS, *names[len(stored) :]) if are_valid else None


def _unpack(packed: bytes, limit: int, subject: str) -> tuple[bytes, bytes]:
    """Return decompressed data, and the bytes after them.

    Raises
    ------
    DamagedFileError
        If the data are incomplete, or have more than `limit` bytes.
    """
    unpacker = zlib.decompressobj()
    try:
        data = unpacker.decompress(packed, limit + 1)
    except zlib.error as error:
        raise DamagedFileError("unreadable", str(error)) from error
    if len(data) > limit:
        raise DamagedFileError("too large", f"more than {limit:,} bytes of {subject}")
    if not unpacker.eof:
        raise DamagedFileError("truncated", f"{subject} does not end where it should")
    return data, unpacker.unused_data


def decode_json(data: bytes | bytearray) -> Any:
    """Return the value of a JSON text; raise `DamagedFileError` if it is invalid.

    Raises
    ------
    DamagedFileError
        If the data are invalid, nested very deep, or have text that is not valid Unicode.
    """
    try:
        value = json.loads(data.decode())
        brackets = data.count(b"[") + data.count(b"{")
        is_deep = brackets > _DEEPEST and _is_deeper([value], _DEEPEST + 1)
        if not is_deep and _SURROGATE.search(data):
            json.dumps(value, ensure_ascii=False).encode()
    except RecursionError:
        is_deep = True
    except ValueError as error:
        raise DamagedFileError("unreadable", str(error)) from error
    if is_deep:
        raise DamagedFileError("unreadable", f"its JSON is nested more than {_DEEPEST} deep")
    return value


def _is_deeper(value: Any, limit: int) -> bool:
    """Return whether a list or object has more than `limit` levels, including its own."""
    values = value.values() if isinstance(value, dict) else value
    nested = [item for item in values if isinstance(item, (dict, list))]
    return limit == 0 or any(_is_deeper(item, limit - 1) for item in nested)


def make_run(
    fields: Mapping[str, Any], columns: Sequence[str], rows: Sequence[tuple[Any, ...]]
) -> Run:
    """Return a run from its trace, and from its other fields as `run_fields` returns them."""
    parsed = {**fields, "counts": Counts(**fields["counts"])}
    parsed["unmet_assumptions"] = tuple(parsed.pop("unmet", ()))
    parsed["yields_output"] = parsed.pop("own_output", None)
    return Run(**parsed, columns=tuple(columns), rows=rows)


@contextmanager
def refuse_damaged(subject: str) -> Iterator[None]:
    """Convert any exception in the block to an error about a damaged entry."""
    try:
        yield
    except (DamagedFileError, MemoryError):
        raise
    except Exception as error:
        first = (str(error).splitlines() or [""])[0]
        kind = f"{type(error).__name__}: " if isinstance(error, KeyError) else ""
        raise DamagedFileError(subject, f"{kind}{first}") from error
