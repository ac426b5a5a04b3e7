"""Families: stored runs that differ in their limits alone, so that one may contain another.

No algorithm sees its budget or its time limit: they end a run from outside. So the run of a larger
budget begins with that of a smaller one, bit for bit, and a stored run is cut where less is asked.
What an algorithm's schedule does depend on (`iterations`, `epsilon`) are its parameters, and make
another family. More than was stored is a new run from its start: the state of a method at its end
is not stored.
"""

import json
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from pfbench.base.counts import COUNTED, Budget, Counts
from pfbench.base.errors import StorageError
from pfbench.runs.run import TRACE_COLUMNS, Run
from pfbench.runs.store import Entry, Store
from pfbench.runs.study import PlannedRun

INDEX = "families.jsonl"
"""One line for each stored run; made anew from the runs if it is not there."""

_BY_ITSELF = frozenset({"finished", "target", "diverged"})


def family_of(plan: PlannedRun) -> PlannedRun:
    """Return the run without the limits that end it from outside."""
    return replace(plan, budget=None, time_limit=None, memory_limit=None)


def limits_of(plan: PlannedRun) -> dict[str, Any]:
    """Return the budget of a run as JSON can write it."""
    return {} if plan.budget is None else finite(plan.budget)


def finite(budget: Budget) -> dict[str, float]:
    """Return the limits of a budget that are limits."""
    limits = {name: getattr(budget, name) for name in COUNTED}
    return {name: limit for name, limit in limits.items() if limit != math.inf}


def within(plan: PlannedRun, other: PlannedRun) -> bool:
    """Return whether one of two runs of a family has a smaller budget than the other."""
    mine, others = limits_of(plan), limits_of(other)
    smaller = all(mine.get(name, math.inf) <= others[name] for name in others)
    return smaller and mine != others


@dataclass(frozen=True)
class _Known:
    """A stored run as the index has it."""

    key: str
    status: str
    counts: Mapping[str, int]
    seconds: float
    limits: Mapping[str, float]

    def over(self, limits: Mapping[str, float]) -> bool:
        """Return whether the run spent more than a budget."""
        return any(self.counts[name] > limit for name, limit in limits.items())


class Families:
    """The stored runs by family, kept in a file of the store that can be made anew."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._path = store.folder / INDEX
        self._known: dict[str, list[_Known]] = {}
        self._half_a_line = False
        if not self._path.exists():
            self._make_anew()
        self._read()

    def add(self, key: str, run: Run, notes: Mapping[str, Any]) -> None:
        """Note a run that has just been stored."""
        line = _line(key, run, notes)
        self._take(line)
        try:
            # A line this short is appended whole, also beside another sweep.
            with self._path.open("a", encoding="utf-8") as file:
                file.write("\n" * self._half_a_line + json.dumps(line) + "\n")
            self._half_a_line = False
        except OSError as error:
            raise StorageError(
                f"the index {self._path} could not be written ({error.strerror}): free some space "
                "or choose another store with --store; runs already stored are safe."
            ) from error

    def contained(self, plan: PlannedRun, family: str) -> tuple[Entry, str] | None:
        """Return what the store has of a run in others of its family, and how ("stored", "cut").

        What is cut is not stored again: the longer run that holds it is.
        """
        limits = limits_of(plan)
        for known in self._known.get(family, ()):
            if plan.time_limit is not None and not known.seconds <= plan.time_limit:
                continue
            over = known.over(limits)
            whole = known.status in _BY_ITSELF or (
                known.status == "budget"
                and all(limits.get(name, math.inf) <= known.limits[name] for name in known.limits)
            )
            if over or whole:
                entry = self._store.get(known.key)
                if entry is not None and not over:
                    return entry, "stored"
                if entry is not None and known.status in _BY_ITSELF | {"budget", "timeout"}:
                    return replace(entry, run=cut(entry.run, plan.budget or Budget())), "cut"
        return None

    def _take(self, line: Mapping[str, Any]) -> None:
        known = _Known(*(line[name] for name in _Known.__dataclass_fields__))
        self._known.setdefault(line["family"], []).append(known)

    def _read(self) -> None:
        try:
            text = self._path.read_text(encoding="utf-8", errors="replace")
        except FileNotFoundError:
            return
        except OSError as error:
            raise StorageError(
                f"the index {self._path} cannot be read ({error.strerror}): mend its permissions, "
                "or delete it, and it is made anew."
            ) from error
        # So may end what a sweep wrote that was killed.
        self._half_a_line = bool(text) and not text.endswith("\n")
        for line in text.splitlines():
            try:
                self._take(json.loads(line))
            except (ValueError, KeyError, TypeError):
                continue

    def _make_anew(self) -> None:
        lines = []
        for entry in map(self._store.get, self._store.keys()):
            if entry is not None and "family" in entry.notes:
                lines.append(json.dumps(_line(entry.key, entry.run, entry.notes)) + "\n")
        if not lines:
            return
        partial = self._path.with_name(f".{INDEX}.{os.getpid()}.partial")
        try:
            partial.write_text("".join(lines), encoding="utf-8")
            partial.replace(self._path)
        except OSError as error:
            partial.unlink(missing_ok=True)
            raise StorageError(
                f"the index {self._path} could not be written ({error.strerror}): free some space "
                "or choose another store with --store; runs already stored are safe."
            ) from error


def _line(key: str, run: Run, notes: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "key": key,
        "family": notes["family"],
        "status": run.status,
        "counts": run.counts.as_dict(),
        "seconds": run.seconds,
        "limits": notes["limits"],
    }


def cut(run: Run, budget: Budget) -> Run:
    """Return what a run had done within a smaller budget: its trace up to there.

    It ends at the last recorded iterate within the budget, with the counts spent to reach it. Of
    its output are known those measures that the trace holds, if the output is the last iterate; the
    others are None. The time inside oracles is not known (NaN).
    """
    columns = list(run.columns)
    places = [(columns.index(name), limit) for name, limit in finite(budget).items()]
    rows = []
    for row in run.rows:
        if any(row[place] > limit for place, limit in places):
            break
        rows.append(row)
    last = dict(zip(columns, rows[-1], strict=True))
    measured = [name for name in columns if name not in TRACE_COLUMNS]
    known = measured if run.parameters.get("output") == "last" else []
    final = {name: _finite(last[name]) if name in known else None for name in run.final}
    allowed = ", ".join(f"{name}={limit:g}" for name, limit in finite(budget).items())
    return replace(
        run,
        status="budget",
        stop_reason=f"cut from a longer stored run: its next recorded iterate exceeds {allowed}",
        iterations=int(last["iteration"]),
        counts=Counts(**{name: int(last[name]) for name in COUNTED}),
        final=final,
        seconds=last["seconds"],
        oracle_seconds=math.nan,
        rows=rows,
    )


def _finite(number: float) -> float | None:
    return number if math.isfinite(number) else None
