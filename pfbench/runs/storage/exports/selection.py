"""Stored runs for an export, one after the other."""

from collections import Counter
from collections.abc import Iterator, Sequence

from pfbench.runs.storage.damage import DamagedFileError
from pfbench.runs.storage.entry_list import Row
from pfbench.runs.storage.serialization import StoredRun
from pfbench.runs.storage.store import Store

SORT_COLUMNS = ("algorithm", "problem", "seed", "key")
"""Sort columns of runs."""


class SelectedRuns:
    """Runs of some rows of a listing, by algorithm, problem and seed.

    Attributes
    ----------
    rows
        The rows, in that order.
    omitted
        Number of omitted or unused runs, by reason.
    """

    def __init__(self, store: Store, rows: Sequence[Row]) -> None:
        self._store = store
        self.rows = sorted(rows, key=sort_key)
        self.omitted: Counter[str] = Counter()

    def __iter__(self) -> Iterator[StoredRun]:
        """Read each run once; damaged or changed ones are left out."""
        for row in self.rows:
            try:
                stat_entry = self._store.read_content_and_metadata("run", row["key"])
            except DamagedFileError:
                self.omitted["damaged: see `pfbench store check`"] += 1
                continue
            if stat_entry is None:
                self.omitted["removed meanwhile"] += 1
                continue
            entry: StoredRun = stat_entry[0]
            run = entry.run
            if (run.algorithm, run.problem, run.seed, entry.key) != sort_key(row):
                self.omitted["stored again since they were listed"] += 1
                continue
            yield entry


def sort_key(row: Row) -> tuple[object, ...]:
    """Return the sort key of a row."""
    return tuple(row[name] for name in SORT_COLUMNS)
