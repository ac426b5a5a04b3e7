"""Stored runs that differ in their limits alone, so that a longer one contains a shorter one.

The run of a larger budget begins with that of a smaller one, bit for bit (see
`pfbench.runs.storage.planned`): where less is asked, the stored run is cut.
"""

import math
from collections.abc import Mapping
from dataclasses import replace
from itertools import takewhile

from pfbench.base.counts import COUNTED, Counts
from pfbench.base.file_watch import changed
from pfbench.runs.loop.run import STATUSES, TRACE_COLUMNS, Run
from pfbench.runs.loop.trace import finite
from pfbench.runs.planning.plan import PlannedRun
from pfbench.runs.storage.content import Entry
from pfbench.runs.storage.index import Row
from pfbench.runs.storage.planned import Keys
from pfbench.runs.storage.store import Store

_BY_ITSELF = frozenset({"finished", "target", "diverged"})
_BY_A_LIMIT = frozenset({"budget", "timeout", "finished"})


def _over(run: Row, limits: Mapping[str, float]) -> bool:
    """Return whether a stored run went on where these limits end one."""
    spent = {**run["counts"], "iterations": run["iterations"]}
    # So many iterations would have ended it before whatever did.
    last = limits.get("iterations") == run["iterations"] and not (
        _all_iterations(run) or run["status"] == "target"
    )
    return last or any(spent.get(name, 0) > limit for name, limit in limits.items())


def _all_iterations(run: Row) -> bool:
    """Return whether the limit "iterations" ended a stored run."""
    last = run["limits"].get("iterations")
    return bool(run["status"] == "finished" and last == run["iterations"])


def _same(run: Row, limits: Mapping[str, float], every: int) -> bool:
    """Return whether a run of these limits, which a stored run is not over, ends like it."""
    if run["status"] == "budget":
        ending = set(run["limits"]) - {"iterations"}
    elif _all_iterations(run):
        ending = {"iterations"}
    elif run["status"] == "target":
        # Beyond the recorded iterates only the very last one is looked at.
        return bool(run["iterations"] % every == 0)
    else:
        return run["status"] in _BY_ITSELF
    return all(limits.get(name, math.inf) <= run["limits"][name] for name in ending)


def within(mine: Mapping[str, float], others: Mapping[str, float]) -> bool:
    """Return whether the first of two runs that differ in their limits has the smaller ones."""
    smaller = all(mine.get(name, math.inf) <= others[name] for name in others)
    return smaller and mine != others


def is_outdated(entry: Entry) -> bool:
    """Return whether a file that a stored run read has another content now."""
    return bool(changed(entry.notes.get("files", {})))


class Lengths:
    """The stored runs by what is the same whatever their limits; found in the store's index.

    Parameters
    ----------
    write
        False: an index that lacks something is left as it is.
    """

    def __init__(self, store: Store, *, write: bool = True) -> None:
        self._store = store
        self._known: dict[str, dict[str, Row]] = {}
        for row in store.listing(write=write).rows:
            if row["kind"] == "run" and row["family"] is not None and row["limits"] is not None:
                self._take(row)

    def add(self, keys: Keys, run: Run) -> None:
        """Note a run that has just been stored."""
        known = {"family": keys.family, "key": keys.key, "limits": keys.limits}
        self._take(run.as_json() | known)

    def contained(self, plan: PlannedRun, keys: Keys) -> tuple[Entry, str] | None:
        """Return what the store has of a run in others that differ in their limits alone.

        With it comes how: "stored", where the limits changed nothing, or "cut". What is cut is not
        stored again: the longer run that holds it is.
        """
        longest = math.inf if plan.time_limit is None else plan.time_limit
        for known in self._known.get(keys.family, {}).values():
            over = _over(known, keys.limits)
            if known["seconds"] > longest or not (over or _same(known, keys.limits, plan.every)):
                continue
            entry = self._store.get(known["key"])
            if entry is None or is_outdated(entry):
                continue
            if not over:
                return entry, "stored"
            if known["status"] in _BY_ITSELF | _BY_A_LIMIT:
                shorter = cut(entry.run, keys.limits, exact=plan.stop is not None)
                if shorter is not None:
                    return replace(entry, run=shorter), "cut"
        return None

    def _take(self, row: Row) -> None:
        # A key that was made again replaces what was known of it.
        self._known.setdefault(row["family"], {})[row["key"]] = row


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
    budget = {name: limit for name, limit in limits.items() if name != "iterations"}
    longest = limits.get("iterations", math.inf)

    def exceeds(row: Mapping[str, float]) -> bool:
        return any(row[name] > limit for name, limit in budget.items())

    table = [dict(zip(run.columns, row, strict=True)) for row in run.rows]
    within = list(takewhile(lambda r: r["iteration"] <= longest and not exceeds(r), table))
    if not within:
        return None
    last, further = within[-1], next(iter(table[len(within) :]), None)
    finished = last["iteration"] == longest
    if not finished:
        if further is None and not exceeds(run.counts.as_dict()):
            return None
        if further is not None and further["iteration"] > longest:
            return None
        if exact and further is not None and further["iteration"] != last["iteration"] + 1:
            return None
    last_is_output = run.parameters.get("output") == "last" and run.own_output is False
    known = set(run.columns) - set(TRACE_COLUMNS) if last_is_output else ()
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
        rows=run.rows[: len(within)],
    )
