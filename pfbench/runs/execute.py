"""Executing the runs of a study or sweep that the store lacks, with any engine.

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
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from pfbench.base.status import Status
from pfbench.runs.engines.engine import Engine, SingleProcessEngine, use_single_thread
from pfbench.runs.engines.run_task import (
    make_run_with_file_digests,
    make_unfinished_run,
    run_from_result,
)
from pfbench.runs.engines.workers import Task
from pfbench.runs.loop.run import UNINFORMATIVE, Run
from pfbench.runs.planning.plan import PlannedRun
from pfbench.runs.planning.resolve import best_known
from pfbench.runs.storage.run_keys import (
    ContainingRunIndex,
    RunKeys,
    compute_keys,
    has_changed_input_file,
    is_within,
)
from pfbench.runs.storage.serialization import StoredRun, run_record, storage_obstacle
from pfbench.runs.storage.store import Store, has_store
from pfbench.runs.storage.write_batch import WriteBatch

Progress = Callable[["PlanOutcome"], object]
"""Callback that gets the outcome of each run."""


@dataclass(frozen=True)
class PlanOutcome:
    """Planned run with its stored result.

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
    """Execute the runs that the store lacks; return all outcomes in the given order.

    Names and parameters of all runs are checked before the first one starts; see
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

    A run that is refused, fails, is killed or lost is stored like any other, with its status and
    the reason. A stored run with another budget or time limit is used if it is long enough:
    unchanged if the limits made no difference, cut if it is longer than planned. A stored run whose
    status is in `recomputed_statuses` is re-run and stored again.

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
    keys = _keys(plans, environment)
    unwanted = UNINFORMATIVE.union(recomputed_statuses)
    missing: dict[str, list[PlannedRun]] = {}
    for plan in dict.fromkeys(plans):
        key = keys[plan].key
        entry = None if key in missing else store.get(key)
        if entry is None or entry.run.status in unwanted or has_changed_input_file(entry):
            missing.setdefault(key, []).append(plan)
        else:
            yield PlanOutcome(plan, entry)
    if not missing:
        return
    store.check_writable()
    if on_missing is not None:
        on_missing([of_key[0] for of_key in missing.values()])
    lengths = ContainingRunIndex(store)
    # Of each problem once: runs end in any order, and one problem is kept at a time.
    least_known = cache(use_single_thread()(best_known))
    # Round by round: a run that another, longer one will contain waits for it.
    waiting = [plans[0] for plans in missing.values()]
    batch: WriteBatch[PlanOutcome] = WriteBatch(store)
    while waiting:
        now = []
        for plan in waiting:
            containing_run = lengths.find_containing_run(plan, keys[plan])
            if containing_run is None:
                now.append(plan)
                continue
            for same in missing[keys[plan].key]:
                yield _adapt_to_plan(same, keys[same], *containing_run)
        now, waiting = _split_by_containment(now, keys)
        now.sort(key=_run_order_key)
        # An engine sees to pfbench's own source.
        sources = [keys[plan].source if plan.user_selectors else None for plan in now]
        tasks = [
            Task(make_run_with_file_digests, (plan, source), user_code_name=plan.user_code_name)
            for plan, source in zip(now, sources, strict=True)
        ]
        with batch:
            try:
                for result in engine.do(tasks):
                    plan = now[result.index]
                    answer: tuple[Run | None, dict[str, str]] = result.value or (None, {})
                    made_run, files = answer
                    candidate, run = (
                        keys[plan],
                        run_from_result(plan, replace(result, value=made_run)),
                    )
                    if other := next(
                        (f for f, d in candidate.files.items() if files.get(f, d) != d), ""
                    ):
                        reason = f"{other} changed after the run was planned"
                        run = make_unfinished_run(plan, Status.KILLED, reason)
                    why_not = storage_obstacle(run)
                    if why_not:
                        run = make_unfinished_run(plan, "error", why_not)
                    notes: dict[str, Any] = {
                        "retries": result.retries,
                        "family": candidate.family,
                        "limits": candidate.limits,
                        "source": candidate.source,
                        "dimension": candidate.dimension,
                        "plan": plan.as_json(),
                        **({"files": files} if files else {}),
                    } | _initial_notes(candidate, least_known(plan.problem))
                    lengths.add(candidate, run)
                    entry = StoredRun(candidate.key, run, environment, notes)
                    record = run_record(candidate.key, run, environment, notes)
                    finished = (PlanOutcome(p, entry, "made") for p in missing[candidate.key])
                    yield from batch.add(record, finished)
            except KeyboardInterrupt:
                yield from batch.flush()
                raise
            yield from batch.flush()


def predict_origins(
    plans: Sequence[PlannedRun],
    folder: Path,
    engine: Engine,
    recomputed_statuses: Collection[str] = (),
) -> dict[PlannedRun, str]:
    """Predict whether each planned run is executed, cached or truncated (see `PlanOutcome`).

    The store is not changed, except that damaged entries are quarantined.

    Raises
    ------
    InputError
        If a name is unknown or a parameter wrong.
    """
    keys = _keys(plans, engine.environment())
    if not has_store(folder):
        return dict.fromkeys(keys, "made")
    store = Store(folder, make=False)
    lengths = ContainingRunIndex(store)

    def predict_origin(plan: PlannedRun) -> str:
        stored_run = store.get(keys[plan].key)
        unwanted = UNINFORMATIVE.union(recomputed_statuses)
        if (
            stored_run is not None
            and stored_run.run.status not in unwanted
            and not has_changed_input_file(stored_run)
        ):
            return "stored"
        containing_run = lengths.find_containing_run(plan, keys[plan])
        return "made" if containing_run is None else containing_run[1]

    return {plan: predict_origin(plan) for plan in keys}


def _initial_notes(keys: RunKeys, minimum: tuple[float, str] | None) -> dict[str, Any]:
    """Return the notes that are known before the run: its guarantee and the best value."""
    notes: dict[str, Any] = {}
    if keys.guarantee is not None:
        notes["promised"] = dict(zip(("measure", "value"), keys.guarantee, strict=True))
    if minimum is not None:
        notes["best_known"] = dict(zip(("value", "source"), minimum, strict=True))
    return notes


_keys = use_single_thread()(
    compute_keys
)  # so that a schedule has the same bits here and in a worker


def _adapt_to_plan(plan: PlannedRun, keys: RunKeys, entry: StoredRun, origin: str) -> PlanOutcome:
    """Return the outcome of a plan from a stored run with other limits or selectors."""
    run = replace(
        entry.run,
        problem=plan.problem,
        algorithm=plan.algorithm,
        parameters=keys.parameters,
        schedule=keys.schedule,
    )
    return PlanOutcome(plan, replace(entry, run=run), origin)


def _run_order_key(plan: PlannedRun) -> tuple[str, ...]:
    """Return the sort key of a run: problems in hash order, each with built-in code first.

    Names are often in the order of the problems' sizes. In hash order, the finished runs tell how
    long the others take.
    """
    return sha256(plan.problem.encode()).hexdigest(), plan.problem, plan.user_code_name


def _split_by_containment(
    plans: Sequence[PlannedRun], keys: Mapping[PlannedRun, RunKeys]
) -> tuple[list[PlannedRun], list[PlannedRun]]:
    """Return the runs that no other of these runs contains, and those that another contains."""
    limits = defaultdict(list)
    for plan in plans:
        limits[keys[plan].family].append(keys[plan].limits)
    now: list[PlannedRun] = []
    later: list[PlannedRun] = []
    for plan in plans:
        key = keys[plan]
        contained = any(is_within(key.limits, rest) for rest in limits[key.family])
        (later if contained else now).append(plan)
    return now, later
