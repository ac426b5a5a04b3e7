"""Differences between two stores, e.g. of two versions, over the same planned runs."""

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pfbench.runs.storage.damage import DamagedFileError
from pfbench.runs.storage.store import Store

Value = int | float | str | None


@dataclass(frozen=True)
class RunDifference:
    """One difference between two runs of the same plan.

    Attributes
    ----------
    problem, algorithm, seed
        The planned run.
    field
        ``status``, ``iterations``, the name of a count, or that of a measure at the output.
    before, after
        Value of the field in the first and in the second store; None if missing.
    """

    problem: str
    algorithm: str
    seed: int
    field: str
    before: Value
    after: Value

    @property
    def factor(self) -> float | None:
        """Ratio of `after` to `before`; None unless both are positive numbers."""
        numbers = (self.before, self.after)
        if all(isinstance(number, int | float) and 0 < number < math.inf for number in numbers):
            return float(self.after) / float(self.before)  # type: ignore[arg-type]
        return None


@dataclass(frozen=True)
class StoreDiff:
    """Differences between two stores.

    Attributes
    ----------
    identical
        Number of runs with equal status, counts and values at the output.
    changed_count
        Number of the other runs.
    changes
        Their differences.
    only_before, only_after
        Numbers of planned runs that only the first, or only the second store has.
    unreadable
        Number of damaged files in both stores.
    """

    identical: int
    changed_count: int
    changes: tuple[RunDifference, ...]
    only_before: int
    only_after: int
    unreadable: int


def compare_stores(old_store: Store, new_store: Store) -> StoreDiff:
    """Compare the planned runs of two stores.

    Two runs are compared if their plans are equal: problem, algorithm, seed, measures, limits.
    Their source code and environment may differ. If a store has several runs of one plan, the file
    written last is used. Nothing that a store names is imported.

    Raises
    ------
    StorageError
        If the system does not permit reading a file.
    """
    (first, lost), (second, runs) = _runs_by_plan(old_store), _runs_by_plan(new_store)
    both = [plan for plan in first if plan in second]
    changes = [list(_run_differences(first[plan], second[plan])) for plan in sorted(both)]
    changed = sum(map(bool, changes))
    return StoreDiff(
        identical=len(both) - changed,
        changed_count=changed,
        changes=tuple(change for some in changes for change in some),
        only_before=len(first) - len(both),
        only_after=len(second) - len(both),
        unreadable=lost + runs,
    )


def _runs_by_plan(store: Store) -> tuple[dict[str, Mapping[str, Any]], int]:
    """Return the record of each planned run by its plan, and the number of damaged files."""
    listing = store.listing()
    runs: dict[str, Mapping[str, Any]] = {}
    damaged = len(listing.damaged)
    for row in sorted(listing.rows, key=lambda row: (row["stored"], row["key"])):
        if row["kind"] != "run":
            continue
        try:
            header = store.read_metadata("run", row["key"])
        except DamagedFileError:
            damaged += 1
            continue
        if header is None:
            continue
        run = header["run"]
        plan = header.get("notes", {}).get("plan") or [
            run[name] for name in ("problem", "algorithm", "seed")
        ]
        runs[json.dumps(plan, sort_keys=True)] = run
    return runs, damaged


def _run_differences(
    record: Mapping[str, Any], other: Mapping[str, Any]
) -> Iterator[RunDifference]:
    reported_fields, reference = _collect_reported_fields(record), _collect_reported_fields(other)
    for subject in dict.fromkeys([*reported_fields, *reference]):
        pair = reported_fields.get(subject), reference.get(subject)
        # As JSON, so that two NaN are the same.
        if json.dumps(pair[0]) != json.dumps(pair[1]):
            yield RunDifference(
                record["problem"], record["algorithm"], record["seed"], subject, *pair
            )


def _collect_reported_fields(run: Mapping[str, Any]) -> dict[str, Value]:
    return {
        "status": run["status"],
        "iterations": run["iterations"],
        **run["counts"],
        **{f"final {name}": value for name, value in run["final"].items()},
    }
