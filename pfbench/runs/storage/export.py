"""Export of stored runs as CSV tables, or as the results file of benchopt.

A table has a column for each measure of any run. The runs are read one at a time, and a second time
if a run has a column that another run of its algorithm and problem lacks. The store is not changed.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache, partial
from itertools import chain, product
from operator import attrgetter, mul
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from pfbench.base.counts import COUNTED
from pfbench.base.errors import InputError
from pfbench.base.escaping import escape_spreadsheet
from pfbench.base.files import as_storage_errors, require_pyarrow
from pfbench.base.selectors import Selector, replace_file_by_module
from pfbench.runs.loop.run import TRACE_COLUMNS
from pfbench.runs.planning.plan import PlannedRun, portable_identity
from pfbench.runs.planning.study import LabelledSelector, Spec, Study
from pfbench.runs.planning.tune import StudySetting
from pfbench.runs.storage.damage import DamagedFileError
from pfbench.runs.storage.entry_list import Row
from pfbench.runs.storage.serialization import INTEGERS, StoredTrace, decode_metadata, split_words
from pfbench.runs.storage.store import Store

RUN_COLUMNS = (
    *("key", "sweep", "setting", "label", "targets", "problem", "algorithm", "parameters"),
    *("schedule", "unmet", "seed", "status", "stop_reason", "iterations", *COUNTED),
    *("seconds", "oracle_seconds", "failure_probability", "environment"),
)
"""Columns of ``runs.csv``, before one ``final_NAME`` for each measure at the output; `parameters`,
`unmet` and `environment` are JSON."""

_AT_ONCE, _BUFFER = 10_000, 2**20  # rows, or bytes, that are written together
_QUOTED = re.compile(r'[",\r\n]')
_NO_COUNTS = dict.fromkeys(COUNTED, 0)
_BENCHOPT = {"iteration": "stop_val", "seconds": "time", "objective": "objective_value"}
_BENCHOPT |= {name: f"count_{name}" for name in COUNTED}


Planned = tuple[str, str, int]
"""Key of a stored run in a spec: its problem, algorithm and seed."""

RunNaming = Mapping[str, str]
"""Cells of a run, by column: spec, title of the setting, label of the algorithm, and targets as
texts MEASURE=NUMBER, the hardest last."""


def run_names(spec: Spec) -> Mapping[Planned, RunNaming]:
    """Return a dict from each run of a spec to its sweep, setting, label and targets, for export.

    Equal runs share the naming of the first one. The result of tuning is not known here. A method
    at any point of its grid therefore counts as tuned on the seeds of the study, and as a trial on
    those of the search.
    """
    names: dict[Planned, RunNaming] = {}
    for study in spec.studies:
        targets = ", ".join(f"{stop.measure}={stop.target!r}" for stop in study.targets)
        for setting, label, plan in _iterate_labelled_runs(study):
            naming = {"sweep": spec.name, "setting": setting.title, "label": label}
            names.setdefault(portable_identity(plan), naming | {"targets": targets})
    return names


def _iterate_labelled_runs(study: Study) -> Iterator[tuple[StudySetting, str, PlannedRun]]:
    """Yield all runs that a study may have, with their settings and labels."""
    parts = product(study.settings, study.problems, study.algorithms)
    for setting, problem, algorithm in parts:
        for plan in study.all_target_plans(problem, algorithm, setting):
            yield setting, algorithm.label, plan
    for problem, method, setting in study.iterate_tuned_methods():
        tuned = LabelledSelector(method.tuned_label, method.selector)
        for point, searched in study.iterate_trials(problem, method, setting):
            other_setting = replace(setting, values={**setting.values, **point})
            for plan in study.all_target_plans(problem, tuned, other_setting):
                yield setting, tuned.label, plan
            for plan in searched:
                yield setting, f"{method.label}, search", plan


def _find_naming(
    run: Mapping[str, Any], notes: Any, names: Mapping[Planned, RunNaming]
) -> RunNaming:
    """Return sweep, setting, label and targets of a stored run; empty where they are unknown."""
    if names:
        problem, algorithm = map(replace_file_by_module, (run["problem"], run["algorithm"]))
        if (naming := names.get((problem, algorithm, run["seed"]))) is not None:
            return naming
    match notes.get("plan", {}).get("stop"):
        case [str() as measure, int() | float() as target]:
            targets = f"{measure}={target!r}"
        case _:
            targets = ""
    return {"sweep": "", "setting": "", "label": "", "targets": targets}


# --- exporters -----------------------------------------------------------------------------------


_TraceForm = tuple[tuple[str, ...], Sequence[int]]
"""Templates of the lines of an iterate, after key and iteration; and the columns that fill them."""


@dataclass(frozen=True)
class Export:
    """Writer of a store's runs into tables in a folder.

    Attributes
    ----------
    store, rows
        The store, and the listed columns of the runs to be exported, in the order of the files.
    folder
        An empty folder.
    names
        Names of the runs in a spec; see `run_names`.
    raw
        Whether CSV texts are unquoted, although a spreadsheet would evaluate some.
    omitted
        The reason why a run is left out, by key.
    """

    store: Store
    rows: Sequence[Row]
    folder: Path
    names: Mapping[Planned, RunNaming]
    raw: bool
    omitted: dict[str, str] = field(default_factory=dict)

    def runs(self) -> Iterator[tuple[str, Mapping[str, Any], StoredTrace]]:
        """Yield key, metadata and trace of the runs to export.

        Damaged runs, and those that changed since they were listed, are left out.
        """
        records = self.store.read_runs([row.key for row in self.rows])
        for row, record in zip(self.rows, records, strict=True):
            if record is None:
                self.omitted[row.key] = "removed meanwhile"
                continue
            try:
                meta, trace = decode_metadata(record)
            except DamagedFileError:
                self.omitted[row.key] = "damaged: see `pfbench store check`"
                continue
            if _sort_key(record) != _sort_key(row):
                self.omitted[row.key] = "stored again since they were listed"
            else:
                yield row.key, meta, trace

    def sample(self) -> Iterator[tuple[str, Mapping[str, Any], StoredTrace]]:
        """Yield one run of each algorithm on each problem, which usually have all columns."""
        rows = {(row.algorithm, row.problem): row for row in self.rows}
        return replace(self, rows=[*rows.values()]).runs()

    def write_csv(self, *, is_long: bool) -> list[Path]:
        """Write ``runs.csv`` with a line for each run, and ``trace.csv``.

        The long form of ``trace.csv`` has a line for each number of each iterate. The wide form has
        a line for each iterate; a cell is empty where a run lacks the measure of the column. Floats
        have all their digits, and None is an empty cell. Unless `raw` is true, a text that a
        spreadsheet would evaluate is quoted, and control characters are escaped; see
        `pfbench.base.escaping`. Both files are written again if a run adds columns.
        """
        sample = [(meta["run"]["final"], trace.names) for _, meta, trace in self.sample()]
        finals = dict.fromkeys(chain.from_iterable(names for names, _ in sample))
        columns = dict.fromkeys(chain(TRACE_COLUMNS, *(names for _, names in sample)))
        make_form = lru_cache(maxsize=64)(partial(self._trace_form, is_long=is_long))
        paths = [self.folder / "runs.csv", self.folder / "trace.csv"]
        written = -1
        while written != len(finals) + len(columns):
            written = len(finals) + len(columns)
            files = (path.open("w", _BUFFER, newline="", encoding="utf-8") for path in paths)
            with next(files) as runs, next(files) as traces:
                runs.write(self._csv_line((*RUN_COLUMNS, *map("final_{}".format, finals))))
                trace_head = ("iteration", "column", "value") if is_long else columns
                traces.write(self._csv_line(("key", *trace_head)))
                for key, meta, trace in self.runs():
                    final = meta["run"]["final"]
                    finals |= dict.fromkeys(final)
                    columns |= dict.fromkeys(trace.names)
                    cells = self._run_cells(key, meta)
                    runs.write(self._csv_line((*cells, *map(final.get, finals))))
                    form = make_form(tuple(trace.names), tuple(columns))
                    traces.writelines(_format_trace(self._quote(key), trace, form))
        return paths

    def _trace_form(
        self, names: tuple[str, ...], head: tuple[str, ...], *, is_long: bool
    ) -> _TraceForm:
        """Return the form of an iterate of a trace with columns `names`, except its iteration."""
        cells = {name: "%d" if name in INTEGERS else "%s" for name in names[1:]}
        if is_long:
            titles = {name: self._quote(name).replace("%", "%%") for name in cells}
            lines = [f",{titles[name]},{cells[name]}\n" for name in head if name in cells]
        else:
            lines = [f",{','.join(cells.get(name, '') for name in head[1:])}\n"]
        return tuple(lines), [names.index(name) for name in head if name in cells]

    def _run_cells(self, key: str, meta: Mapping[str, Any]) -> tuple[Any, ...]:
        """Return the cells of a run in `RUN_COLUMNS`."""
        run = meta["run"]
        line = _NO_COUNTS | run | run["counts"] | {"key": key}
        line |= _find_naming(run, meta.get("notes", {}), self.names)
        line |= {
            "parameters": _as_json(run["parameters"]),
            "unmet": _as_json(run.get("unmet", [])),
            "environment": _environment_as_json(tuple(meta["environment"].items())),
        }
        return tuple(map(line.__getitem__, RUN_COLUMNS))

    def _csv_line(self, values: Iterable[Any]) -> str:
        """Return a line of a CSV file; None is an empty cell."""
        return f"{','.join(map(self._as_cell, values))}\n"

    def _as_cell(self, value: Any) -> str:
        return self._quote(value) if type(value) is str else "" if value is None else repr(value)

    @cached_property
    def _quote(self) -> Callable[[str], str]:
        """Function that returns a text as a cell of a CSV line, escaped and quoted if necessary."""
        escape = str if self.raw else escape_spreadsheet
        return lru_cache(maxsize=4096)(lambda text: _quote_csv(escape(text)))

    def write_benchopt(self) -> list[Path]:
        """Write ``benchopt_run_pfbench.parquet``, with the columns of benchopt 1.10.

        Each line is a recorded iterate: ``stop_val`` is its iteration, ``time`` its seconds,
        ``idx_rep`` the seed. The problem's selector is the ``dataset_name``, its name the
        ``objective_name``, the algorithm's selector the ``solver_name``. A measure is in the column
        ``objective_NAME``; the measure ``objective`` is in ``objective_value``, benchopt's default.
        A count is in ``count_NAME``.
        """
        require_pyarrow("the format benchopt")
        import pyarrow as pa
        import pyarrow.parquet as pq

        path = self.folder / "benchopt_run_pfbench.parquet"
        sample = self._benchopt_parts(self.sample())
        names = dict.fromkeys(chain.from_iterable(chain.from_iterable(sample)))
        written = -1
        while written != len(names):
            written = len(names)
            schema = pa.schema([(name, _benchopt_arrow_type(name)) for name in names])
            waiting, rows = list[Any](), 0
            with pq.ParquetWriter(path, schema) as writer:
                for part in chain(self._benchopt_parts(self.runs()), [None]):
                    if part is None or rows >= _AT_ONCE:
                        writer.write_table(_benchopt_table(schema, waiting))
                        waiting, rows = [], 0
                    if part is not None:
                        waiting.append(part)
                        names |= dict.fromkeys(chain(*part))
                        rows += len(part[1]["stop_val"])
        return [path]

    def _benchopt_parts(
        self, runs: Iterable[tuple[str, Mapping[str, Any], StoredTrace]]
    ) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
        """Yield the fields of each run with the columns of a block of its trace, as benchopt's."""
        for key, meta, trace in runs:
            run, environment = meta["run"], meta["environment"]
            problem, algorithm = map(_parse_selector, (run["problem"], run["algorithm"]))
            fields = {
                "objective_name": problem.name,
                "obj_description": "",
                "solver_name": run["algorithm"],
                "solver_description": algorithm.name,
                "dataset_name": run["problem"],
                "idx_rep": run["seed"],
                "sampling_strategy": "Iteration",
                "base_seed": run["seed"],
                **{f"p_dataset_{name}": str(value) for name, value in problem.parameters.items()},
                **{f"p_solver_{name}": str(value) for name, value in run["parameters"].items()},
                "status": run["status"],
                "key": key,
                **_find_naming(run, meta.get("notes", {}), self.names),
                "version-numpy": environment.get("numpy", ""),
                "version-scipy": environment.get("scipy", ""),
                "env-OMP_NUM_THREADS": environment.get("threads", ""),
            }
            names = [_BENCHOPT.get(name, f"objective_{name}") for name in trace.names]
            for integers, floats in map(split_words, trace.blocks):
                yield fields, dict(zip(names, (*integers, *floats), strict=True))


FORMATS: Mapping[str, Callable[[Export], list[Path]]] = MappingProxyType(
    {
        "csv-wide": partial(Export.write_csv, is_long=False),
        "csv-long": partial(Export.write_csv, is_long=True),
        "benchopt": Export.write_benchopt,
    }
)
"""Exporters; each returns the files that it wrote."""


def export(
    store: Store,
    rows: Sequence[Row],
    form: str,
    folder: Path,
    names: Mapping[Planned, RunNaming] = MappingProxyType({}),
    *,
    raw: bool = False,
) -> tuple[list[Path], Mapping[str, int]]:
    """Write runs of a store into an empty folder, which is created if it is missing.

    Parameters
    ----------
    form
        A name in `FORMATS`.
    store, rows, names, raw
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
        selected = Export(store, sorted(rows, key=_sort_key), folder, names, raw)
        return FORMATS[form](selected), Counter(selected.omitted.values())


def _format_trace(key: str, trace: StoredTrace, form: _TraceForm) -> Iterator[str]:
    """Yield the lines of a trace, some rows at a time.

    By hand: the module csv takes a minute for the traces of 100,000 runs.
    """
    lines, picked = form
    for integers, floats in map(split_words, trace.blocks):
        columns = [*integers.tolist(), *floats.tolist()]
        parts = [_add_iteration(lines, iteration) for iteration in columns[0]]
        template = key.join(["", *chain.from_iterable(parts)])
        rows = zip(*map(columns.__getitem__, picked), strict=True)
        yield template % tuple(chain.from_iterable(rows))


@lru_cache(maxsize=4096)
def _add_iteration(lines: tuple[str, ...], iteration: int) -> list[str]:
    """Return the templates of the lines of an iterate, without the key before each."""
    return [f",{iteration}{line}" for line in lines]


def _quote_csv(text: str) -> str:
    """Return a text as a cell of a CSV line, quoted if necessary."""
    return '"' + text.replace('"', '""') + '"' if _QUOTED.search(text) else text


_sort_key = attrgetter("algorithm", "problem", "seed", "key")

_as_json = json.JSONEncoder(default=str).encode
_environment_as_json = lru_cache(maxsize=64)(lambda items: _as_json(dict(items)))
_parse_selector = lru_cache(maxsize=4096)(Selector.parse)


def _benchopt_table(schema: Any, runs: Sequence[tuple[dict[str, Any], dict[str, Any]]]) -> Any:
    """Return the Arrow table of some runs, given the fields and the columns of each.

    Arrays are made from buffers: from objects, pyarrow would import pandas first.
    """
    import pyarrow as pa

    lengths = np.array([len(columns["stop_val"]) for _, columns in runs], np.int64)

    def make_column(name: str, kind: Any) -> Any:
        parts = [columns.get(name) for _, columns in runs]
        if any(part is not None for part in parts):
            pairs = zip(parts, lengths, strict=True)
            padded = [np.zeros(n, int) if part is None else part for part, n in pairs]
            buffers: list[Any] = [np.concatenate(padded)]
        else:
            parts = [fields.get(name) for fields, _ in runs]
            if kind == pa.string():
                texts = [(part or "").encode() for part in parts]
                ends = np.cumsum(np.repeat([0, *map(len, texts)], [1, *lengths]), dtype=np.int32)
                buffers = [ends, b"".join(map(mul, texts, lengths))]
            else:
                buffers = [np.repeat([part or 0 for part in parts], lengths)]
        is_valid = np.repeat(np.array([part is not None for part in parts], bool), lengths)
        buffers = [np.packbits(is_valid, bitorder="little"), *buffers]
        return pa.Array.from_buffers(kind, len(is_valid), [*map(pa.py_buffer, buffers)])

    return pa.table([*map(make_column, schema.names, schema.types)], schema=schema)


def _benchopt_arrow_type(name: str) -> str:
    """Return the name of the Arrow type of a column of benchopt, given the column's name."""
    if name in ("idx_rep", "base_seed", "stop_val") or name.startswith("count_"):
        return "int64"
    measured = name.startswith("objective_") and name != "objective_name"
    return "double" if measured or name == "time" else "string"
