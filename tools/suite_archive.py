"""Run the methods of a suite, and write the runs to the archive that is shipped with it.

Usage, from the root of a checkout::

    python tools/suite_archive.py SUITE FILE.sqlite.xz [--store DIR] [--jobs N]

SUITE is quick, standard, norms, or the file of a suite.
"""

import lzma
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from itertools import islice
from math import isnan
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import typer

from pfbench import __version__
from pfbench.base.files import as_storage_errors, atomic_write, check_writable
from pfbench.cli.compare import load_suite
from pfbench.cli.options import default_store_folder, make_engine
from pfbench.cli.report_sources import RunExecution
from pfbench.runs.execute import PlanOutcome
from pfbench.runs.loop.run import TRACE_COLUMNS, Run, Stop
from pfbench.runs.storage.database import NAME
from pfbench.runs.storage.serialization import run_record
from pfbench.runs.storage.store import Store

CURVE = 20
"""Maximum number of trace rows that are kept for a curve."""

_NOTES = ("plan", "best_known", "promised", "dimension")


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

    Nothing in the store is compressed before the store is compressed as a whole.

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
    records = []
    for index, (outcome, targets, between) in enumerate(outcomes):
        entry = outcome.entry
        short = thin_trace(entry.run, targets, between)
        notes = {name: entry.notes[name] for name in _NOTES if name in entry.notes}
        notes |= {"plan": outcome.plan.as_json(), "created": text}
        key = f"{entry.key}-{index}"  # the runs of two plans may have the same key
        records.append(run_record(key, short, dict(entry.environment), notes, 0, level=0))
    with TemporaryDirectory() as folder:
        with closing(Store(folder)) as store:
            store.write(records)
        data = lzma.compress(Path(folder, NAME).read_bytes(), preset=9)
    with as_storage_errors(f"the archive {path}"), atomic_write(path) as file:
        file.write(data)


def write_archive(suite: str, path: Path, store: Store, jobs: int | None) -> int:
    """Execute all runs of a suite, write them to an archive, and return their number."""
    check_writable(path, str(path))
    spec, _ = load_suite(suite, None, None)
    with closing(make_engine(jobs, None)) as engine:
        execution = RunExecution(store, engine)
        search = execution.tune(spec)
        outcomes = execution.run(search.name, search.runs())
        searches = execution.run(f"{spec.name}, search", search.search_runs())
    tuned_for = {stop for study in search.studies if study.tune for stop in study.tuning_targets}
    rows = [(outcome, search.targets[outcome.plan], CURVE) for outcome in outcomes]
    rows += [(outcome, tuple(tuned_for), 0) for outcome in searches]
    write_suite_archive(path, rows, text=f"{__version__}, {datetime.now(UTC).date().isoformat()}")
    return len(rows)


def main(suite: str, file: Path, store: Path | None = None, jobs: int | None = None) -> None:
    """Run the methods of a suite, and write the runs to an archive."""
    number = write_archive(suite, file, Store(store or default_store_folder()), jobs)
    print(f"{number} runs: {file}")


if __name__ == "__main__":
    typer.run(main)
