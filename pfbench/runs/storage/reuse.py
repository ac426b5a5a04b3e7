"""Reuse of stored runs with other limits: a longer run contains a shorter one.

A run with a larger budget begins, bit for bit, with the run with a smaller one (see
`pfbench.runs.storage.run_keys`). So for a smaller budget, the stored run is cut.
"""

import math
from collections.abc import Mapping
from dataclasses import replace
from itertools import takewhile

from pfbench.base.counts import COUNTED, Counts
from pfbench.base.file_watch import find_changed_file
from pfbench.base.status import Status
from pfbench.runs.loop.run import TRACE_COLUMNS, Run
from pfbench.runs.loop.trace import finite_or_none
from pfbench.runs.planning.plan import PlannedRun
from pfbench.runs.storage.entry_list import Row
from pfbench.runs.storage.run_keys import RunKeys
from pfbench.runs.storage.serialization import StoredRun
from pfbench.runs.storage.store import Store

_INTRINSIC_STOPS = frozenset({Status.FINISHED, Status.TARGET, Status.DIVERGED})
_LIMIT_STOPS = frozenset({Status.BUDGET, Status.TIMEOUT, Status.FINISHED})


def _went_beyond(run: Row, limits: Mapping[str, float]) -> bool:
    """Return whether a stored run continued beyond these limits."""
    spent = {**run["counts"], "iterations": run["iterations"]}
    # So many iterations would have ended it before whatever did.
    last = limits.get("iterations") == run["iterations"] and not (
        _has_ended_at_iteration_limit(run) or run["status"] == Status.TARGET
    )
    return last or any(spent.get(name, 0) > limit for name, limit in limits.items())


def _has_ended_at_iteration_limit(run: Row) -> bool:
    """Return whether the limit "iterations" ended a stored run."""
    last = run["limits"].get("iterations")
    return bool(run["status"] == Status.FINISHED and last == run["iterations"])


def _ends_equally(run: Row, limits: Mapping[str, float], frequency: int) -> bool:
    """Return whether a stored run within these limits would end equally under them."""
    if run["status"] == Status.BUDGET:
        ending = set(run["limits"]) - {"iterations"}
    elif _has_ended_at_iteration_limit(run):
        ending = {"iterations"}
    elif run["status"] == Status.TARGET:
        # Beyond the recorded iterates only the very last one is looked at.
        return bool(run["iterations"] % frequency == 0)
    else:
        return run["status"] in _INTRINSIC_STOPS
    return all(limits.get(name, math.inf) <= run["limits"][name] for name in ending)


def is_within(limits: Mapping[str, float], other_limits: Mapping[str, float]) -> bool:
    """Return whether the first of two runs that differ in their limits has the smaller ones."""
    smaller = all(limits.get(name, math.inf) <= other_limits[name] for name in other_limits)
    return smaller and limits != other_limits


def has_changed_input_file(entry: StoredRun) -> bool:
    """Return whether a file that a stored run read has changed since."""
    return bool(find_changed_file(entry.notes.get("files", {})))


class ContainingRunIndex:
    """Index of stored runs by their key without limits, from the store's listing."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._rows_by_family: dict[str, dict[str, Row]] = {}
        for row in store.listing().rows:
            if row["kind"] == "run" and row["family"] is not None and row["limits"] is not None:
                self._take(row)

    def add(self, keys: RunKeys, run: Run) -> None:
        """Add a run that has just been stored."""
        existing = {"family": keys.family, "key": keys.key, "limits": keys.limits}
        self._take(run.as_json() | existing)

    def find_containing_run(self, plan: PlannedRun, keys: RunKeys) -> tuple[StoredRun, str] | None:
        """Return a stored run that contains a planned run with other limits, and its origin.

        The origin is "stored" if the limits make no difference, or "cut" if the returned run is a
        part of the stored one. A cut run is not stored, because the longer run is.
        """
        longest = math.inf if plan.time_limit is None else plan.time_limit
        for existing in self._rows_by_family.get(keys.family, {}).values():
            over = _went_beyond(existing, keys.limits)
            if existing["seconds"] > longest or not (
                over or _ends_equally(existing, keys.limits, plan.every)
            ):
                continue
            entry = self._store.get(existing["key"])
            if entry is None or has_changed_input_file(entry):
                continue
            if not over:
                return entry, "stored"
            if existing["status"] in _INTRINSIC_STOPS | _LIMIT_STOPS:
                shorter = cut(entry.run, keys.limits, exact=plan.stop is not None)
                if shorter is not None:
                    return replace(entry, run=shorter), "cut"
        return None

    def _take(self, row: Row) -> None:
        # A key that was made again replaces what was known of it.
        self._rows_by_family.setdefault(row["family"], {})[row["key"]] = row


def cut(run: Run, limits: Mapping[str, float], *, exact: bool = False) -> Run | None:
    """Return the part of a run within smaller limits, with its trace up to there, or None.

    The part ends at the last recorded iterate within the budget, with the counts spent to reach it,
    or at the iterate that the limit "iterations" names. Return None if that iterate is not
    recorded. If the output is the last iterate, its measures are those in the trace; all others are
    None. The time inside oracles is unknown (NaN).

    Parameters
    ----------
    exact
        Also return None if the budget may allow iterates after the last recorded one: a run checks
        its target at its very last iterate, too.
    """
    budget = {name: limit for name, limit in limits.items() if name != "iterations"}
    longest = limits.get("iterations", math.inf)

    def exceeds(row: Mapping[str, float]) -> bool:
        return any(row[name] > limit for name, limit in budget.items())

    table = [dict(zip(run.columns, row, strict=True)) for row in run.rows]
    inner = list(takewhile(lambda r: r["iteration"] <= longest and not exceeds(r), table))
    if not inner:
        return None
    last, further = inner[-1], next(iter(table[len(inner) :]), None)
    finished = last["iteration"] == longest
    if not finished:
        if further is None and not exceeds(run.counts.as_dict()):
            return None
        if further is not None and further["iteration"] > longest:
            return None
        if exact and further is not None and further["iteration"] != last["iteration"] + 1:
            return None
    last_is_output = run.parameters.get("output") == "last" and run.yields_output is False
    difference = set(run.columns) - set(TRACE_COLUMNS) if last_is_output else ()
    final = {name: finite_or_none(last[name]) if name in difference else None for name in run.final}
    allowed = ", ".join(f"{name}={limit:g}" for name, limit in budget.items())
    reason = f"cut from a longer stored run: its next recorded iterate exceeds {allowed}"
    return replace(
        run,
        status=Status.FINISHED if finished else Status.BUDGET,
        stop_reason=Status.FINISHED.end_reason if finished else reason,
        iterations=int(last["iteration"]),
        counts=Counts(**{name: int(last[name]) for name in COUNTED}),
        final=final,
        seconds=last["seconds"],
        oracle_seconds=math.nan,
        rows=run.rows[: len(inner)],
    )
