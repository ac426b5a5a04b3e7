"""Families: stored runs that differ in their limits alone, so that one may contain another.

No algorithm sees its budget or its time limit: they end a run from outside. So the run of a larger
budget begins with that of a smaller one, bit for bit: a stored run is cut where less is asked, and
extended from its checkpoint where more is. The same goes for `iterations`, where no iterate depends
on it (`Algorithm.anytime`). Anything else that a schedule depends on makes another family.
"""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import Any

from pfbench.base.counts import COUNTED, Counts
from pfbench.base.errors import StorageError
from pfbench.base.files import whole
from pfbench.runs.loop.run import STATUSES, TRACE_COLUMNS, Run
from pfbench.runs.planning.study import PlannedRun
from pfbench.runs.storage.store import Entry, Store

INDEX = "families.jsonl"
"""One line for each stored run; made anew from the runs if it is not there."""

_BY_ITSELF = frozenset({"finished", "target", "diverged"})
_BY_A_LIMIT = frozenset({"budget", "timeout", "finished"})


def family_of(plan: PlannedRun) -> PlannedRun:
    """Return the run without the limits that end it from outside."""
    return replace(plan, budget=None, time_limit=None, memory_limit=None)


def limits_of(plan: PlannedRun, algorithm: Any) -> dict[str, float]:
    """Return the limits of a run as JSON can write them.

    Its budget, and under "iterations" that parameter, where it is a limit like a budget.
    """
    limits = {} if plan.budget is None else plan.budget.limits
    iterations = getattr(algorithm, "iterations", None)
    if getattr(algorithm, "anytime", False) and iterations is not None:
        limits["iterations"] = iterations
    return limits


def within(mine: Mapping[str, float], others: Mapping[str, float]) -> bool:
    """Return whether the first of two runs of a family has the smaller limits."""
    smaller = all(mine.get(name, math.inf) <= others[name] for name in others)
    return smaller and mine != others


@dataclass(frozen=True)
class _Known:
    """A stored run as the index has it."""

    key: str
    status: str
    iterations: int
    counts: Mapping[str, int]
    seconds: float
    limits: Mapping[str, float]

    def over(self, limits: Mapping[str, float]) -> bool:
        """Return whether the run went on where these limits end one."""
        spent = {**self.counts, "iterations": self.iterations}
        # So many iterations would have ended it before whatever did.
        last = limits.get("iterations") == self.iterations and not (
            self.all_iterations or self.status == "target"
        )
        return last or any(spent[name] > limit for name, limit in limits.items())

    @property
    def all_iterations(self) -> bool:
        """Whether the limit "iterations" ended the run."""
        return self.status == "finished" and self.limits.get("iterations") == self.iterations

    def same(self, limits: Mapping[str, float], every: int) -> bool:
        """Return whether a run of these limits, which it is not over, ends like this one."""
        if self.status == "budget":
            ending = set(self.limits) - {"iterations"}
        elif self.all_iterations:
            ending = {"iterations"}
        elif self.status == "target":
            # Beyond the recorded iterates only the very last one is looked at.
            return self.iterations % every == 0
        else:
            return self.status in _BY_ITSELF
        return all(limits.get(name, math.inf) <= self.limits[name] for name in ending)


class Families:
    """The stored runs by family, kept in a file of the store that can be made anew.

    Parameters
    ----------
    write
        False: a missing file is not made anew, and its runs are taken from the store.
    """

    def __init__(self, store: Store, *, write: bool = True) -> None:
        self._store = store
        self._path = store.folder / INDEX
        self._known: dict[str, dict[str, _Known]] = {}
        self._half_a_line = False
        if not self._path.exists():
            lines = list(self._lines())
            if not write:
                for line in lines:
                    self._take(line)
                return
            self._make_anew(lines)
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

    def contained(
        self, plan: PlannedRun, family: str, limits: Mapping[str, float]
    ) -> tuple[Entry, str] | None:
        """Return what the store has of a run in others of its family, and how ("stored", "cut").

        What is cut is not stored again: the longer run that holds it is.
        """
        for known in self._in_time(plan, family):
            over = known.over(limits)
            if over or known.same(limits, plan.every):
                entry = self._store.get(known.key)
                if entry is not None and not over:
                    return entry, "stored"
                if entry is not None and known.status in _BY_ITSELF | _BY_A_LIMIT:
                    shorter = cut(entry.run, limits, exact=plan.stop is not None)
                    if shorter is not None:
                        return replace(entry, run=shorter), "cut"
        return None

    def extensible(
        self, plan: PlannedRun, family: str, limits: Mapping[str, float]
    ) -> Entry | None:
        """Return the longest stored run of its family that a run goes on from, with checkpoint."""
        for known in sorted(self._in_time(plan, family), key=lambda known: -known.iterations):
            if known.status in _BY_A_LIMIT and not known.over(limits):
                checkpoint = self._store.get_checkpoint(known.key)
                entry = self._store.get(known.key) if checkpoint else None
                # Of two sweeps that wrote the key at once, each may have written one of the files.
                if entry and checkpoint and checkpoint.seconds_at_end == entry.run.seconds:
                    return replace(entry, run=replace(entry.run, checkpoint=checkpoint))
        return None

    def _in_time(self, plan: PlannedRun, family: str) -> list[_Known]:
        """Return the runs of a family that took no longer than a run may."""
        limit = math.inf if plan.time_limit is None else plan.time_limit
        family_known = self._known.get(family, {}).values()
        return [known for known in family_known if known.seconds <= limit]

    def _take(self, line: Mapping[str, Any]) -> None:
        known = _Known(*(line[name] for name in _Known.__dataclass_fields__))
        # A key that was made again has two lines; the later one counts.
        self._known.setdefault(line["family"], {})[known.key] = known

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

    def _lines(self) -> Iterator[dict[str, Any]]:
        """Return what the file says, from the runs themselves."""
        for entry in map(self._store.get, self._store.keys()):
            if entry is not None and "family" in entry.notes:
                yield _line(entry.key, entry.run, entry.notes)

    def _make_anew(self, lines: Sequence[Mapping[str, Any]]) -> None:
        if not lines:
            return
        try:
            with whole(self._path) as file:
                file.writelines(json.dumps(line).encode() + b"\n" for line in lines)
        except OSError as error:
            raise StorageError(
                f"the index {self._path} could not be written ({error.strerror}): free some space "
                "or choose another store with --store; runs already stored are safe."
            ) from error


def _line(key: str, run: Run, notes: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "key": key,
        "family": notes["family"],
        "status": run.status,
        "iterations": run.iterations,
        "counts": run.counts.as_dict(),
        "seconds": run.seconds,
        "limits": notes["limits"],
    }


def cut(run: Run, limits: Mapping[str, float], *, exact: bool = False) -> Run | None:
    """Return what a run had done within smaller limits: its trace up to there.

    It ends at the last recorded iterate within the budget, with the counts spent to reach it, or
    at the iterate that the limit "iterations" names; None if that is not recorded. Of its output
    are known those measures that the trace holds, if the output is the last iterate; the others are
    None. The time inside oracles is not known (NaN).

    Parameters
    ----------
    exact
        None, too, if the budget may allow for more iterates than that last recorded one: a run
        looks for its target at the very last.
    """
    columns = list(run.columns)
    budget = {name: limit for name, limit in limits.items() if name != "iterations"}
    places = [(columns.index(name), limit) for name, limit in budget.items()]
    longest = limits.get("iterations", math.inf)
    rows = list(
        takewhile(
            lambda row: row[0] <= longest and all(row[place] <= limit for place, limit in places),
            run.rows,
        )
    )
    last = dict(zip(columns, rows[-1], strict=True))
    finished = last["iteration"] == longest
    if len(rows) < len(run.rows):
        exceeded = run.rows[len(rows)][0] <= longest
    else:
        exceeded = any(getattr(run.counts, name) > limit for name, limit in budget.items())
    if not finished and not exceeded:
        return None
    further = run.rows[len(rows) : len(rows) + 1]
    if exact and not finished and further and further[0][0] != last["iteration"] + 1:
        return None
    measured = [name for name in columns if name not in TRACE_COLUMNS]
    last_is_output = run.parameters.get("output") == "last" and run.own_output is False
    known = measured if last_is_output else []
    final = {name: _finite(last[name]) if name in known else None for name in run.final}
    allowed = ", ".join(f"{name}={limit:g}" for name, limit in budget.items())
    reason = f"cut from a longer stored run: its next recorded iterate exceeds {allowed}"
    return replace(
        run,
        status="finished" if finished else "budget",
        stop_reason=STATUSES["finished"] if finished else reason,
        iterations=int(last["iteration"]),
        counts=Counts(**{name: int(last[name]) for name in COUNTED}),
        final=final,
        seconds=last["seconds"],
        oracle_seconds=math.nan,
        rows=rows,
    )


def _finite(number: float) -> float | None:
    return number if math.isfinite(number) else None
