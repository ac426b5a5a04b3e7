"""Report on all runs in a store, whether or not a sweep planned them.

User-defined code, problems and files that are named in a store are not loaded.
"""

import json
import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import groupby
from operator import attrgetter
from sys import intern
from typing import Any

from pfbench.base.checks import check_integer
from pfbench.base.errors import InputError
from pfbench.base.selectors import selector_or_name_equals
from pfbench.reporting.report import Report, collect_report
from pfbench.reporting.wording import pluralize
from pfbench.runs.execute import PlanOutcome
from pfbench.runs.loop.run import Run, Stop, list_measures
from pfbench.runs.planning.plan import PlannedRun
from pfbench.runs.planning.spec_text import make_labels
from pfbench.runs.planning.study import LabelledSelector, Spec, Study
from pfbench.runs.planning.tune import StudySetting
from pfbench.runs.storage.damage import DamagedFileError
from pfbench.runs.storage.serialization import (
    Record,
    StoredTrace,
    decode_metadata,
    make_stored_runs,
)
from pfbench.runs.storage.store import Store

_SEED = re.compile(r"(?<=[\[,])seed=(\d{1,18})(?=[,\]])")


@dataclass(frozen=True)
class StoredStudy(Study):
    """Study that consists of the runs in a store.

    Attributes
    ----------
    stored_runs
        The planned runs, ordered by seed, for each pair of selectors of problem and algorithm.
    """

    stored_runs: Mapping[tuple[str, str], tuple[PlannedRun, ...]] = field(default_factory=dict)

    def plans_by_target(
        self, problem: LabelledSelector, algorithm: LabelledSelector, setting: StudySetting
    ) -> dict[Stop | None, tuple[PlannedRun, ...]]:
        """Return the stored runs of an algorithm on a problem, for every target.

        The runs are the same for all targets.
        """
        plans = self.stored_runs.get((problem.selector, algorithm.selector), ())
        return dict.fromkeys(self.targets or (None,), plans)


def load_stored_report(
    store: Store, name: str, *, problems: Sequence[str] = (), algorithms: Sequence[str] = ()
) -> Report:
    """Return a report on the runs in a store.

    If several runs have the same algorithm, problem and seed, the longest is used, and the last
    stored of equally long ones. Problems that differ only in their seed, which is that of the run,
    count as one problem.

    Parameters
    ----------
    name
        Name of the report, from which its files are named.
    problems, algorithms
        Names or whole selectors to include; all if none is given.

    Raises
    ------
    InputError
        If no run matches.
    StorageError
        If the system does not permit reading a file.
    """
    rows = [
        row
        for row in store.listing(columns=_LISTED).rows
        if row.kind == "run"
        and matches_selection(str(row.problem), problems)
        and matches_selection(str(row.algorithm), algorithms)
    ]
    if not rows:
        chosen = " that match --problem and --algorithm" if problems or algorithms else ""
        raise InputError(f"the store {store.folder} has no runs{chosen}: see `pfbench store list`.")
    rows.sort(key=attrgetter("iterations", "stored", "key"))
    requests = [(str(row.problem), str(row.algorithm), int(row.seed or 0)) for row in rows]
    templates = _seed_templates((problem, seed) for problem, _, seed in requests)
    # Later ones take the place of earlier ones.
    longest = {
        (templates.get(problem) or problem, algorithm, seed): row.key
        for row, (problem, algorithm, seed) in zip(rows, requests, strict=True)
    }
    number = len(rows)
    del rows, requests  # of very many runs, a hundred bytes each
    order = sorted(longest, key=lambda request: (request[1], request[0], request[2]))
    outcomes: dict[tuple[str, str, int], PlanOutcome] = {}
    for _, group in groupby(order, key=lambda request: request[:2]):
        requested = list(group)
        records = store.read_runs([longest.pop(request) for request in requested])
        read = zip(requested, map(_read_run, records), strict=True)
        existing = {request: parts for request, parts in read if parts is not None}
        outcomes |= zip(existing, _make_outcomes([*existing.values()]), strict=True)
    if not outcomes:
        raise InputError(f"no run in {store.folder} can be read: use `pfbench store check`.")
    description = f"{pluralize(len(outcomes), 'run')} as stored; none was made for this report."
    if left_out := number - len(outcomes):
        description += (
            f" Left out: {pluralize(left_out, 'other')} (shorter runs of the same problem, "
            "algorithm and seed, runs of an older source, and damaged ones)."
        )
    study = _make_study(outcomes, f"Runs in {store.folder}", description)
    return collect_report(Spec(name, study.title, "", (study,)), list(outcomes.values()))


def matches_selection(name: str, request: Sequence[str]) -> bool:
    """Return whether a selector matches a request; an empty request matches all selectors."""
    return not request or any(selector_or_name_equals(name, item) for item in request)


def _seed_templates(runs: Iterable[tuple[str, int]]) -> dict[str, str]:
    """Return a dict from selectors to templates, in which ``{seed}`` replaces the run's seed.

    Selectors that differ only in that seed have a common template.
    """
    seeds = defaultdict(set)
    templates: dict[str, str] = {}
    for problem, seed in runs:
        if match := _SEED.search(problem):
            templates[problem] = _SEED.sub("seed={seed}", problem, count=1)
            seeds[templates[problem]].add((int(match[1]), seed))
    return {
        problem: template
        for problem, template in templates.items()
        if len(seeds[template]) > 1 and all(own == of_run for own, of_run in seeds[template])
    }


_RunParts = tuple[PlannedRun, Mapping[str, Any], StoredTrace]
"""Plan, metadata and trace of a run."""


def _read_run(record: Record | None) -> _RunParts | None:
    """Return the parts of a run; None if it is removed, damaged or has no readable plan."""
    if record is None:
        return None
    try:
        meta, trace = decode_metadata(record)
        run, notes = meta["run"], meta.get("notes", {})
        plan = _read_plan(run, notes.get("plan"))
    except (DamagedFileError, InputError):
        return None
    # Equal texts of very many runs are one object.
    run |= {name: intern(run[name]) for name in ("status", "stop_reason")}
    needed = {name: notes[name] for name in _NOTES if name in notes}
    return plan, {**meta, "notes": needed or _NO_NOTES}, trace


def _make_outcomes(read: Sequence[_RunParts]) -> Iterator[PlanOutcome]:
    """Return the runs of one algorithm on one problem, with their traces in one array."""
    entries = make_stored_runs([("", *content) for _, *content in read])  # no report needs keys
    return map(PlanOutcome, [plan for plan, *_ in read], entries)


_LISTED = ("kind", "key", "problem", "algorithm", "seed", "iterations", "stored")
_NOTES = ("best_known", "promised")
"""Names of the notes of a run that a report needs."""

_NO_NOTES: Mapping[str, Any] = {}


def _read_plan(run: Mapping[str, Any], plan: Mapping[str, Any] | None) -> PlannedRun:
    """Return a run's stored plan; if it is missing or wrong, make a plan from the run itself."""
    identity = run["problem"], run["algorithm"], run["seed"]
    if plan is not None:
        seed = check_integer("seed", plan.get("seed"), minimum=0)
        stored = replace(_parse_plan(json.dumps({**plan, "seed": 0})), seed=seed)
        if (stored.problem, stored.algorithm, stored.seed) == identity:
            return stored
    return PlannedRun.from_json(PlannedRun(*identity, (), 1).as_json())


@lru_cache(maxsize=4096)
def _parse_plan(text: str) -> PlannedRun:
    return PlannedRun.from_json(json.loads(text))


def _make_study(
    outcomes: Mapping[tuple[str, str, int], PlanOutcome], title: str, description: str
) -> StoredStudy:
    planned_runs: dict[tuple[str, str], list[PlannedRun]] = defaultdict(list)
    for (problem, algorithm, _), outcome in sorted(outcomes.items(), key=lambda item: item[0]):
        planned_runs[problem, algorithm].append(outcome.plan)
    measures = _list_measures([outcome.entry.run for outcome in outcomes.values()])
    return StoredStudy(
        key="",
        title=title,
        introduction=description,
        problems=_label_selectors({problem for problem, _ in planned_runs}),
        algorithms=_label_selectors({algorithm for _, algorithm in planned_runs}),
        settings=(StudySetting("", {}),),
        seeds=tuple(sorted({seed for _, _, seed in outcomes})),
        measures=measures,
        recorded_measures=measures,
        targets=_targets_of_commonest_measure([outcome.plan for outcome in outcomes.values()]),
        stored_runs={pair: tuple(plans) for pair, plans in planned_runs.items()},
    )


def _label_selectors(selectors: Iterable[str]) -> tuple[LabelledSelector, ...]:
    texts = sorted(selectors)
    labels = make_labels(texts)
    return tuple(LabelledSelector(label, text) for label, text in zip(labels, texts, strict=True))


def _list_measures(runs: Sequence[Run]) -> tuple[str, ...]:
    """Return the recorded measures, the most frequent first.

    Return the objective if no measure is recorded.
    """
    names = Counter[str]()
    for columns, number in Counter(run.columns for run in runs).items():
        names.update(dict.fromkeys(list_measures(columns), number))
    return tuple(name for name, _ in names.most_common()) or ("objective",)


def _targets_of_commonest_measure(plans: Sequence[PlannedRun]) -> tuple[Stop, ...]:
    """Return the targets for the measure that most runs target, the hardest target last."""
    stops = [plan.stop for plan in plans if plan.stop is not None]
    times = Counter(stop.measure for stop in stops)
    measure = min(times, key=lambda name: (-times[name], name), default="")
    chosen = {stop for stop in stops if stop.measure == measure}
    return tuple(sorted(chosen, key=lambda stop: -stop.target))


# --- differences ----------------------------------------------------------------------------------


def compare_stores(old_store: Store, new_store: Store) -> dict[str, Any]:
    """Compare the planned runs in two stores.

    Two runs are compared if their plans are equal: problem, algorithm, seed, measures, limits. The
    source code and the environment of the two may differ. If a store has several runs of one plan,
    the run stored last is used. No code that a store names is imported.

    Returns
    -------
    dict
        A JSON record: the numbers of runs that are ``identical``, ``changed``, ``only_before`` or
        ``only_after``, the number of ``unreadable`` entries of both stores, and the ``changes``:
        a record for each field (status, iterations, a count, or a measure at the output) of a run
        in which the stores differ.

    Raises
    ------
    StorageError
        If the system does not permit reading a file.
    """
    first, lost = _runs_and_damage_by_plan(old_store)
    second, damaged = _runs_and_damage_by_plan(new_store)
    both = [plan for plan in first if plan in second]
    changes = [list(_run_differences(first[plan], second[plan])) for plan in sorted(both)]
    changed = sum(map(bool, changes))
    return {
        "identical": len(both) - changed,
        "changed": changed,
        "only_before": len(first) - len(both),
        "only_after": len(second) - len(both),
        "unreadable": lost + damaged,
        "changes": [change for of_run in changes for change in of_run],
    }


def _runs_and_damage_by_plan(store: Store) -> tuple[dict[str, Mapping[str, Any]], int]:
    """Return the stored runs by plan, as JSON records, and the number of damaged entries."""
    listing = store.listing()
    runs: dict[str, Mapping[str, Any]] = {}
    damaged = len(listing.damaged)
    rows = (row for row in listing.rows if row.kind == "run")
    keys = [row.key for row in sorted(rows, key=attrgetter("stored", "key"))]
    for record in filter(None, store.read_runs(keys)):
        try:
            header, _ = decode_metadata(record)
        except DamagedFileError:
            damaged += 1
            continue
        run = header["run"]
        plan = header.get("notes", {}).get("plan") or [
            run[name] for name in ("problem", "algorithm", "seed")
        ]
        runs[json.dumps(plan, sort_keys=True)] = run
    return runs, damaged


def _run_differences(run: Mapping[str, Any], other: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    first: dict[str, Any] = _collect_reported_fields(run)
    second: dict[str, Any] = _collect_reported_fields(other)
    for subject in dict.fromkeys([*first, *second]):
        before: Any = first.get(subject)
        after: Any = second.get(subject)
        # As JSON, so that two NaN are the same.
        if json.dumps(before) != json.dumps(after):
            numbers = all(isinstance(x, int | float) and 0 < x < math.inf for x in (before, after))
            yield {
                **{name: run[name] for name in ("problem", "algorithm", "seed")},
                "field": subject,
                "before": before,
                "after": after,
                "factor": after / before if numbers else None,
            }


def _collect_reported_fields(run: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "status": run["status"],
        "iterations": run["iterations"],
        **run["counts"],
        **{f"final {name}": value for name, value in run["final"].items()},
    }
