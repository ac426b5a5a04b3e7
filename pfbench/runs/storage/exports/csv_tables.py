"""Export as CSV tables, and as the results file of benchopt."""

import csv
import json
import pickle
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from functools import lru_cache
from io import StringIO
from itertools import chain, repeat
from operator import add
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

import numpy as np

from pfbench.base.counts import COUNTED
from pfbench.base.escaping import escape_spreadsheet
from pfbench.base.files import require_pyarrow
from pfbench.base.selectors import Selector
from pfbench.runs.loop.run import TRACE_COLUMNS
from pfbench.runs.storage.exports.measure_curves import ExportOptions
from pfbench.runs.storage.exports.naming import find_naming
from pfbench.runs.storage.exports.selection import SelectedRuns
from pfbench.runs.storage.serialization import StoredRun

RUN_COLUMNS = (
    "key",
    "sweep",
    "setting",
    "label",
    "targets",
    "problem",
    "algorithm",
    "parameters",
    "schedule",
    "unmet",
    "seed",
    "status",
    "stop_reason",
    "iterations",
    *COUNTED,
    "seconds",
    "oracle_seconds",
    "failure_probability",
    "environment",
)
"""Columns of ``runs.csv``, before one ``final_NAME`` for each measure at the output; `parameters`,
`unmet` and `environment` are JSON."""


class _Spool:
    """Table whose columns are collected while rows arrive; rows are kept on the disk.

    Parameters
    ----------
    folder
        Folder of the unnamed temporary file.
    names
        Names of the first columns.
    """

    def __init__(self, folder: Path, names: Iterable[str]) -> None:
        self._column_indices = {name: k for k, name in enumerate(names)}
        self._file = TemporaryFile(dir=folder)  # noqa: SIM115

    def close(self) -> None:
        """Delete the rows."""
        self._file.close()

    @property
    def names(self) -> list[str]:
        """Columns, in the order in which they appeared."""
        return list(self._column_indices)

    def add(self, names: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
        """Append rows that have these columns."""
        column_indices = [
            self._column_indices.setdefault(name, len(self._column_indices)) for name in names
        ]
        # Text would be made and read once more; the file has no name, so nobody else writes it.
        pickle.dump((column_indices, [tuple(row) for row in rows]), self._file)

    def __iter__(self) -> Iterator[list[Any]]:
        end = self._file.tell()
        self._file.seek(0)
        empty = [None] * len(self._column_indices)
        while self._file.tell() < end:
            locations, rows = pickle.load(self._file)
            for row in rows:
                cells: list[Any] = list(empty)
                for location, value in zip(locations, row, strict=True):
                    cells[location] = value
                yield cells


def write_wide(selected: SelectedRuns, view: ExportOptions, folder: Path) -> list[Path]:
    """Write a line for each run to ``runs.csv``, for each iterate to ``trace.csv``.

    A cell is empty where a run has no such measure.
    """
    with (
        closing(_Spool(folder, RUN_COLUMNS)) as runs,
        closing(_Spool(folder, ("key", *TRACE_COLUMNS))) as traces,
    ):
        for entry in selected:
            runs.add(*_run_columns_and_line(entry, view))
            key = (entry.key,)
            traces.add(("key", *entry.run.columns), (key + row for row in entry.run.rows))
        head = traces.names if view.raw else _escape_cells(traces.names)
        return [
            write_csv(folder / "runs.csv", runs.names, runs, unescaped=view.raw),
            # A key of hexadecimal digits and numbers: nothing to be made safe.
            write_csv(folder / "trace.csv", head, traces, unescaped=True),
        ]


def write_long(selected: SelectedRuns, view: ExportOptions, folder: Path) -> list[Path]:
    """Write ``runs.csv``, and ``trace.csv`` with a line for each number of a recorded iterate."""
    trace = folder / "trace.csv"
    with closing(_Spool(folder, RUN_COLUMNS)) as runs, trace.open("x", encoding="utf-8") as file:
        file.write("key,iteration,column,value\n")
        for entry in selected:
            runs.add(*_run_columns_and_line(entry, view))
            names = entry.run.columns if view.raw else _escape_cells(entry.run.columns)
            file.write(_long_lines(entry, [f"{_cell(name)}," for name in names[1:]]))
        return [write_csv(folder / "runs.csv", runs.names, runs, unescaped=view.raw), trace]


def _long_lines(entry: StoredRun, names: Sequence[str]) -> str:
    """Return the lines of a run: a key and numbers, which need no quoting in CSV."""
    lines = []
    for iteration, *values in entry.run.rows:
        begin = f"{entry.key},{iteration},"
        lines.append(begin + f"\n{begin}".join(map(add, names, map(str, values))) + "\n")
    return "".join(lines)


@lru_cache(maxsize=4096)
def _cell(text: str) -> str:
    """Return a text as a cell of CSV."""
    line = StringIO()
    csv.writer(line, lineterminator="").writerow([text])
    return line.getvalue()


def _run_columns_and_line(
    entry: StoredRun, view: ExportOptions
) -> tuple[list[str], list[list[Any]]]:
    """Return the columns and the one line of a run in ``runs.csv``."""
    run = entry.run
    subject = run.counts.as_dict() | {"key": entry.key} | find_naming(entry, view.names).columns
    subject |= {
        "parameters": _as_text(dict(run.parameters)),
        "unmet": _as_text(list(run.unmet_assumptions)),
        "environment": _as_text(dict(entry.environment)),
    }
    names = [*RUN_COLUMNS, *(f"final_{name}" for name in run.final)]
    values = (subject[name] if name in subject else getattr(run, name) for name in RUN_COLUMNS)
    return names, [[*values, *run.final.values()]]


_as_text = json.JSONEncoder(default=str).encode


def write_csv(
    path: Path, head: Sequence[str], lines: Iterable[Sequence[Any]], *, unescaped: bool = False
) -> Path:
    """Write a table; floats keep all their digits, None is an empty cell.

    Parameters
    ----------
    unescaped
        If false, a text that a spreadsheet would evaluate is quoted, and control characters are
        escaped; see `pfbench.base.escaping`.
    """
    with path.open("x", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(head if unescaped else _escape_cells(head))
        writer.writerows(lines if unescaped else map(_escape_cells, lines))
    return path


def _escape_cells(cells: Iterable[Any]) -> list[Any]:
    return [_text(cell) if isinstance(cell, str) else cell for cell in cells]


_text = lru_cache(maxsize=4096)(escape_spreadsheet)


# --- benchopt -------------------------------------------------------------------------------------


def write_benchopt(runs: SelectedRuns, view: ExportOptions, folder: Path) -> list[Path]:
    """Write ``benchopt_run_pfbench.parquet``, with the columns of benchopt 1.10.

    A line is a recorded iterate: ``stop_val`` is its iteration, ``time`` its seconds, ``idx_rep``
    the seed. The problem's selector is the ``dataset_name``, its name the ``objective_name``, the
    algorithm's selector the ``solver_name``. Measures are ``objective_NAME``, except ``objective``
    itself, which is ``objective_value``, benchopt's default; counts are ``count_NAME``.
    """
    require_pyarrow("the format benchopt")
    path = folder / "benchopt_run_pfbench.parquet"
    with closing(_Spool(folder, ())) as spool:
        for entry in runs:
            benchopt_fields = _benchopt_fields(entry, view)
            columns = list(zip(*entry.run.rows, strict=True)) or [()] * len(entry.run.columns)
            names = [*benchopt_fields, *map(_benchopt_column_name, entry.run.columns)]
            spool.add(names, [[*benchopt_fields.values(), *columns]])
        _write_parquet(path, spool)
    return [path]


def _benchopt_fields(entry: StoredRun, view: ExportOptions) -> dict[str, Any]:
    """Return the values that all lines of a run share, by benchopt's columns."""
    run = entry.run
    on, by = Selector.parse(run.problem), Selector.parse(run.algorithm)
    return {
        "objective_name": on.name,
        "obj_description": "",
        "solver_name": run.algorithm,
        "solver_description": by.name,
        "dataset_name": run.problem,
        "idx_rep": run.seed,
        "sampling_strategy": "Iteration",
        "base_seed": run.seed,
        **{f"p_dataset_{name}": str(value) for name, value in on.parameters.items()},
        **{f"p_solver_{name}": str(value) for name, value in run.parameters.items()},
        "status": run.status,
        "key": entry.key,
        **find_naming(entry, view.names).columns,
        "version-numpy": entry.environment.get("numpy", ""),
        "version-scipy": entry.environment.get("scipy", ""),
        "env-OMP_NUM_THREADS": entry.environment.get("threads", ""),
    }


def _write_parquet(path: Path, spool: _Spool) -> None:
    """Write a spool of runs in batches: a row is a run, whose traces are tuples."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = pa.schema([(name, _benchopt_column_type(name)) for name in spool.names])
    index = spool.names.index(_benchopt_column_name("iteration"))
    with pq.ParquetWriter(path, schema) as writer:
        for runs in _batch_runs(spool, index):
            lengths = [len(run[index]) for run in runs]
            repeat = np.repeat(np.arange(len(runs)), lengths)
            columns = []
            for kind, cells in zip(schema.types, zip(*runs, strict=True), strict=True):
                if any(isinstance(cell, tuple) for cell in cells):
                    filled = map(_pad_column, cells, lengths)
                    columns.append(pa.array([*chain.from_iterable(filled)], kind))
                else:
                    columns.append(pa.array(cells, kind).take(repeat))
            writer.write_table(pa.table(columns, schema=schema))


def _pad_column(cells: tuple[float, ...] | None, length: int) -> Iterable[float | None]:
    return repeat(None, length) if cells is None else cells


def _batch_runs(spool: _Spool, trace_column: int) -> Iterator[list[list[Any]]]:
    """Yield batches of runs with many rows in all, counted in the column `trace_column`."""
    some, rows = list[list[Any]](), 0
    for run in spool:
        some.append(run)
        rows += len(run[trace_column])
        if rows >= _AT_ONCE:
            yield some
            some, rows = [], 0
    if some:
        yield some


def _benchopt_column_type(name: str) -> Any:
    """Return the Arrow type of a column of benchopt."""
    import pyarrow as pa

    if name in ("idx_rep", "base_seed", "stop_val") or name.startswith("count_"):
        return pa.int64()
    measured = name.startswith("objective_") and name != "objective_name"
    return pa.float64() if measured or name == "time" else pa.string()


def _benchopt_column_name(name: str) -> str:
    """Return benchopt's name for a column of a trace."""
    return _BENCHOPT.get(name, f"objective_{name}")


_AT_ONCE = 10_000
_BENCHOPT = {"iteration": "stop_val", "seconds": "time", "objective": "objective_value"}
_BENCHOPT |= {name: f"count_{name}" for name in COUNTED}
