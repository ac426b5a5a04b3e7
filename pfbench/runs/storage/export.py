"""Export of stored runs as CSV tables, or as the results file of benchopt.

A table has a column for each measure of any run. The runs are read one at a time, and a second time
for benchopt, or if a run has a measure that the first one lacks. The store is not changed.
"""

import csv
import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import lru_cache
from io import StringIO
from itertools import chain, islice, product
from operator import attrgetter, itemgetter
from pathlib import Path
from types import MappingProxyType
from typing import Any

from pfbench.base.counts import COUNTED
from pfbench.base.errors import InputError, StorageError
from pfbench.base.escaping import escape_spreadsheet
from pfbench.base.files import require_pyarrow
from pfbench.base.selectors import Selector
from pfbench.runs.loop.run import TRACE_COLUMNS, Run
from pfbench.runs.planning.plan import PlannedRun, portable_identity
from pfbench.runs.planning.study import LabelledSelector, Spec, Study
from pfbench.runs.planning.tune import Setting
from pfbench.runs.storage.damage import DamagedFileError
from pfbench.runs.storage.entry_list import Row
from pfbench.runs.storage.serialization import StoredRun, decode
from pfbench.runs.storage.store import Store

RUN_COLUMNS = (
    *("key", "sweep", "setting", "label", "targets", "problem", "algorithm", "parameters"),
    *("schedule", "unmet", "seed", "status", "stop_reason", "iterations", *COUNTED),
    *("seconds", "oracle_seconds", "failure_probability", "environment"),
)
"""Columns of ``runs.csv``, before one ``final_NAME`` for each measure at the output; `parameters`,
`unmet` and `environment` are JSON."""

_AT_ONCE, _FORMATTED = 10_000, 1000  # rows that are written, or formatted, together
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


def _iterate_labelled_runs(study: Study) -> Iterator[tuple[Setting, str, PlannedRun]]:
    """Yield all runs that a study may have, with their settings and labels."""
    parts = product(study.settings, study.problems, study.algorithms)
    for setting, problem, algorithm in parts:
        for plan in study.all_plans(problem, algorithm, setting):
            yield setting, algorithm.label, plan
    for problem, method, setting in study.iterate_tuned():
        tuned = LabelledSelector(method.tuned_label, method.selector)
        for point, searched in study.iterate_trials(problem, method, setting):
            other_setting = replace(setting, values={**setting.values, **point})
            for plan in study.all_plans(problem, tuned, other_setting):
                yield setting, tuned.label, plan
            for plan in searched:
                yield setting, f"{method.label}, search", plan


def find_naming(entry: StoredRun, names: Mapping[Planned, RunNaming]) -> RunNaming:
    """Return sweep, setting, label and targets of a stored run; empty where they are unknown."""
    naming = names.get(portable_identity(entry.run)) if names else None
    if naming is not None:
        return naming
    match entry.notes.get("plan", {}).get("stop"):
        case [str() as measure, int() | float() as target]:
            targets = f"{measure}={target!r}"
        case _:
            targets = ""
    return dict.fromkeys(("sweep", "setting", "label"), "") | {"targets": targets}


_TraceForm = tuple[Sequence[str], Callable[[tuple[Any, ...]], tuple[Any, ...]]]
"""Pieces of a template of lines, which the key of a run joins; and the numbers that fill it."""

# --- exporters -----------------------------------------------------------------------------------


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

    def runs(self) -> Iterator[StoredRun]:
        """Yield the runs to export, except those damaged, or changed since they were listed."""
        for row in self.rows:
            record = self.store.read("run", row.key)
            try:
                entry = None if record is None else decode(record)
            except DamagedFileError:
                self.omitted[row.key] = "damaged: see `pfbench store check`"
                continue
            if record is None or entry is None:
                self.omitted[row.key] = "removed meanwhile"
            elif _sort_key(record) != _sort_key(row):
                self.omitted[row.key] = "stored again since they were listed"
            else:
                yield entry

    def write_wide(self) -> list[Path]:
        """Write ``runs.csv`` with a line for each run, ``trace.csv`` with a line for each iterate.

        A cell is empty where a run lacks the measure of the column.
        """

        def make_form(columns: Sequence[str], head: Sequence[str]) -> _TraceForm:
            cells = ["%s" if name in columns else "" for name in head[1:]]
            picked = [columns.index(name) for name in head if name in columns]
            return ["", f",{','.join(cells)}\n"], itemgetter(*picked)

        return self._write_csv(lambda columns: ("key", *columns), make_form)

    def write_long(self) -> list[Path]:
        """Write ``runs.csv``, and ``trace.csv`` with a line for each number of each iterate."""

        def make_form(columns: Sequence[str], head: Sequence[str]) -> _TraceForm:
            names = (_quote_csv(self._as_cell(name)).replace("%", "%%") for name in columns[1:])
            picked = chain.from_iterable((0, index) for index in range(1, len(columns)))
            return ["", *(f",%s,{name},%s\n" for name in names)], itemgetter(*picked)

        return self._write_csv(lambda columns: ("key", "iteration", "column", "value"), make_form)

    def _write_csv(
        self,
        trace_head: Callable[[Sequence[str]], Sequence[str]],
        make_form: Callable[[Sequence[str], Sequence[str]], _TraceForm],
    ) -> list[Path]:
        """Write ``runs.csv`` and ``trace.csv`` together; write both again if a run adds columns.

        Floats have all their digits, and None is an empty cell. Unless `raw` is true, a text that a
        spreadsheet would evaluate is quoted, and control characters are escaped; see
        `pfbench.base.escaping`.
        """
        heads = dict.fromkeys(RUN_COLUMNS), dict.fromkeys(trace_head(TRACE_COLUMNS))
        make_form = lru_cache(maxsize=64)(make_form)

        def read_lines(entry: StoredRun) -> tuple[list[Any], Iterator[str]]:
            cells = self._run_cells(entry)
            heads[0].update(dict.fromkeys(cells))
            heads[1].update(dict.fromkeys(trace_head(entry.run.columns)))
            form = make_form(entry.run.columns, tuple(heads[1]))
            line = [self._as_cell(cells.get(name)) for name in heads[0]]
            return line, _format_trace(self._as_cell(entry.key), entry.run, form)

        for entry in islice(self.runs(), 1):
            read_lines(entry)
        paths = [self.folder / "runs.csv", self.folder / "trace.csv"]
        written: list[int] = []
        while written != [*map(len, heads)]:
            written = [*map(len, heads)]
            with ExitStack() as stack:
                files, tables = [], []
                for path, head in zip(paths, heads, strict=True):
                    files.append(stack.enter_context(path.open("w", newline="", encoding="utf-8")))
                    tables.append(csv.writer(files[-1], lineterminator="\n"))
                    tables[-1].writerow(map(self._as_cell, head))
                for entry in self.runs():
                    line, texts = read_lines(entry)
                    tables[0].writerow(line)
                    files[1].writelines(texts)
        return paths

    def _run_cells(self, entry: StoredRun) -> dict[str, Any]:
        """Return the cells of a run in ``runs.csv``, by column."""
        run = entry.run
        line = vars(run) | run.counts.as_dict() | {"key": entry.key}
        line |= find_naming(entry, self.names)
        line |= {
            "parameters": _as_json(dict(run.parameters)),
            "unmet": _as_json(list(run.unmet_assumptions)),
            "environment": _as_json(dict(entry.environment)),
        }
        final = {f"final_{name}": value for name, value in run.final.items()}
        return {name: line[name] for name in RUN_COLUMNS} | final

    def _as_cell(self, value: Any) -> Any:
        return value if self.raw or not isinstance(value, str) else _escape(value)

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

        names = dict.fromkeys(chain(*map(self._benchopt_columns, self.runs())))
        schema = pa.schema([(name, _benchopt_type(name)) for name in names])
        path = self.folder / "benchopt_run_pfbench.parquet"
        with pq.ParquetWriter(path, schema) as writer:
            waiting = [schema.empty_table()]
            for entry in self.runs():
                columns, empty = self._benchopt_columns(entry), [None] * len(entry.run.rows)
                cells = [pa.array(columns.get(item.name, empty), item.type) for item in schema]
                waiting.append(pa.table(cells, schema=schema))
                if sum(table.num_rows for table in waiting) >= _AT_ONCE:
                    writer.write_table(pa.concat_tables(waiting))
                    waiting.clear()
            writer.write_table(pa.concat_tables([schema.empty_table(), *waiting]))
        return [path]

    def _benchopt_columns(self, entry: StoredRun) -> dict[str, Sequence[Any]]:
        """Return the columns of a run by benchopt's names; each row repeats the run's fields."""
        run = entry.run
        problem, algorithm = Selector.parse(run.problem), Selector.parse(run.algorithm)
        fields = {
            "objective_name": problem.name,
            "obj_description": "",
            "solver_name": run.algorithm,
            "solver_description": algorithm.name,
            "dataset_name": run.problem,
            "idx_rep": run.seed,
            "sampling_strategy": "Iteration",
            "base_seed": run.seed,
            **{f"p_dataset_{name}": str(value) for name, value in problem.parameters.items()},
            **{f"p_solver_{name}": str(value) for name, value in run.parameters.items()},
            "status": run.status,
            "key": entry.key,
            **find_naming(entry, self.names),
            "version-numpy": entry.environment.get("numpy", ""),
            "version-scipy": entry.environment.get("scipy", ""),
            "env-OMP_NUM_THREADS": entry.environment.get("threads", ""),
        }
        names = [_BENCHOPT.get(name, f"objective_{name}") for name in run.columns]
        columns = list(zip(*run.rows, strict=True)) or [()] * len(names)
        repeated = {name: [value] * len(run.rows) for name, value in fields.items()}
        return {**repeated, **dict(zip(names, columns, strict=True))}


FORMATS: Mapping[str, Callable[[Export], list[Path]]] = MappingProxyType(
    {
        "csv-wide": Export.write_wide,
        "csv-long": Export.write_long,
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
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise InputError(f"the folder {folder} is not empty: choose another with -o.")
        selected = Export(store, sorted(rows, key=_sort_key), folder, names, raw)
        return FORMATS[form](selected), Counter(selected.omitted.values())
    except OSError as error:
        raise StorageError(
            f"the export could not be written to {folder} ({error.strerror}): free some space, or "
            "name another folder with -o."
        ) from error


def _format_trace(key: str, run: Run, form: _TraceForm) -> Iterator[str]:
    """Yield the lines of a trace, some rows at a time.

    By hand: the module csv takes a minute for the traces of 100,000 runs.
    """
    pieces, pick = form
    template = key.join(pieces)
    for start in range(0, len(run.rows), _FORMATTED):
        rows = [*map(pick, run.rows[start : start + _FORMATTED])]
        yield template * len(rows) % tuple(chain.from_iterable(rows))


def _quote_csv(text: str) -> str:
    """Return a text as a cell of a CSV line, quoted if necessary."""
    file = StringIO()
    csv.writer(file, lineterminator="").writerow(["", text])
    return file.getvalue()[1:]


_sort_key = attrgetter("algorithm", "problem", "seed", "key")


_as_json = json.JSONEncoder(default=str).encode
_escape = lru_cache(maxsize=4096)(escape_spreadsheet)


def _benchopt_type(name: str) -> Any:
    """Return the Arrow type of a column of benchopt, given its name."""
    import pyarrow as pa

    if name in ("idx_rep", "base_seed", "stop_val") or name.startswith("count_"):
        return pa.int64()
    measured = name.startswith("objective_") and name != "objective_name"
    return pa.float64() if measured or name == "time" else pa.string()
