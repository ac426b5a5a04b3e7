"""Runs that are shipped with a suite, in one small file, which is read as untrusted data.

The file is a line of JSON, followed by the columns of the traces, compressed together. Runs with
equal columns are stored in one table, column by column, as 64-bit little-endian numbers. The first
bytes of all numbers come first, then the second bytes of all, and so on. Integers are stored as
differences.

The file has only some rows of each trace: the first row that reaches each target, and the last row.
All numbers of a table follow from these. Further rows between them are for plotting a curve. Counts
are the same on every machine. Seconds are those of the machine that wrote the file, which the file
names.
"""

import gzip
import json
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from math import isnan
from pathlib import Path
from typing import Any

import numpy as np

from pfbench.base.errors import InputError
from pfbench.base.files import atomic_write, translate_os_errors
from pfbench.runs.execute import PlanOutcome
from pfbench.runs.loop.run import TRACE_COLUMNS, Run, Stop
from pfbench.runs.loop.trace import rows_of_blocks
from pfbench.runs.planning.plan import PlannedRun
from pfbench.runs.storage.damage import DamagedFileError, open_file
from pfbench.runs.storage.field_types import check_metadata_types, count, list_type, table, text
from pfbench.runs.storage.serialization import (
    StoredRun,
    column_dtype,
    decode_json,
    insert_lacking_counts,
    list_stored_columns,
    make_run,
    run_fields,
)

SCHEMA = 2
"""Version of the format; files of another version are not read."""

SUFFIX = ".runs.gz"
"""Suffix of a suite archive, after the name of the suite's spec."""

MOST_BYTES = 2**27
"""Maximum size in bytes of an unpacked file."""

MOST_RUNS = 100_000
"""Maximum number of runs in a file."""

CURVE = 20
"""Maximum number of trace rows that are kept for a curve."""

_DAMAGES = (DamagedFileError, EOFError, zlib.error, ValueError, LookupError, TypeError)
_WIDTH = 8  # bytes of a number
_NOTES = ("plan", "best_known", "promised", "dimension")


@dataclass(frozen=True)
class SuiteArchive:
    """Runs in the file of a suite, and the version and day of the file's creation.

    Attributes
    ----------
    runs
        The stored run of each planned run.
    created
        Version of pfbench that made the runs, and the day.
    """

    runs: Mapping[PlannedRun, StoredRun]
    created: str


def thin_trace(run: Run, targets: Iterable[Stop], between: int = CURVE) -> Run:
    """Return a run with only the trace rows that tables and curves need."""
    number_of_rows = len(run.rows)
    points = {0, *range(max(0, number_of_rows - 2), number_of_rows)} if number_of_rows else set()
    for target in targets:
        first = run.first_value(target.measure, target.target)
        points |= set() if first is None else {first}
    for index in range(len(TRACE_COLUMNS), len(run.columns)):
        indices = (
            point for point in reversed(range(number_of_rows)) if not isnan(run.rows[point][index])
        )
        points |= set(islice(indices, 1))
    if number_of_rows > 1 and between:
        spread = np.geomspace(1, number_of_rows - 1, min(between, number_of_rows))
        points |= {round(point) for point in spread.tolist()}
    return replace(run, rows=[run.rows[point] for point in sorted(points)], x=None)


def write_suite_archive(
    path: Path, outcomes: Sequence[tuple[PlanOutcome, Sequence[Stop], int]], *, text: str
) -> None:
    """Write a suite archive atomically: the whole file or nothing.

    Parameters
    ----------
    outcomes
        The runs, each with its targets and the number of rows that its curve needs.
    text
        Version of pfbench, and the day.

    Raises
    ------
    StorageError
        If the file cannot be written.
    """
    environments: list[dict[str, str]] = []
    tables: dict[tuple[str, ...], list[tuple[Any, ...]]] = {}
    runs = []
    for outcome, targets, between in outcomes:
        entry = outcome.entry
        environment = dict(entry.environment)
        if environment not in environments:
            environments.append(environment)
        short = thin_trace(entry.run, targets, between)
        tables.setdefault(short.columns, []).extend(short.rows)
        notes = {name: entry.notes[name] for name in _NOTES if name in entry.notes}
        runs.append(
            {
                "key": entry.key,
                "environment": environments.index(environment),
                "run": run_fields(short),
                "notes": notes | {"plan": outcome.plan.as_json()},
                "table": [*tables].index(short.columns),
                "rows": len(short.rows),
            }
        )
    shapes = [{"columns": names, "rows": len(rows)} for names, rows in tables.items()]
    statement = {"schema": SCHEMA, "made": text, "environments": environments}
    statement |= {"tables": shapes, "runs": runs}
    head = json.dumps(statement, default=str, separators=(",", ":")).encode()
    columns = (
        _encode_column(np.array(column, column_dtype(name)))
        for names, rows in tables.items()
        for name, column in zip(names, zip(*rows, strict=True), strict=bool(rows))
    )
    data = head + b"\n" + b"".join(columns)
    with translate_os_errors(f"the archive {path}"), atomic_write(path) as file:
        file.write(gzip.compress(data, compresslevel=9, mtime=0))


def _encode_column(column: "np.ndarray[Any, Any]") -> bytes:
    if column.dtype.kind == "i":
        column = np.diff(column, prepend=column.dtype.type(0))
    little = column.astype(column.dtype.newbyteorder("<"))
    return little.view(np.uint8).reshape(-1, _WIDTH).T.tobytes()


def _decode_columns(
    data: bytes, kind: str, column_count: int, row_count: int
) -> "np.ndarray[Any, Any]":
    """Return columns decoded from bytes, shape (column_count, row_count); kind is "i" or "f"."""
    bits = np.frombuffer(data, np.uint8).reshape(column_count, _WIDTH, row_count)
    little = np.ascontiguousarray(bits.transpose(0, 2, 1)).view(f"<{kind}{_WIDTH}")
    columns = little.reshape(column_count, row_count).astype(f"{kind}{_WIDTH}", copy=False)
    return np.cumsum(columns, axis=1) if kind == "i" else columns


def read_suite_archive(path: Path) -> SuiteArchive:
    """Read a suite archive without importing or opening anything that it names.

    Raises
    ------
    InputError
        If the file cannot be read, or is damaged or too large.
    """
    try:
        return _parse(_decompress(path))
    except (*_DAMAGES, gzip.BadGzipFile) as error:
        raise InputError(
            f"{path} is not a complete archive of runs ({error}): download it again, or "
            "use --rerun."
        ) from error
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}): use --rerun.") from error


def _decompress(path: Path) -> bytes:
    with open_file(path) as file, gzip.GzipFile(fileobj=file) as packed:
        data = packed.read(MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        raise DamagedFileError("too large", f"more than {MOST_BYTES:,} bytes once it is unpacked")
    return data


def _parse(data: bytes) -> SuiteArchive:
    head, _, body = data.partition(b"\n")
    obj = decode_json(head)
    if not table(obj) or obj.get("schema") != SCHEMA:
        raise DamagedFileError("wrong schema version", f"not {SCHEMA}")
    if not (text(obj["made"]) and list_type(table)(obj["runs"])):
        raise DamagedFileError("incomplete", "the field made or runs is invalid")
    if len(obj["runs"]) > MOST_RUNS:
        raise DamagedFileError("too large", f"{len(obj['runs']):,} runs")
    tables = list(_read_tables(obj["tables"], body))
    starts = [0] * len(tables)
    runs = {}
    for run in obj["runs"]:
        if not (count(run["environment"]) and count(run["table"]) and count(run["rows"])):
            raise DamagedFileError("incomplete", "a run has no valid environment or table")
        environment = obj["environments"][run["environment"]]
        plan = PlannedRun.from_json(run["notes"]["plan"])
        check_metadata_types("run", {**run, "environment": environment})
        names, integers, floats = tables[run["table"]]
        start = starts[run["table"]]
        end = starts[run["table"]] = start + run["rows"]
        if end > floats.shape[1]:
            raise DamagedFileError("truncated", "the tables have fewer rows than the runs")
        rows = rows_of_blocks(integers[:, start:end], floats[:, start:end])
        restored = make_run(run["run"], names, rows)
        runs[plan] = StoredRun(str(run["key"]), restored, environment, run["notes"])
    return SuiteArchive(runs, obj["made"])


_Table = tuple[list[str], "np.ndarray[Any, Any]", "np.ndarray[Any, Any]"]


def _read_tables(shapes: Any, body: bytes) -> Iterator[_Table]:
    """Yield the column names, the integer columns and the float columns of each table.

    Counts that are not stored are 0.
    """
    if not list_type(table)(shapes):
        raise DamagedFileError("incomplete", "the field tables is no list of tables")
    start = 0
    for shape in shapes:
        names, rows = shape["columns"], shape["rows"]
        if not count(rows):
            raise DamagedFileError("incomplete", "a table has invalid rows")
        integer_count = len(list_stored_columns(names)) - 1  # seconds, the last, is a float
        middle = start + _WIDTH * rows * integer_count
        end = start + _WIDTH * rows * len(names)
        if end > len(body):
            raise DamagedFileError("truncated", f"{len(body):,} bytes, at least {end:,} expected")
        integers = _decode_columns(body[start:middle], "i", integer_count, rows)
        floats = _decode_columns(body[middle:end], "f", len(names) - integer_count, rows)
        yield *insert_lacking_counts(names, integers), floats
        start = end
    if start != len(body):
        raise DamagedFileError("unreadable", "data follow the tables")
