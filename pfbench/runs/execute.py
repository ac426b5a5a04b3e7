"""Execution of the runs of a study or sweep that the store lacks, with any engine.

The store keeps these notes on a run:

* ``retries``: number of restarts because its worker was lost;
* ``family``: the content key without limits, which runs of other lengths share;
* ``limits``: budget and iterations, which tell whether a stored run contains a requested one;
* ``source``: modules and digest of the source, by which `pfbench store gc` finds outdated runs;
* ``dimension``: the number of entries of a point;
* ``best_known``: the least known objective of the problem and its origin, if known;
* ``promised``: the measure that the theorem of the schedule bounds, and the bound, if any;
* ``plan``: the planned run, from which it can be re-run;
* ``files``: the digests of the files that user-defined code read, by name, if any.

Tuning precedes a comparison: a search that is the same for all methods. Each method makes the same
number of trials within its budget, on seeds that the comparison never uses. On each problem, at
each setting and for each target, the trial with the fewest expected calls to the target is chosen.
The expected calls are all calls that its runs spent up to the target, divided by the number of runs
that reached it (Hansen et al., 2022, Anytime performance assessment). If no trial reaches the
target, the lowest last value decides; of equal trials the first of the grid is chosen. All targets
choose among the same trials, so further targets cost nothing. If a choice lies at an end of its
grid, the grid is extended once, by one value beyond that end.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from hashlib import sha256
from pathlib import Path
from statistics import median_high
from typing import Any

from pfbench.base.status import Status
from pfbench.runs.engines.engine import Engine, SingleProcessEngine, use_single_thread
from pfbench.runs.engines.run_task import (
    execute_and_digest_files,
    make_unfinished_run,
    run_from_result,
)
from pfbench.runs.engines.workers import Task, TaskResult
from pfbench.runs.loop.run import UNINFORMATIVE, Run, Stop, calls_to_targets
from pfbench.runs.planning.plan import PlannedRun, build_or_reuse
from pfbench.runs.planning.study import LabelledSelector, Spec, Study
from pfbench.runs.planning.tune import TuningChoice, TuningTrial
from pfbench.runs.storage.entry_list import gc_disabled
from pfbench.runs.storage.run_keys import (
    ContainingRunIndex,
    RunKeys,
    compute_keys,
    has_changed_input_file,
    is_strictly_within,
)
from pfbench.runs.storage.serialization import StoredRun, run_record, storage_obstacle
from pfbench.runs.storage.store import Store, WriteBatch, has_store

Progress = Callable[["PlanOutcome"], object]
"""Callback that gets the outcome of each run."""


@dataclass(frozen=True, slots=True)
class PlanOutcome:
    """Planned run together with its stored result.

    Attributes
    ----------
    plan, entry
        The run as it was planned, and as it is stored.
    origin
        "stored" if the run was stored before, "made" if it was executed now, or "cut" if it is a
        part of a longer stored run.
    """

    plan: PlannedRun
    entry: StoredRun
    origin: str = "stored"


def execute(
    plans: Sequence[PlannedRun],
    store: Store,
    *,
    engine: Engine | None = None,
    progress: Progress | None = None,
    on_missing: Callable[[Sequence[PlannedRun]], None] | None = None,
    recomputed_statuses: Collection[str] = (),
) -> list[PlanOutcome]:
    """Execute the runs that the store lacks; return the outcomes of all runs in the given order.

    Before the first run starts, the names and parameters of all runs are checked; see
    `iterate_plan_outcomes`.

    Parameters
    ----------
    engine
        Engine that executes the runs; by default this process, in which no run can be killed.
    on_missing
        Called with the runs that the store lacks, before the first one starts.
    recomputed_statuses
        Statuses of stored runs that are re-run.

    Raises
    ------
    PfbenchError
        If a name is unknown or a parameter wrong, or the store fails; runs stored before remain.
    KeyboardInterrupt
        If the user interrupts it; unfinished runs are lost, and runs stored before remain.
    """
    outcomes: dict[PlannedRun, PlanOutcome] = {}
    for outcome in iterate_plan_outcomes(
        plans, store, engine or SingleProcessEngine(), on_missing, recomputed_statuses
    ):
        # As the store has it, so that a second call sees the same.
        entry = store.get(outcome.entry.key) if outcome.origin == "made" else None
        outcomes[outcome.plan] = replace(outcome, entry=entry or outcome.entry)
        if progress:
            progress(outcome)
    return [outcomes[plan] for plan in plans]


def iterate_plan_outcomes(
    plans: Sequence[PlannedRun],
    store: Store,
    engine: Engine,
    on_missing: Callable[[Sequence[PlannedRun]], None] | None = None,
    recomputed_statuses: Collection[str] = (),
) -> Iterator[PlanOutcome]:
    """Yield the outcome of every planned run: stored runs first, then new ones as they finish.

    A run that is refused, fails or is killed is stored like any other, with its status and the
    reason. A stored run with another budget or time limit is used if it is long enough. It is
    unchanged if the limits made no difference, and cut if it is longer than planned. A stored run
    whose status is in `recomputed_statuses` is re-run and stored again.

    Raises
    ------
    InputError
        If a name is unknown or a parameter wrong, before any run.
    StorageError
        If the store cannot be written or read; runs stored before remain.
    KeyboardInterrupt
        If the user interrupts it; unfinished runs are lost, and runs stored before remain.
    """
    environment = engine.environment()
    missing: dict[str, list[PlannedRun]] = {}
    keys = _keys(plans, environment)
    for plan in dict.fromkeys(plans):
        missing.setdefault(keys[plan].key, []).append(plan)
    with gc_disabled():
        for entry in _get_reusable_runs(store, [*missing], recomputed_statuses):
            yield from [PlanOutcome(plan, entry) for plan in missing.pop(entry.key)]
    if not missing:
        return
    store.check_writable()
    if on_missing is not None:
        on_missing([of_key[0] for of_key in missing.values()])
    lengths = ContainingRunIndex(store, [keys[of_key[0]] for of_key in missing.values()])
    # Of each problem once: runs end in any order, and one problem is kept at a time.
    least_known = cache(use_single_thread()(lambda text: build_or_reuse(text).best_known))
    # Round by round: a run that another, longer one will contain waits for it.
    waiting = [plans[0] for plans in missing.values()]
    batch: WriteBatch[PlanOutcome] = WriteBatch(store)
    while waiting:
        now = []
        for plan in waiting:
            containing_run = lengths.find_stored_or_cut_run(plan, keys[plan])
            if containing_run is None:
                now.append(plan)
                continue
            for same in missing[keys[plan].key]:
                yield _outcome_from_stored_run(same, keys[same], *containing_run)
        now, waiting = _split_into_longest_and_parts(now, keys)
        now.sort(key=_problem_and_code_sort_key)
        # An engine sees to pfbench's own source.
        sources = [keys[plan].notes["source"] if plan.user_selectors else None for plan in now]
        tasks = [
            Task(execute_and_digest_files, (plan, source), user_code_name=plan.user_code_name)
            for plan, source in zip(now, sources, strict=True)
        ]
        with batch:
            try:
                for result in engine.do(tasks):
                    plan = now[result.index]
                    candidate = keys[plan]
                    run, files = _make_run(plan, candidate, result)
                    notes = {"retries": result.retries, "family": candidate.family}
                    notes |= {**candidate.notes, "plan": plan.as_json()}
                    notes |= {"files": files} if files else {}
                    if minimum := least_known(plan.problem):
                        notes["best_known"] = dict(zip(("value", "source"), minimum, strict=True))
                    lengths.add(candidate, run)
                    entry = StoredRun(candidate.key, run, environment, notes)
                    record = run_record(candidate.key, run, environment, notes)
                    finished = (PlanOutcome(p, entry, "made") for p in missing[candidate.key])
                    yield from batch.add(record, finished)
            except KeyboardInterrupt:
                yield from batch.flush()
                raise
            yield from batch.flush()


def count_if_completed(
    plans: Sequence[PlannedRun],
    store: Store,
    engine: Engine,
    recomputed_statuses: Collection[str] = (),
) -> Counter[str] | None:
    """Return the number of planned runs of each status if all are stored, completed and intact.

    Otherwise the result is None. No content is read, so that very many finished runs are recognised
    fast; neither are the notes on files that a user-defined component has read.

    Raises
    ------
    InputError
        If a name is unknown or a parameter wrong.
    """
    with gc_disabled():
        keys = [each.key for each in _keys(plans, engine.environment()).values()]
        statuses = store.intact_statuses(keys)
    counts = Counter(statuses[key] for key in keys if key in statuses)
    completed = {status for status in Status if status.is_completed}.difference(recomputed_statuses)
    return counts if counts.total() == len(keys) and completed.issuperset(counts) else None


def predict_origins(
    plans: Sequence[PlannedRun],
    folder: Path,
    engine: Engine,
    recomputed_statuses: Collection[str] = (),
) -> dict[PlannedRun, str]:
    """Return whether each run is stored, must be executed, or is part of a longer stored run.

    The words are "stored", "made" and "cut", those of `PlanOutcome.origin`. No run is executed, and
    the store is not changed, except that damaged entries are quarantined.

    Raises
    ------
    InputError
        If a name is unknown or a parameter wrong.
    """
    keys = _keys(plans, engine.environment())
    if not has_store(folder):
        return dict.fromkeys(keys, "made")
    store = Store(folder, make=False)
    unique = dict.fromkeys(each.key for each in keys.values())
    stored = {entry.key for entry in _get_reusable_runs(store, [*unique], recomputed_statuses)}
    missing = [plan for plan in keys if keys[plan].key not in stored]
    lengths = ContainingRunIndex(store, [keys[plan] for plan in missing])
    containing = {plan: lengths.find_stored_or_cut_run(plan, keys[plan]) for plan in missing}
    origins = {plan: run[1] if run else "made" for plan, run in containing.items()}
    return {plan: origins.get(plan, "stored") for plan in keys}


def _get_reusable_runs(
    store: Store, keys: Sequence[str], recomputed_statuses: Collection[str]
) -> Iterator[StoredRun]:
    """Yield the stored runs of those keys that need not be executed (again)."""
    repeated = UNINFORMATIVE.union(recomputed_statuses)
    for entry in store.get_runs(keys):
        if entry.run.status not in repeated and not has_changed_input_file(entry):
            yield entry


def _make_run(plan: PlannedRun, keys: RunKeys, result: TaskResult) -> tuple[Run, dict[str, str]]:
    """Return the run of a finished or failed task, and the digests of the files that it read."""
    value: tuple[Run | None, dict[str, str]] = result.value or (None, {})
    executed_run, files = value
    run = run_from_result(plan, replace(result, value=executed_run))
    changed = next((name for name, d in keys.files.items() if files.get(name, d) != d), "")
    if changed:
        reason = f"{changed} changed after the run was planned"
        run = make_unfinished_run(plan, Status.KILLED, reason)
    if obstacle := storage_obstacle(run):
        run = make_unfinished_run(plan, Status.ERROR, obstacle)
    return run, files


# So that a schedule has the same bits here and in a worker.
_keys = use_single_thread()(compute_keys)


def _outcome_from_stored_run(
    plan: PlannedRun, keys: RunKeys, entry: StoredRun, origin: str
) -> PlanOutcome:
    """Return a plan's outcome: an equivalent stored run, with components named as in the plan."""
    run = replace(
        entry.run,
        problem=plan.problem,
        algorithm=plan.algorithm,
        parameters=keys.parameters,
        schedule=keys.schedule,
    )
    return PlanOutcome(plan, replace(entry, run=run), origin)


def _problem_and_code_sort_key(plan: PlannedRun) -> tuple[str, ...]:
    """Return a sort key that groups runs by problem, and then by user-defined code.

    Runs with only built-in code come first among those on a problem. Problems are in the order of a
    hash of their names: unlike the names themselves, this order does not follow their sizes, so the
    first finished runs tell how long the others will take.
    """
    return sha256(plan.problem.encode()).hexdigest(), plan.problem, plan.user_code_name


def _split_into_longest_and_parts(
    plans: Sequence[PlannedRun], keys: Mapping[PlannedRun, RunKeys]
) -> tuple[list[PlannedRun], list[PlannedRun]]:
    """Return two lists: the runs that are not part of another run in the list, and the others.

    A run contains another if they differ only in their limits and its limits are larger.
    """
    limits = defaultdict(list)
    for plan in plans:
        limits[keys[plan].family].append(keys[plan].limits)
    now: list[PlannedRun] = []
    later: list[PlannedRun] = []
    for plan in plans:
        key = keys[plan]
        contained = any(is_strictly_within(key.limits, rest) for rest in limits[key.family])
        (later if contained else now).append(plan)
    return now, later


Make = Callable[[Spec, Sequence[PlannedRun]], Sequence[PlanOutcome]]
"""Function that executes runs of a parameter search, given its spec; returns their outcomes."""


def resolve_tuning(spec: Spec, execute_search: Make) -> Spec:
    """Run the tuning searches; return the spec with the chosen parameters for tuned methods.

    A spec without tuned methods is returned unchanged.
    """
    searches = spec.search_runs()
    if not searches:
        return spec
    runs = {outcome.plan: outcome.entry.run for outcome in execute_search(spec, searches)}
    spec = spec.map_studies(lambda study: _set_choices(study, _choose_parameters(study, runs)))
    further = [plan for plan in spec.search_runs() if plan not in runs]
    if further:
        runs |= {outcome.plan: outcome.entry.run for outcome in execute_search(spec, further)}
    return spec.map_studies(
        lambda study: _add_tuned_algorithms(study, _choose_parameters(study, runs))
    )


def _set_choices(study: Study, choices: Sequence[TuningChoice]) -> Study:
    """Return a study with these choices of parameters as the results of its tuning.

    A choice at an edge of its grid gets the next points beyond it.
    """
    extended = (
        replace(choice, points_beyond=tuple(choice.points_beyond_ends())) for choice in choices
    )
    return replace(study, choices=tuple(extended))


def _choose_parameters(study: Study, runs: Mapping[PlannedRun, Run]) -> tuple[TuningChoice, ...]:
    """Return the best parameters in the trials for each tuned method, problem and setting."""
    points_beyonds = {choice.key_without_target: choice.points_beyond for choice in study.choices}
    choices = []
    for problem, method, setting in study.iterate_tuned_methods():
        trials = tuple(
            summarise_trial(study.tuning_targets, values, [runs[plan] for plan in plans])
            for values, plans in study.iterate_trials(problem, method, setting)
        )
        choice = TuningChoice(problem.selector, method.selector, setting.values, trials)
        choices.append(
            replace(choice, points_beyond=points_beyonds.get(choice.key_without_target, ()))
        )
    return tuple(choices)


def _add_tuned_algorithms(study: Study, choices: tuple[TuningChoice, ...]) -> Study:
    """Return a study with its tuned methods among the algorithms, and with the given choices."""
    tuned = (
        LabelledSelector(method.tuned_label, method.selector) for method in study.tuned_methods
    )
    return replace(study, algorithms=(*study.algorithms, *tuned), choices=choices)


def summarise_trial(
    targets: Sequence[Stop], values: Mapping[str, Any], runs: Sequence[Run]
) -> TuningTrial:
    """Summarise a grid point's runs by target: number of runs that reach it, calls, last value."""
    complete = [run.counts.sfo for run in runs]
    firsts = [calls_to_targets(targets, run) for run in runs]
    hits, expected, last = [], [], []
    for index, target in enumerate(targets):
        calls = [first[index]["calls"] for first in firsts]
        spent = sum(
            all_of_it if to_it is None else to_it["sfo"]
            for to_it, all_of_it in zip(calls, complete, strict=True)
        )
        hits.append(sum(to_it is not None for to_it in calls))
        expected.append(spent / hits[-1] if hits[-1] else math.inf)
        last.append(median_high(run.final_value(target.measure) for run in runs))
    return TuningTrial(values, tuple(hits), tuple(expected), tuple(last), sum(complete))
