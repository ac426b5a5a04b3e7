"""Making the runs of a study or sweep that the store lacks, with whatever engine.

The store's notes on a run are ``retries``, how often it was begun again because its worker was
lost; ``family``, the content key without the limits that a run of another length could have;
``limits``, its budget and iterations, which tell what stored run contains one that is asked for;
``source``, by which the store knows runs that no plan asks for any more; ``dimension``, the entries
of a point; ``best_known``, the least known objective of the problem with where it comes from, where
there is one; ``promised``, the measure that the theorem of its schedule bounds, and the bound,
where there is one; ``plan``, from which the run can be made again; and ``files``, the digests of
the files that user-defined code read, by their names, where it read any.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from pfbench.runs.engines.engine import Engine, ThisProcess, one_thread
from pfbench.runs.engines.making import make_watched, run_of, unfinished_run
from pfbench.runs.engines.workers import Task
from pfbench.runs.loop.run import SAYS_NOTHING, Run
from pfbench.runs.planning.plan import PlannedRun
from pfbench.runs.planning.resolve import best_known
from pfbench.runs.storage.content import Entry, why_not_stored
from pfbench.runs.storage.gathering import pack_if_many
from pfbench.runs.storage.lengths import Lengths, is_outdated, within
from pfbench.runs.storage.planned import Keys, keys_of
from pfbench.runs.storage.store import Store

Progress = Callable[["Outcome"], object]
"""Called with each run that is there."""

_LOOK = 1000  # runs after which the store's loose ones are counted


@dataclass(frozen=True)
class Outcome:
    """A planned run with what the store has of it.

    Attributes
    ----------
    plan, entry
        The run as it was planned, and as it is stored.
    origin
        "stored" before, "made" now, or "cut" from a longer stored run.
    """

    plan: PlannedRun
    entry: Entry
    origin: str = "stored"


def execute(
    plans: Sequence[PlannedRun],
    store: Store,
    *,
    engine: Engine | None = None,
    progress: Progress | None = None,
    begin: Callable[[Sequence[PlannedRun]], None] | None = None,
    again: Collection[str] = (),
) -> list[Outcome]:
    """Make the runs that the store lacks, and return all, in the given order.

    Names and parameters of all runs are checked before the first one starts; see `sweep`.

    Parameters
    ----------
    engine
        Where runs are made; this process if none is given, in which no run can be killed.
    begin
        Called with the runs that the store lacks, before the first is made.
    again
        Statuses of stored runs that are made all the same.

    Raises
    ------
    PfbenchError
        If a name is unknown or a parameter wrong, or the store fails; what is stored already stays.
    KeyboardInterrupt
        If the user interrupts it; the runs in flight are lost, and what is stored already stays.
    """
    found: dict[PlannedRun, Outcome] = {}
    for outcome in sweep(plans, store, engine or ThisProcess(), begin, again):
        # As the store has it, so that a second call sees the same.
        entry = store.get(outcome.entry.key) if outcome.origin == "made" else None
        found[outcome.plan] = replace(outcome, entry=entry or outcome.entry)
        if progress:
            progress(outcome)
    return [found[plan] for plan in plans]


def sweep(
    plans: Sequence[PlannedRun],
    store: Store,
    engine: Engine,
    begin: Callable[[Sequence[PlannedRun]], None] | None = None,
    again: Collection[str] = (),
) -> Iterator[Outcome]:
    """Yield the outcome of every planned run: first what the store has, then as runs are made.

    A run that does not fit its problem, fails, is killed or lost is stored like any other, with its
    status and the reason. What is stored with another budget or time limit is used where it goes
    far enough: as it is where the limits changed nothing, cut where it is longer than asked. A
    stored run whose status is in `again` is made and stored once more.

    Raises
    ------
    InputError
        If a name is unknown or a parameter wrong, before any run.
    StorageError
        If the store cannot be written or read; what is stored already stays.
    KeyboardInterrupt
        If the user interrupts it; the runs in flight are lost, and what is stored already stays.
    """
    environment = engine.environment()
    keys = _keys(plans, environment)
    unwanted = SAYS_NOTHING.union(again)
    missing: dict[str, list[PlannedRun]] = {}
    for plan in dict.fromkeys(plans):
        key = keys[plan].key
        entry = None if key in missing else store.get(key)
        if entry is None or entry.run.status in unwanted or is_outdated(entry):
            missing.setdefault(key, []).append(plan)
        else:
            yield Outcome(plan, entry)
    if not missing:
        return
    store.check_writable()
    if begin is not None:
        begin([of_key[0] for of_key in missing.values()])
    lengths = Lengths(store)
    # Of each problem once: runs end in any order, and one problem is kept at a time.
    least_known = cache(one_thread()(best_known))
    # Round by round: a run that another, longer one will contain waits for it.
    waiting, made = [plans[0] for plans in missing.values()], 0
    while waiting:
        now = []
        for plan in waiting:
            known = lengths.contained(plan, keys[plan])
            if known is None:
                now.append(plan)
                continue
            for same in missing[keys[plan].key]:
                yield _as_planned(same, keys[same], *known)
        now, waiting = _longest(now, keys)
        now.sort(key=_turn)
        # An engine sees to pfbench's own source.
        sources = [keys[plan].source if plan.own_selectors else None for plan in now]
        tasks = [
            Task(make_watched, (plan, source), code=plan.code)
            for plan, source in zip(now, sources, strict=True)
        ]
        for result in engine.do(tasks):
            plan = now[result.index]
            answer: tuple[Run | None, dict[str, str]] = result.value or (None, {})
            made_run, files = answer
            mine, run = keys[plan], run_of(plan, replace(result, value=made_run))
            if other := next((f for f, d in mine.files.items() if files.get(f, d) != d), ""):
                reason = f"{other} changed after the run was planned"
                run = unfinished_run(plan, "killed", reason)
            why_not = why_not_stored(run)
            if why_not:
                run = unfinished_run(plan, "error", why_not)
            notes: dict[str, Any] = {
                "retries": result.retries,
                "family": mine.family,
                "limits": mine.limits,
                "source": mine.source,
                "dimension": mine.dimension,
                "plan": plan.as_json(),
                **({"files": files} if files else {}),
            } | _stated(mine, least_known(plan.problem))
            store.put(mine.key, run, environment, notes)
            made += 1
            if made % _LOOK == 0:
                pack_if_many(store)
            lengths.add(mine, run)
            for same in missing[mine.key]:
                yield Outcome(same, Entry(mine.key, run, environment, notes), "made")
    if made:
        pack_if_many(store)


def expected(
    plans: Sequence[PlannedRun], folder: Path, engine: Engine, again: Collection[str] = ()
) -> dict[PlannedRun, str]:
    """Return how each planned run would come about (see `Outcome`).

    Nothing is written, and no more than a damaged file set aside.

    Raises
    ------
    InputError
        If a name is unknown or a parameter wrong.
    """
    keys = _keys(plans, engine.environment())
    if not folder.is_dir():
        return dict.fromkeys(keys, "made")
    store = Store(folder)
    lengths = Lengths(store, write=False)

    def origin(plan: PlannedRun) -> str:
        there = store.get(keys[plan].key)
        unwanted = SAYS_NOTHING.union(again)
        if there is not None and there.run.status not in unwanted and not is_outdated(there):
            return "stored"
        known = lengths.contained(plan, keys[plan])
        return "made" if known is None else known[1]

    return {plan: origin(plan) for plan in keys}


def _stated(keys: Keys, least: tuple[float, str] | None) -> dict[str, Any]:
    """Return the notes on what is known without the run."""
    notes: dict[str, Any] = {}
    if keys.promised is not None:
        notes["promised"] = dict(zip(("measure", "value"), keys.promised, strict=True))
    if least is not None:
        notes["best_known"] = dict(zip(("value", "source"), least, strict=True))
    return notes


_keys = one_thread()(keys_of)  # so that a schedule has the same bits here and in a worker


def _as_planned(plan: PlannedRun, keys: Keys, entry: Entry, origin: str) -> Outcome:
    """Return a run of other limits as if it had been planned so."""
    run = replace(
        entry.run,
        problem=plan.problem,
        algorithm=plan.algorithm,
        parameters=keys.parameters,
        schedule=keys.schedule,
    )
    return Outcome(plan, replace(entry, run=run), origin)


def _turn(plan: PlannedRun) -> tuple[str, ...]:
    """Return when a run has its turn: with others of its problem, of code that is ours first.

    Problems come in no order of their names, which is often one of their sizes: so what is done
    tells how long the others take.
    """
    return sha256(plan.problem.encode()).hexdigest(), plan.problem, plan.code


def _longest(
    plans: Sequence[PlannedRun], keys: Mapping[PlannedRun, Keys]
) -> tuple[list[PlannedRun], list[PlannedRun]]:
    """Part runs into those that can be cut from no other of them, and the others."""
    limits = defaultdict(list)
    for plan in plans:
        limits[keys[plan].family].append(keys[plan].limits)
    now: list[PlannedRun] = []
    later: list[PlannedRun] = []
    for plan in plans:
        mine = keys[plan]
        contained = any(within(mine.limits, others) for others in limits[mine.family])
        (later if contained else now).append(plan)
    return now, later
