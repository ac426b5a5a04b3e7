"""Batched writing of entries that arrive in fast succession."""

import time
from collections.abc import Iterable
from typing import Generic, Self, TypeVar

from pfbench.runs.storage.serialization import Record
from pfbench.runs.storage.store import Store

_AT_ONCE = 500
_FAST, _LONGEST_WAIT = 0.02, 0.25  # seconds
Report = TypeVar("Report")


class WriteBatch(Generic[Report]):
    """Entries that a store writes in one transaction, each with a report to return afterwards.

    An entry waits only while others follow fast, because a disk can be flushed only some hundred
    times a second. If the process is killed, less than a second of work is lost.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._records: list[Record] = []
        self._reports: list[Report] = []
        self._first = self._last = -_FAST

    def __enter__(self) -> Self:
        """Return the batch; the end of the block, even by an exception, writes waiting entries."""
        return self

    def __exit__(self, *error: object) -> None:
        self.flush()

    def add(self, record: Record, reports: Iterable[Report]) -> list[Report]:
        """Add an entry with its reports; return the reports of all entries that this call wrote."""
        now = time.monotonic()
        follows = now - self._last < _FAST
        if not self._records:
            self._first = now
        self._last = now
        self._records.append(record)
        self._reports += reports
        full = len(self._records) >= _AT_ONCE or now - self._first > _LONGEST_WAIT
        return [] if follows and not full else self.flush()

    def flush(self) -> list[Report]:
        """Write all waiting entries, and return their reports."""
        records, reports = self._records, self._reports
        self._records, self._reports = [], []
        self._store.write(records)
        return reports
