"""Runs that are shipped with a suite, in one small file, which is read as untrusted data.

The file is a line of JSON, followed by the columns of the traces, compressed together. Runs with
equal columns are stored in one table, column by column, as 64-bit little-endian numbers. The first
bytes of all numbers come first, then the second bytes of all, and so on. Integers are stored as
differences.

The file has only some rows of each trace: the first row that reaches each target, and the last row.
All numbers of a table follow from these. Further rows between them are for plotting a curve. Counts
are the same on every machine. Seconds are those of the machine that wrote the file, which the file
names. ``tools/suite_archive.py`` writes the file.
"""

import gzip
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pfbench.base.errors import InputError
from pfbench.runs.loop.trace import rows_from_columns
from pfbench.runs.planning.plan import PlannedRun
from pfbench.runs.storage.damage import DamagedFileError, open_regular_file
from pfbench.runs.storage.field_types import check_metadata_types, count, list_type, table, text
from pfbench.runs.storage.serialization import (
    INTEGERS,
    StoredRun,
    Words,
    add_missing_columns,
    decode_json,
    make_run,
    split_words,
)

SCHEMA = 2
"""Version of the format; files of another version are not read."""

SUFFIX = ".runs.gz"
"""Suffix of a suite archive, after the name of the suite's spec."""

MOST_BYTES = 2**27
"""Maximum size in bytes of an unpacked file."""

MOST_RUNS = 100_000
"""Maximum number of runs in a file."""

NUMBER_WIDTH = 8
"""Bytes of a number."""

_DAMAGES = (DamagedFileError, EOFError, zlib.error, ValueError, LookupError, TypeError)


@dataclass(frozen=True)
class SuiteArchive:
    """Runs in the file of a suite, with the day and the pfbench version of their creation.

    Attributes
    ----------
    runs
        The stored run of each planned run.
    created
        Version of pfbench that made the runs, and the day.
    """

    runs: Mapping[PlannedRun, StoredRun]
    created: str


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
    with open_regular_file(path) as file, gzip.GzipFile(fileobj=file) as packed:
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
        names, words = tables[run["table"]]
        start = starts[run["table"]]
        end = starts[run["table"]] = start + run["rows"]
        if end > words.shape[1]:
            raise DamagedFileError("truncated", "the tables have fewer rows than the runs")
        restored = make_run(run["run"], names, rows_from_columns(*split_words(words[:, start:end])))
        runs[plan] = StoredRun(str(run["key"]), restored, environment, run["notes"])
    return SuiteArchive(runs, obj["made"])


def _read_tables(shapes: Any, body: bytes) -> Iterator[tuple[Sequence[str], Words]]:
    """Yield columns and words of each table: the traces of its runs, one after the other."""
    if not list_type(table)(shapes):
        raise DamagedFileError("incomplete", "the field tables is no list of tables")
    start = 0
    for shape in shapes:
        names, rows = shape["columns"], shape["rows"]
        if not count(rows):
            raise DamagedFileError("incomplete", "a table has invalid rows")
        end = start + NUMBER_WIDTH * rows * len(names)
        if end > len(body):
            raise DamagedFileError("truncated", f"{len(body):,} bytes, at least {end:,} expected")
        bits = np.frombuffer(body[start:end], np.uint8).reshape(len(names), NUMBER_WIDTH, rows)
        little = np.array(bits.transpose(0, 2, 1), order="C").view(f"<i{NUMBER_WIDTH}")
        words = little.reshape(len(names), rows).astype(np.int64, copy=False)
        integers = words[: sum(name in INTEGERS for name in names)]
        np.cumsum(integers, axis=1, out=integers)
        yield add_missing_columns(names, words)
        start = end
    if start != len(body):
        raise DamagedFileError("unreadable", "data follow the tables")
