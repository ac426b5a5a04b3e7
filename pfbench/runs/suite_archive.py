"""Runs that are shipped with a suite: one small file, read as carefully as a store.

It is packed JSON. Of each trace it keeps the rows that every number of a table follows from (the
first that reaches each target, and the last), and as many between as a curve needs. Counts hold on
every machine; seconds are those of the one where the file was made, which it names.
"""

import gzip
import json
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from math import isnan, nan
from pathlib import Path
from typing import Any

import numpy as np

from pfbench.base.errors import InputError
from pfbench.base.files import atomic_write, translate_os_errors
from pfbench.runs.execute import PlanOutcome
from pfbench.runs.loop.run import TRACE_COLUMNS, Run
from pfbench.runs.loop.stop import Stop
from pfbench.runs.planning.plan import PlannedRun
from pfbench.runs.storage.damage import DamagedFileError
from pfbench.runs.storage.field_types import check_content, count, list_type, number, table, text
from pfbench.runs.storage.safe_open import open_file
from pfbench.runs.storage.serialization import (
    MOST_COLUMNS,
    StoredRun,
    decode_json,
    make_run,
    run_fields,
)

SCHEMA = 1
"""Version of the file; one of another version is not read."""

SUFFIX = ".runs.gz"
"""How the name of a suite's file ends, after that of its spec."""

MOST_BYTES = 2**27
"""Bytes of the largest file once it is unpacked."""

MOST_RUNS = 100_000
"""The most runs in one."""

CURVE = 20
"""So many rows of a trace are kept for its curve."""

_DAMAGES = (DamagedFileError, EOFError, zlib.error, ValueError, LookupError, TypeError)
_NOTES = ("plan", "best_known", "promised", "dimension")


@dataclass(frozen=True)
class SuiteArchive:
    """What such a file holds.

    Attributes
    ----------
    runs
        What became of planned runs.
    created
        The version of pfbench that made them, and the day.
    """

    runs: Mapping[PlannedRun, StoredRun]
    created: str


def thin_trace(run: Run, targets: Iterable[Stop], between: int = CURVE) -> Run:
    """Return a run with the rows of its trace that tables follow from, and some between them."""
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
    """Write a file of runs, whole or not at all.

    Parameters
    ----------
    outcomes
        The runs, each with its targets and the number of rows that its curve needs.
    text
        The version of pfbench, and the day.

    Raises
    ------
    StorageError
        If it cannot be written.
    """
    environments: list[dict[str, str]] = []
    runs = []
    for outcome, targets, between in outcomes:
        entry = outcome.entry
        environment = dict(entry.environment)
        if environment not in environments:
            environments.append(environment)
        short = thin_trace(entry.run, targets, between)
        notes = {name: entry.notes[name] for name in _NOTES if name in entry.notes}
        runs.append(
            {
                "key": entry.key,
                "environment": environments.index(environment),
                "run": run_fields(short),
                "notes": notes | {"plan": outcome.plan.as_json()},
                "columns": list(short.columns),
                "rows": short.rows,
            }
        )
    statement = {"schema": SCHEMA, "made": text, "environments": environments, "runs": runs}
    data = json.dumps(statement, default=str, separators=(",", ":")).encode()
    with translate_os_errors(f"the archive {path}"), atomic_write(path) as file:
        file.write(gzip.compress(data, compresslevel=9, mtime=0))


def read_suite_archive(path: Path) -> SuiteArchive:
    """Read such a file; nothing that it names is imported or opened.

    Raises
    ------
    InputError
        If it cannot be read, or is damaged or too large.
    """
    try:
        return _parse(_decompress(path))
    except (*_DAMAGES, gzip.BadGzipFile) as error:
        raise InputError(
            f"{path} is no whole archive of runs ({error}): get it again, or use --rerun."
        ) from error
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}): use --rerun.") from error


def _decompress(path: Path) -> Any:
    with open_file(path) as file, gzip.GzipFile(fileobj=file) as packed:
        data = packed.read(MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        raise DamagedFileError("too large", f"more than {MOST_BYTES:,} bytes once it is unpacked")
    return decode_json(data)


def _parse(obj: Any) -> SuiteArchive:
    if not table(obj) or obj.get("schema") != SCHEMA:
        raise DamagedFileError("wrong schema version", f"{SCHEMA} is known")
    if not (text(obj["made"]) and list_type(table)(obj["runs"])):
        raise DamagedFileError("incomplete", "its fields made and runs")
    if len(obj["runs"]) > MOST_RUNS:
        raise DamagedFileError("too large", f"{len(obj['runs']):,} runs")
    runs = {}
    for run in obj["runs"]:
        if not count(run["environment"]):
            raise DamagedFileError("incomplete", "an environment")
        environment = obj["environments"][run["environment"]]
        plan = PlannedRun.from_json(run["notes"]["plan"])
        check_content("run", {**run, "environment": environment})
        runs[plan] = StoredRun(str(run["key"]), _run_from_record(run), environment, run["notes"])
    return SuiteArchive(runs, obj["made"])


def _run_from_record(record: Mapping[str, Any]) -> Run:
    columns, rows = record["columns"], record["rows"]
    if not list_type(text)(columns) or tuple(columns[: len(TRACE_COLUMNS)]) != TRACE_COLUMNS:
        raise DamagedFileError("incomplete", "its table has other columns than a trace")
    if len(columns) > MOST_COLUMNS or len(set(columns)) < len(columns):
        raise DamagedFileError("too large", f"{len(columns):,} columns of a trace")
    cells = [cell for row in rows if isinstance(row, list) for cell in row]
    broken = any(not isinstance(row, list) or len(row) != len(columns) for row in rows)
    # One look at all types is what makes a large file quick to read.
    if broken or not {*map(type, cells)} <= {int, float, type(None)} or not _fit_in_64_bits(cells):
        raise DamagedFileError("incomplete", "a row of a trace")
    read = [tuple(nan if cell is None else cell for cell in row) for row in rows]
    return make_run(record["run"], columns, read)


def _fit_in_64_bits(cells: Iterable[Any]) -> bool:
    """Return whether all whole numbers among cells have 64 bits."""
    results = [cell for cell in cells if isinstance(cell, int)]
    return not results or (number(min(results)) and number(max(results)))
