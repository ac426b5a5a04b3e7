"""Run the methods of a suite, and write the runs to the archive that is shipped with it.

Usage, from the root of a checkout::

    python tools/suite_archive.py SUITE FILE.runs.gz [--store DIR] [--jobs N]

SUITE is quick, standard, norms, or the file of a suite.
"""

from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import typer

from pfbench import __version__
from pfbench.base.files import check_writable
from pfbench.cli.compare import load_suite
from pfbench.cli.options import default_store_folder, make_engine
from pfbench.cli.report_sources import make_runs, resolve_search
from pfbench.runs.storage.store import Store
from pfbench.runs.suite_archive import CURVE, write_suite_archive


def write_archive(suite: str, path: Path, store: Store, jobs: int | None) -> int:
    """Execute all runs of a suite, write them to an archive, and return their number."""
    check_writable(path, str(path))
    spec, _ = load_suite(suite, None, None)
    with closing(make_engine(jobs, None)) as engine:
        search = resolve_search(spec, store, engine)
        outcomes = make_runs(search.name, search.runs(), store, engine)
        searches = make_runs(f"{spec.name}, search", search.search_runs(), store, engine)
    tuned_for = {stop for study in search.studies if study.tune for stop in study.tune.targets}
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
