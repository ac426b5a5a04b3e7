"""What changed between two stores, e.g. of two versions: the same planned runs, side by side."""

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pfbench.runs.storage.damaged import Damaged
from pfbench.runs.storage.store import Store

Value = int | float | str | None


@dataclass(frozen=True)
class Change:
    """One thing in which two runs of the same plan differ.

    Attributes
    ----------
    problem, algorithm, seed
        The run.
    what
        ``status``, ``iterations``, the name of a count, or that of a measure at the output.
    before, after
        Its value in the first store and in the second; None where there is none.
    """

    problem: str
    algorithm: str
    seed: int
    what: str
    before: Value
    after: Value

    @property
    def factor(self) -> float | None:
        """After over before, where both are positive numbers."""
        numbers = (self.before, self.after)
        if all(isinstance(one, int | float) and 0 < one < math.inf for one in numbers):
            return float(self.after) / float(self.before)  # type: ignore[arg-type]
        return None


@dataclass(frozen=True)
class Changes:
    """What changed between two stores.

    Attributes
    ----------
    same
        How many runs have the same status, counts and values at the output.
    changed
        How many do not.
    changes
        In what they differ.
    only_before, only_after
        How many planned runs only one of the stores has.
    unreadable
        How many files of either are damaged.
    """

    same: int
    changed: int
    changes: tuple[Change, ...]
    only_before: int
    only_after: int
    unreadable: int


def compare(before: Store, after: Store) -> Changes:
    """Return what changed from one store to the other.

    Runs are the same if they were planned the same: problem, algorithm, seed, measures, limits.
    Which source and environment made them is what is compared. Where a store has several of one
    plan, the file that was written last stands for it. Nothing that a store names is imported.

    Raises
    ------
    StorageError
        If the system does not let a file be read.
    """
    (first, lost), (second, others) = _planned(before), _planned(after)
    both = [plan for plan in first if plan in second]
    changes = [list(_differences(first[plan], second[plan])) for plan in sorted(both)]
    changed = sum(map(bool, changes))
    return Changes(
        same=len(both) - changed,
        changed=changed,
        changes=tuple(change for some in changes for change in some),
        only_before=len(first) - len(both),
        only_after=len(second) - len(both),
        unreadable=lost + others,
    )


def _planned(store: Store) -> tuple[dict[str, Mapping[str, Any]], int]:
    """Return what is told of each planned run of a store, and how many files are damaged."""
    listing = store.listing(write=False)
    found: dict[str, Mapping[str, Any]] = {}
    damaged = len(listing.damaged)
    for row in sorted(listing.rows, key=lambda row: (row["stored"], row["key"])):
        if row["kind"] != "run":
            continue
        try:
            header = store.header("run", row["key"])
        except Damaged:
            damaged += 1
            continue
        if header is None:
            continue
        run = header["run"]
        plan = header.get("notes", {}).get("plan") or [
            run[name] for name in ("problem", "algorithm", "seed")
        ]
        found[json.dumps(plan, sort_keys=True)] = run
    return found, damaged


def _differences(one: Mapping[str, Any], other: Mapping[str, Any]) -> Iterator[Change]:
    mine, theirs = _told(one), _told(other)
    for what in dict.fromkeys([*mine, *theirs]):
        pair = mine.get(what), theirs.get(what)
        # As JSON, so that two NaN are the same.
        if json.dumps(pair[0]) != json.dumps(pair[1]):
            yield Change(one["problem"], one["algorithm"], one["seed"], what, *pair)


def _told(run: Mapping[str, Any]) -> dict[str, Value]:
    return {
        "status": run["status"],
        "iterations": run["iterations"],
        **run["counts"],
        **{f"final {name}": value for name, value in run["final"].items()},
    }
