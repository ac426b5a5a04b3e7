"""What a store has, as a study: runs that are found, not planned.

Nothing that a store names is imported, built or opened.
"""

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

from pfbench.base.errors import InputError
from pfbench.base.selectors import matches
from pfbench.reporting.report import Report, collect
from pfbench.reporting.words import counted
from pfbench.runs.execute import Outcome
from pfbench.runs.loop.run import Run, measures_of
from pfbench.runs.loop.stop import Stop
from pfbench.runs.planning.labels import labels_of
from pfbench.runs.planning.plan import PlannedRun
from pfbench.runs.planning.study import Named, Setting, Spec, Study
from pfbench.runs.storage.content import Entry
from pfbench.runs.storage.damaged import Damaged
from pfbench.runs.storage.store import Store

_SEED = re.compile(r"(?<=[\[,])seed=(\d{1,18})(?=[,\]])")


@dataclass(frozen=True)
class Found(Study):
    """A study of runs that a store has.

    Attributes
    ----------
    found
        The runs by seed, by the selectors of problem and algorithm.
    """

    found: Mapping[tuple[str, str], tuple[PlannedRun, ...]] = field(default_factory=dict)

    def plans_by_target(
        self, problem: Named, algorithm: Named, setting: Setting
    ) -> dict[Stop | None, tuple[PlannedRun, ...]]:
        """Return the runs of an algorithm on a problem; none, if there are none."""
        plans = self.found.get((problem.selector, algorithm.selector), ())
        return dict.fromkeys(self.targets or (None,), plans)


def stored(
    store: Store, name: str, *, problems: Sequence[str] = (), algorithms: Sequence[str] = ()
) -> Report:
    """Return a report of what a store has.

    Of several runs of one algorithm, problem and seed the longest is taken, and of equal ones that
    which was stored last. Problems that differ in their seed alone, and have that of their run, are
    one problem.

    Parameters
    ----------
    name
        What the files of the report are called.
    problems, algorithms
        Names, or whole selectors, of those that are wanted; all, if none is given.

    Raises
    ------
    InputError
        If no run is wanted.
    StorageError
        If the system does not let a file be read.
    """
    rows = [
        row
        for row in store.listing(write=False).rows
        if row["kind"] == "run"
        and wanted(row["problem"], problems)
        and wanted(row["algorithm"], algorithms)
    ]
    if not rows:
        chosen = " that --problem and --algorithm ask for" if problems or algorithms else ""
        raise InputError(f"the store {store.folder} has no runs{chosen}: see `pfbench store list`.")
    rows.sort(key=lambda row: (row["iterations"], row["stored"], row["key"]))
    templates = _templates((row["problem"], row["seed"]) for row in rows)
    # Later ones take the place of earlier ones.
    longest: dict[tuple[str, str, int], str] = {}
    for row in rows:
        problem = row["problem"]
        longest[templates.get(problem) or problem, row["algorithm"], row["seed"]] = row["key"]
    number = len(rows)
    del rows  # of very many runs, a hundred bytes each
    # As runs lie in a segment, where hundreds are unpacked together.
    order = sorted(longest, key=lambda asked: (asked[1], asked[0], asked[2]))
    read = {asked: _outcome(store, longest[asked]) for asked in order}
    outcomes = {asked: outcome for asked, outcome in read.items() if outcome is not None}
    if not outcomes:
        raise InputError(f"no run of the store {store.folder} can be read: check it.")
    left_out = number - len(outcomes)
    about = f"{counted(len(outcomes), 'run')} as stored; none was made for this report."
    if left_out:
        about += (
            f" Left out: {counted(left_out, 'other')}, shorter ones of the same problem, algorithm "
            "and seed, those of an older source, and damaged ones."
        )
    study = _study(outcomes, f"Runs in {store.folder}", about)
    spec = Spec(name, study.title, "", (study,))
    return collect(spec, list(outcomes.values()))


def wanted(found: str, asked: Sequence[str]) -> bool:
    """Return whether a selector is one that is asked for; all are, if none is."""
    return not asked or any(matches(found, one) for one in asked)


def _templates(runs: Iterable[tuple[str, int]]) -> dict[str, str]:
    """Return the one problem that those are, which differ in the seed of their run alone."""
    seeds = defaultdict(set)
    of: dict[str, str] = {}
    for problem, seed in runs:
        found = _SEED.search(problem)
        if found:
            template = _SEED.sub("seed={seed}", problem, count=1)
            of[problem] = template
            seeds[template].add((int(found[1]), seed))
    same = {
        template
        for template, pairs in seeds.items()
        if len(pairs) > 1 and all(mine == of_run for mine, of_run in pairs)
    }
    return {problem: template for problem, template in of.items() if template in same}


def _outcome(store: Store, key: str) -> Outcome | None:
    """Return a run with its plan; None if its file is damaged, or tells of no plan."""
    try:
        looked = store.look("run", key)
        if looked is None:
            return None
        entry: Entry = looked[0]
        shown = _shown(entry)
        return Outcome(_plan(shown.run, entry.notes.get("plan")), shown)
    except (Damaged, InputError):
        return None


_NOTES = ("best_known", "promised")
"""What a report asks of a run's notes."""


def _shown(entry: Entry) -> Entry:
    """Return what a report shows of a run; of very many, equal parts are one object."""
    run = entry.run
    names = ("problem", "algorithm", "schedule", "status", "stop_reason", "columns")
    shared: dict[str, Any] = {name: _one(getattr(run, name)) for name in names}
    shared["parameters"] = _one_of_json(json.dumps(run.parameters))
    environment = _one_of_json(json.dumps(entry.environment))
    notes = {name: entry.notes[name] for name in _NOTES if name in entry.notes}
    return Entry(entry.key, replace(run, **shared), environment, notes)


@lru_cache(maxsize=4096)
def _one(value: Any) -> Any:
    return value


@lru_cache(maxsize=4096)
def _one_of_json(text: str) -> Any:
    return json.loads(text)


def _plan(run: Run, plan: Mapping[str, Any] | None) -> PlannedRun:
    """Return how a run was planned; of one that does not say it, what the run itself says."""
    if plan is not None:
        found = PlannedRun.of_json(plan)
        if (found.problem, found.algorithm, found.seed) == (run.problem, run.algorithm, run.seed):
            return replace(
                found,
                problem=run.problem,
                algorithm=run.algorithm,
                measures=_one(found.measures),
                stop=_one(found.stop),
            )
    return PlannedRun.of_json(PlannedRun(run.problem, run.algorithm, run.seed, (), 1).as_json())


def _study(outcomes: Mapping[tuple[str, str, int], Outcome], title: str, about: str) -> Found:
    found: dict[tuple[str, str], list[PlannedRun]] = defaultdict(list)
    for (problem, algorithm, _), outcome in sorted(outcomes.items(), key=lambda item: item[0]):
        found[problem, algorithm].append(outcome.plan)
    measures = _measures([outcome.entry.run for outcome in outcomes.values()])
    return Found(
        key="",
        title=title,
        about=about,
        problems=_named({problem for problem, _ in found}),
        algorithms=_named({algorithm for _, algorithm in found}),
        settings=(Setting("", {}),),
        seeds=tuple(sorted({seed for _, _, seed in outcomes})),
        measures=measures,
        recorded=measures,
        targets=_targets([outcome.plan for outcome in outcomes.values()]),
        found={pair: tuple(plans) for pair, plans in found.items()},
    )


def _named(selectors: Iterable[str]) -> tuple[Named, ...]:
    texts = sorted(selectors)
    labels = labels_of(texts)
    return tuple(Named(label, text) for label, text in zip(labels, texts, strict=True))


def _measures(runs: Sequence[Run]) -> tuple[str, ...]:
    """Return what runs recorded, the most frequent first; the objective if they did nothing."""
    names = Counter(name for run in runs for name in measures_of(run.columns))
    return tuple(name for name, _ in names.most_common()) or ("objective",)


def _targets(plans: Sequence[PlannedRun]) -> tuple[Stop, ...]:
    """Return the targets of the runs, hardest last; of several measures, those of the first."""
    stops = {plan.stop for plan in plans if plan.stop is not None}
    times = Counter(plan.stop.measure for plan in plans if plan.stop is not None)
    if not times:
        return ()
    measure = min(times, key=lambda name: (-times[name], name))
    chosen = (stop for stop in stops if stop.measure == measure)
    return tuple(sorted(chosen, key=lambda stop: -stop.target))
