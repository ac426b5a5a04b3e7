"""Tables: CSV for everybody, and the results file of benchopt."""

import csv
import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from pfbench.base.counts import COUNTED
from pfbench.base.selectors import Selector
from pfbench.runs.loop.run import TRACE_COLUMNS
from pfbench.runs.storage.exports.curves import View
from pfbench.runs.storage.store import Entry

RUN_COLUMNS = (
    "key",
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


def write_wide(entries: Iterable[Entry], view: View, folder: Path) -> list[Path]:
    """Write ``runs.csv``, a line for each run, and ``trace.csv``, a line for each recorded iterate.

    A cell is empty where a run has no such measure.
    """
    names = dict.fromkeys(name for entry in entries for name in entry.run.columns)
    measures = [name for name in names if name not in TRACE_COLUMNS]

    def lines() -> Iterator[Sequence[Any]]:
        for entry in entries:
            columns = entry.run.columns
            for row in entry.run.rows:
                named = dict(zip(columns, row, strict=True))
                yield [entry.key, *(named.get(name) for name in (*TRACE_COLUMNS, *measures))]

    head = ("key", *TRACE_COLUMNS, *measures)
    return [_runs(entries, folder), write_csv(folder / "trace.csv", head, lines())]


def write_long(entries: Iterable[Entry], view: View, folder: Path) -> list[Path]:
    """Write ``runs.csv``, and ``trace.csv`` with a line for each number of a recorded iterate."""

    def lines() -> Iterator[Sequence[Any]]:
        for entry in entries:
            for row in entry.run.rows:
                for name, value in zip(entry.run.columns[1:], row[1:], strict=True):
                    yield [entry.key, row[0], name, value]

    head = ("key", "iteration", "column", "value")
    return [_runs(entries, folder), write_csv(folder / "trace.csv", head, lines())]


def _runs(entries: Iterable[Entry], folder: Path) -> Path:
    final = sorted({name for entry in entries for name in entry.run.final})

    def lines() -> Iterator[Sequence[Any]]:
        for entry in entries:
            about = entry.run.as_json()
            about |= entry.run.counts.as_dict() | {"key": entry.key}
            for name in ("parameters", "unmet"):
                about[name] = json.dumps(about[name], default=str)
            about["environment"] = json.dumps(dict(entry.environment))
            measured = [entry.run.final.get(name) for name in final]
            yield [*(about[name] for name in RUN_COLUMNS), *measured]

    head = (*RUN_COLUMNS, *(f"final_{name}" for name in final))
    return write_csv(folder / "runs.csv", head, lines())


def write_csv(path: Path, head: Sequence[str], lines: Iterable[Sequence[Any]]) -> Path:
    """Write a table; floats keep all their digits, None is an empty cell."""
    with path.open("x", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(head)
        writer.writerows(lines)
    return path


# --- benchopt -------------------------------------------------------------------------------------


def write_benchopt(entries: Iterable[Entry], view: View, folder: Path) -> list[Path]:
    """Write ``benchopt_run_pfbench.parquet``, as benchopt 1.10 names the columns of its results.

    A line is a recorded iterate: ``stop_val`` is its iteration, ``time`` its seconds, ``idx_rep``
    the seed. The problem's selector is the ``dataset_name``, its name the ``objective_name``, the
    algorithm's selector the ``solver_name``. Measures are ``objective_NAME``, but ``objective``
    itself is ``objective_value``, which benchopt draws first; counts are ``count_NAME``.
    """
    import pandas as pd

    lines = []
    for entry in entries:
        run = entry.run
        on, by = Selector.parse(run.problem), Selector.parse(run.algorithm)
        about: dict[str, Any] = {
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
            "version-numpy": entry.environment.get("numpy", ""),
            "version-scipy": entry.environment.get("scipy", ""),
            "env-OMP_NUM_THREADS": entry.environment.get("threads", ""),
        }
        for row in run.rows:
            lines.append(about | dict(_benchopt(zip(run.columns, row, strict=True))))
    path = folder / "benchopt_run_pfbench.parquet"
    pd.DataFrame(lines).to_parquet(path)
    return [path]


def _benchopt(row: Iterable[tuple[str, Any]]) -> Iterator[tuple[str, Any]]:
    names = {"iteration": "stop_val", "seconds": "time", "objective": "objective_value"}
    names |= {name: f"count_{name}" for name in COUNTED}
    for name, value in row:
        yield names.get(name, f"objective_{name}"), value
