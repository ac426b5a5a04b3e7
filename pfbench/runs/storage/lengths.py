"""Stored runs that differ in their limits alone, so that a longer one contains a shorter one.

The run of a larger budget begins with that of a smaller one, bit for bit (see
`pfbench.runs.planning.limits`): where less is asked, the stored run is cut.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import takewhile

from pfbench.base.counts import COUNTED, Counts
from pfbench.runs.loop.run import STATUSES, TRACE_COLUMNS, Run
from pfbench.runs.loop.trace import finite
from pfbench.runs.planning.plan import PlannedRun
from pfbench.runs.storage.index import Row
from pfbench.runs.storage.planned import Keys
from pfbench.runs.storage.store import Entry, Store

_BY_ITSELF = frozenset({"finished", "target", "diverged"})
_BY_A_LIMIT = frozenset({"budget", "timeout", "finished"})


@dataclass(frozen=True)
class _Known:
    """A stored run as the index has it.

    Attributes
    ----------
    key, status, iterations, counts, seconds
        Those of the run.
    limits
        Its budget and iterations; see `pfbench.runs.planning.limits.limits_of`.
    """

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


class Lengths:
    """The stored runs by what is the same whatever their limits; found in the store's index.

    Parameters
    ----------
    write
        False: an index that lacks something is left as it is.
    """

    def __init__(self, store: Store, *, write: bool = True) -> None:
        self._store = store
        self._known: dict[str, dict[str, _Known]] = {}
        for row in store.listing(write=write).rows:
            if row["family"] is not None:
                self._take(row["family"], row["key"], row)

    def add(self, keys: Keys, run: Run) -> None:
        """Note a run that has just been stored."""
        self._take(keys.family, keys.key, run.as_json() | {"limits": keys.limits})

    def contained(self, plan: PlannedRun, keys: Keys) -> tuple[Entry, str] | None:
        """Return what the store has of a run in others that differ in their limits alone.

        With it comes how: "stored", where the limits changed nothing, or "cut". What is cut is not
        stored again: the longer run that holds it is.
        """
        longest = math.inf if plan.time_limit is None else plan.time_limit
        for known in self._known.get(keys.family, {}).values():
            over = known.over(keys.limits)
            if known.seconds > longest or not (over or known.same(keys.limits, plan.every)):
                continue
            entry = self._store.get(known.key)
            if entry is None:
                continue
            if not over:
                return entry, "stored"
            if known.status in _BY_ITSELF | _BY_A_LIMIT:
                shorter = cut(entry.run, keys.limits, exact=plan.stop is not None)
                if shorter is not None:
                    return replace(entry, run=shorter), "cut"
        return None

    def _take(self, family: str, key: str, row: Row) -> None:
        known = _Known(key, *(row[name] for name in _FIELDS))
        # A key that was made again replaces what was known of it.
        self._known.setdefault(family, {})[key] = known


_FIELDS = ("status", "iterations", "counts", "seconds", "limits")


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
    final = {name: finite(last[name]) if name in known else None for name in run.final}
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
