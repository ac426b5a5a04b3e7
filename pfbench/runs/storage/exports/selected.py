"""The stored runs that are exported, one after the other."""

from collections import Counter
from collections.abc import Iterator, Sequence

from pfbench.runs.storage.content import Entry
from pfbench.runs.storage.damaged import Damaged
from pfbench.runs.storage.gathering import order_of
from pfbench.runs.storage.index import Row
from pfbench.runs.storage.store import Store


class Selected:
    """The runs that some rows of a listing name, by algorithm, problem and seed.

    Attributes
    ----------
    rows
        The rows, in that order.
    left_out
        How many runs were not given out, or not used, by the reason.
    """

    def __init__(self, store: Store, rows: Sequence[Row]) -> None:
        self._store = store
        self.rows = sorted(rows, key=order_of)
        self.left_out: Counter[str] = Counter()

    def __iter__(self) -> Iterator[Entry]:
        """Read each run once; those that are damaged, or not what is listed, are left out."""
        for row in self.rows:
            try:
                found = self._store.look("run", row["key"])
            except Damaged:
                self.left_out["damaged: see `pfbench store check`"] += 1
                continue
            if found is None:
                self.left_out["removed meanwhile"] += 1
                continue
            entry: Entry = found[0]
            run = entry.run
            if (run.algorithm, run.problem, run.seed, entry.key) != order_of(row):
                self.left_out["not what the index says: delete the store's index.jsonl"] += 1
                continue
            yield entry
