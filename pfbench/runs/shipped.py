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
from pfbench.base.files import storing, whole
from pfbench.runs.execute import Outcome
from pfbench.runs.loop.run import TRACE_COLUMNS, Run
from pfbench.runs.loop.stop import Stop
from pfbench.runs.planning.plan import PlannedRun
from pfbench.runs.storage.content import MOST_COLUMNS, Entry, decoded, kept_of, run_from
from pfbench.runs.storage.damaged import Damaged
from pfbench.runs.storage.opening import open_file
from pfbench.runs.storage.schema import check_content, count, list_of, number, table, text

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

_DAMAGES = (Damaged, EOFError, zlib.error, ValueError, LookupError, TypeError)
_NOTES = ("plan", "best_known", "promised", "dimension")


@dataclass(frozen=True)
class Shipped:
    """What such a file holds.

    Attributes
    ----------
    runs
        What became of planned runs.
    made
        The version of pfbench that made them, and the day.
    """

    runs: Mapping[PlannedRun, Entry]
    made: str


def thinned(run: Run, targets: Iterable[Stop], between: int = CURVE) -> Run:
    """Return a run with the rows of its trace that tables follow from, and some between them."""
    number_of_rows = len(run.rows)
    kept = {0, *range(max(0, number_of_rows - 2), number_of_rows)} if number_of_rows else set()
    for target in targets:
        first = run.first(target.measure, target.target)
        kept |= set() if first is None else {first}
    for place in range(len(TRACE_COLUMNS), len(run.columns)):
        known = (at for at in reversed(range(number_of_rows)) if not isnan(run.rows[at][place]))
        kept |= set(islice(known, 1))
    if number_of_rows > 1 and between:
        spread = np.geomspace(1, number_of_rows - 1, min(between, number_of_rows))
        kept |= {round(at) for at in spread.tolist()}
    return replace(run, rows=[run.rows[at] for at in sorted(kept)], x=None)


def ship(path: Path, outcomes: Sequence[tuple[Outcome, Sequence[Stop], int]], *, made: str) -> None:
    """Write a file of runs, whole or not at all.

    Parameters
    ----------
    outcomes
        The runs, each with its targets and the number of rows that its curve needs.
    made
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
        short = thinned(entry.run, targets, between)
        notes = {name: entry.notes[name] for name in _NOTES if name in entry.notes}
        runs.append(
            {
                "key": entry.key,
                "environment": environments.index(environment),
                "run": kept_of(short),
                "notes": notes | {"plan": outcome.plan.as_json()},
                "columns": list(short.columns),
                "rows": short.rows,
            }
        )
    said = {"schema": SCHEMA, "made": made, "environments": environments, "runs": runs}
    data = json.dumps(said, default=str, separators=(",", ":")).encode()
    with storing(f"the archive {path}"), whole(path) as file:
        file.write(gzip.compress(data, compresslevel=9, mtime=0))


def read_shipped(path: Path) -> Shipped:
    """Read such a file; nothing that it names is imported or opened.

    Raises
    ------
    InputError
        If it cannot be read, or is damaged or too large.
    """
    try:
        return _parsed(_unpacked(path))
    except (*_DAMAGES, gzip.BadGzipFile) as error:
        raise InputError(
            f"{path} is no whole archive of runs ({error}): get it again, or use --rerun."
        ) from error
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}): use --rerun.") from error


def _unpacked(path: Path) -> Any:
    with open_file(path) as file, gzip.GzipFile(fileobj=file) as packed:
        data = packed.read(MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        raise Damaged("too large", f"more than {MOST_BYTES:,} bytes once it is unpacked")
    return decoded(data)


def _parsed(found: Any) -> Shipped:
    if not table(found) or found.get("schema") != SCHEMA:
        raise Damaged("wrong schema version", f"{SCHEMA} is known")
    if not (text(found["made"]) and list_of(table)(found["runs"])):
        raise Damaged("incomplete", "its fields made and runs")
    if len(found["runs"]) > MOST_RUNS:
        raise Damaged("too large", f"{len(found['runs']):,} runs")
    runs = {}
    for one in found["runs"]:
        if not count(one["environment"]):
            raise Damaged("incomplete", "an environment")
        environment = found["environments"][one["environment"]]
        plan = PlannedRun.of_json(one["notes"]["plan"])
        check_content("run", {**one, "environment": environment})
        runs[plan] = Entry(str(one["key"]), _run(one), environment, one["notes"])
    return Shipped(runs, found["made"])


def _run(one: Mapping[str, Any]) -> Run:
    columns, rows = one["columns"], one["rows"]
    if not list_of(text)(columns) or tuple(columns[: len(TRACE_COLUMNS)]) != TRACE_COLUMNS:
        raise Damaged("incomplete", "its table has other columns than a trace")
    if len(columns) > MOST_COLUMNS or len(set(columns)) < len(columns):
        raise Damaged("too large", f"{len(columns):,} columns of a trace")
    cells = [cell for row in rows if isinstance(row, list) for cell in row]
    broken = any(not isinstance(row, list) or len(row) != len(columns) for row in rows)
    # One look at all types is what makes a large file quick to read.
    if broken or not {*map(type, cells)} <= {int, float, type(None)} or not _fit(cells):
        raise Damaged("incomplete", "a row of a trace")
    read = [tuple(nan if cell is None else cell for cell in row) for row in rows]
    return run_from(one["run"], columns, read)


def _fit(cells: Iterable[Any]) -> bool:
    """Return whether all whole numbers among cells have 64 bits."""
    found = [cell for cell in cells if isinstance(cell, int)]
    return not found or (number(min(found)) and number(max(found)))
