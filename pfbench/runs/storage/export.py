"""Export of stored runs as CSV tables, or as the results file of benchopt.

A table has a column for each measure of any run. The runs are read one at a time, and a second time
if a run has a column that the first run lacks. The store is not changed.
"""

import json
import operator
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pfbench.base.counts import COUNTED
from pfbench.base.errors import InputError
from pfbench.base.escaping import escape_spreadsheet
from pfbench.base.files import as_storage_errors, require_pyarrow
from pfbench.base.selectors import Selector
from pfbench.runs.loop.run import TRACE_COLUMNS
from pfbench.runs.storage.damage import DamagedFileError
from pfbench.runs.storage.entry_list import Row
from pfbench.runs.storage.serialization import INTEGERS, StoredTrace, decode_metadata, split_words
from pfbench.runs.storage.store import Store

if TYPE_CHECKING:
    import pyarrow as pa

RUN_COLUMNS = (
    *("key", "targets", "problem", "algorithm", "parameters"),
    *("schedule", "unmet", "seed", "status", "stop_reason", "iterations", *COUNTED),
    *("seconds", "oracle_seconds", "failure_probability", "environment"),
)
"""Columns of ``runs.csv``, before one ``final_NAME`` for each measure at the output; `parameters`,
`unmet` and `environment` are JSON."""

_AT_ONCE, _BUFFER = 2**12, 2**20  # rows, or bytes, that are written together
_QUOTED = re.compile(r'[",\r\n]')
_NO_COUNTS = dict.fromkeys(COUNTED, 0)
_BENCHOPT = {"iteration": "stop_val", "seconds": "time", "objective": "objective_value"}
_BENCHOPT |= {name: f"count_{name}" for name in COUNTED}


# --- exporters -----------------------------------------------------------------------------------


_TraceForm = tuple[str, Sequence[int]]
"""Template of the lines of an iterate, with a null character for each key; and their columns."""

_BenchoptPart = tuple[Mapping[str, str], Mapping[str, "np.ndarray[Any, Any]"]]
"""Texts that are equal in a block of a trace, and its numbers, by the names of columns."""


@dataclass(frozen=True)
class Export:
    """Writer of a store's runs into tables in a folder.

    Attributes
    ----------
    store, rows
        The store, and the listed columns of the runs to be exported, in the order of the files.
    folder
        An empty folder.
    omitted
        The reason why a run is left out, by key.
    """

    store: Store
    rows: Sequence[Row]
    folder: Path
    omitted: dict[str, str] = field(default_factory=dict)

    def runs(self) -> Iterator[tuple[str, Mapping[str, Any], StoredTrace]]:
        """Yield key, metadata and trace of the runs to export.

        Damaged runs, and those that changed since they were listed, are left out.
        """
        records = self.store.read_runs([row.key for row in self.rows])
        for row, record in zip(self.rows, records, strict=True):
            try:
                if record is None or _sort_key(record) != _sort_key(row):
                    self.omitted[row.key] = "removed or stored again since they were listed"
                else:
                    yield row.key, *decode_metadata(record)
            except DamagedFileError:
                self.omitted[row.key] = "damaged: see `pfbench store check`"

    def write_csv(self, *, is_long: bool) -> list[Path]:
        """Write ``runs.csv`` with a line for each run, and ``trace.csv``.

        The long form of ``trace.csv`` has a line for each number of each iterate. The wide form has
        a line for each iterate; a cell is empty where a run lacks the measure of the column. Floats
        have all their digits, and None is an empty cell. A text that a spreadsheet would
        evaluate is quoted, and control characters are escaped; see `pfbench.base.escaping`. Both
        files are written again if a run adds columns.
        """
        first = next(self.runs(), None)
        finals = dict.fromkeys(first[1]["run"]["final"] if first else ())
        columns = dict.fromkeys(first[2].names if first else TRACE_COLUMNS)
        make_form = lru_cache(maxsize=64)(_long_form if is_long else _wide_form)
        paths = [self.folder / "runs.csv", self.folder / "trace.csv"]
        written = -1
        while written != len(finals) + len(columns):
            written = len(finals) + len(columns)
            files = (path.open("w", _BUFFER, newline="", encoding="utf-8") for path in paths)
            with next(files) as runs, next(files) as traces:
                runs.write(_csv_line((*RUN_COLUMNS, *map("final_{}".format, finals))))
                trace_head = ("iteration", "column", "value") if is_long else columns
                traces.write(_csv_line(("key", *trace_head)))
                for key, meta, trace in self.runs():
                    final = meta["run"]["final"]
                    finals |= dict.fromkeys(final)
                    columns |= dict.fromkeys(trace.names)
                    cells = self._run_cells(key, meta)
                    runs.write(_csv_line((*cells, *map(final.get, finals))))
                    form = make_form(tuple(trace.names), tuple(columns))
                    traces.writelines(_format_trace(key, trace, form))
        return paths

    def _run_cells(self, key: str, meta: Mapping[str, Any]) -> tuple[Any, ...]:
        """Return the cells of a run in `RUN_COLUMNS`."""
        run = meta["run"]
        line = _NO_COUNTS | run | run["counts"] | {"key": key}
        line |= {
            "targets": _targets(meta),
            "parameters": _as_json(run["parameters"]),
            "unmet": _as_json(run.get("unmet", [])),
            "environment": _environment_as_json(tuple(meta["environment"].items())),
        }
        return tuple(map(line.__getitem__, RUN_COLUMNS))

    def write_benchopt(self) -> list[Path]:
        """Write ``benchopt_run_pfbench.parquet``, with the columns of benchopt 1.10.

        Each line is a recorded iterate: ``stop_val`` is its iteration, ``time`` its seconds,
        ``idx_rep`` the seed. The problem's selector is the ``dataset_name``, its name the
        ``objective_name``, the algorithm's selector the ``solver_name``. A measure is in the column
        ``objective_NAME``; the measure ``objective`` is in ``objective_value``, benchopt's default.
        A count is in ``count_NAME``.
        """
        require_pyarrow("the format benchopt")
        path = self.folder / "benchopt_run_pfbench.parquet"
        types = _arrow_types(next(self._benchopt_parts(), ({}, {})))
        written = -1
        while written != len(types):
            written = len(types)
            schema, waiting, rows = dict(types), list[_BenchoptPart](), 0
            import pyarrow as pa  # a run has been read: its memory is free again
            import pyarrow.parquet as pq

            with pq.ParquetWriter(path, pa.schema(schema)) as writer:
                for part in chain(self._benchopt_parts(), [None]):
                    if part is None or rows >= _AT_ONCE:
                        columns = [_arrow_column(waiting, *item) for item in schema.items()]
                        writer.write_table(pa.Table.from_arrays(columns, [*schema]))
                        waiting, rows = [], 0
                    if part is not None:
                        waiting.append(part)
                        types |= _arrow_types(part)
                        rows += len(part[1]["stop_val"])
        return [path]

    def _benchopt_parts(self) -> Iterator[_BenchoptPart]:
        """Yield columns of benchopt for each block of a trace."""
        for key, meta, trace in self.runs():
            run, environment = meta["run"], meta["environment"]
            problem, algorithm = map(_parse_selector, (run["problem"], run["algorithm"]))
            texts = {
                "objective_name": problem.name,
                "obj_description": "",
                "solver_name": run["algorithm"],
                "solver_description": algorithm.name,
                "dataset_name": run["problem"],
                "sampling_strategy": "Iteration",
                **{f"p_dataset_{name}": str(value) for name, value in problem.parameters.items()},
                **{f"p_solver_{name}": str(value) for name, value in run["parameters"].items()},
                "status": run["status"],
                "key": key,
                "targets": _targets(meta),
                "version-numpy": environment.get("numpy", ""),
                "version-scipy": environment.get("scipy", ""),
                "env-OMP_NUM_THREADS": environment.get("threads", ""),
            }
            names = [_BENCHOPT.get(name, f"objective_{name}") for name in trace.names]
            for integers, floats in map(split_words, trace.blocks):
                seeds = np.full(integers.shape[1], run["seed"])
                numbers = dict(zip(names, (*integers, *floats), strict=True))
                yield texts, {"idx_rep": seeds, "base_seed": seeds, **numbers}


def _targets(meta: Mapping[str, Any]) -> str:
    """Return the target of a run as MEASURE=NUMBER, given its metadata; empty if it has none."""
    match meta.get("notes", {}).get("plan", {}).get("stop"):
        case [str() as measure, int() | float() as target]:
            return f"{measure}={target!r}"
    return ""


FORMATS: Mapping[str, Callable[[Export], list[Path]]] = {
    "csv-wide": partial(Export.write_csv, is_long=False),
    "csv-long": partial(Export.write_csv, is_long=True),
    "benchopt": Export.write_benchopt,
}
"""Exporters; each returns the files that it wrote."""


def export(
    store: Store, rows: Sequence[Row], form: str, folder: Path
) -> tuple[list[Path], Mapping[str, int]]:
    """Write runs of a store into an empty folder, which is created if it is missing.

    Parameters
    ----------
    form
        A name in `FORMATS`.
    store, rows
        See `Export`. The runs are sorted by algorithm, problem and seed.

    Returns
    -------
    list of Path, mapping of str to int
        The files; and the number of runs left out, by reason.

    Raises
    ------
    InputError
        If the folder is not empty, or there are no runs.
    StorageError
        If the files cannot be written.
    """
    if not rows:
        raise InputError("no stored run matches the options: there is nothing to export.")
    with as_storage_errors(f"the export to {folder}"):
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise InputError(f"the folder {folder} is not empty: choose another with -o.")
        selected = Export(store, sorted(rows, key=_sort_key), folder)
        return FORMATS[form](selected), Counter(selected.omitted.values())


def _wide_form(names: tuple[str, ...], head: tuple[str, ...]) -> _TraceForm:
    """Return the form of a line for each iterate of a trace with columns `names`."""
    cells = ["" if name not in names else "%d" if name in INTEGERS else "%s" for name in head]
    return f"\0,{','.join(cells)}\n", [names.index(name) for name in head if name in names]


def _long_form(names: tuple[str, ...], head: tuple[str, ...]) -> _TraceForm:
    """Return the form of a line for each number of an iterate of a trace with columns `names`."""
    cells = [(name, "%d" if name in INTEGERS else "%s") for name in head[1:] if name in names]
    lines = (f"\0,%d,{_quote(name).replace('%', '%%')},{cell}\n" for name, cell in cells)
    return "".join(lines), [k for name, _ in cells for k in (0, names.index(name))]


def _format_trace(key: str, trace: StoredTrace, form: _TraceForm) -> Iterator[str]:
    """Yield the lines of a trace, a block at a time.

    By hand: the module csv takes a minute for the traces of 100,000 runs.
    """
    lines, picked = form[0].replace("\0", key), form[1]
    for integers, floats in map(split_words, trace.blocks):
        columns = [*integers.tolist(), *floats.tolist()]
        rows = zip(*map(columns.__getitem__, picked), strict=True)
        yield lines * integers.shape[1] % tuple(chain.from_iterable(rows))


def _csv_line(values: Iterable[Any]) -> str:
    """Return a line of a CSV file; None is an empty cell."""
    return f"{','.join(map(_as_cell, values))}\n"


def _as_cell(value: Any) -> str:
    return _quote(value) if type(value) is str else "" if value is None else repr(value)


@lru_cache(maxsize=4096)
def _quote(text: str) -> str:
    """Return a text as a cell of a CSV line, escaped and quoted if necessary."""
    text = escape_spreadsheet(text)
    return '"' + text.replace('"', '""') + '"' if _QUOTED.search(text) else text


_sort_key = operator.attrgetter("algorithm", "problem", "seed", "key")

_as_json = json.JSONEncoder(default=str).encode
_environment_as_json = lru_cache(maxsize=64)(lambda items: _as_json(dict(items)))
_parse_selector = lru_cache(maxsize=4096)(Selector.parse)


def _arrow_types(part: _BenchoptPart) -> dict[str, str]:
    """Return the name of the Arrow type of each column of benchopt in a part."""
    texts, numbers = part
    kinds = {"i": "int64", "f": "double"}
    return dict.fromkeys(texts, "string") | {
        name: kinds[column.dtype.kind] for name, column in numbers.items()
    }


def _arrow_column(parts: Sequence[_BenchoptPart], name: str, kind: str) -> "pa.Array[Any]":
    """Return the cells of a column in all parts; where a part lacks it, they are empty or NaN.

    Buffers are given to pyarrow, which would import pandas to convert lists or arrays.
    """
    import pyarrow as pa

    lengths = [len(numbers["stop_val"]) for _, numbers in parts]
    if kind == "string":
        cells = [texts.get(name, "").encode() for texts, _ in parts]
        ends = np.cumsum([0, *np.repeat([*map(len, cells)], lengths)], dtype=np.int32)
        content: Any = b"".join(map(operator.mul, cells, lengths))
        buffers = [None, pa.py_buffer(ends), pa.py_buffer(content)]
    else:
        lacks = (np.full(length, np.nan) for length in lengths)
        columns = [numbers.get(name, lack) for (_, numbers), lack in zip(parts, lacks, strict=True)]
        buffers = [None, pa.py_buffer(np.concatenate(columns or [np.empty(0)]))]
    return pa.Array.from_buffers(pa.type_for_alias(kind), sum(lengths), buffers)
