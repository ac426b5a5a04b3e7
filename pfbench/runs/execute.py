"""Making the runs of a study or sweep that the store lacks, with whatever engine.

The store's notes on a run are ``retries``, how often it was begun again because its worker was
lost; ``family``, the content key without the limits that a run of another length could have, and
``limits``, its budget and iterations, which tell what stored run contains or begins one that is
asked for; ``extended``, the key of the run that it went on from, or null; and ``source``, by which
the store knows runs that no plan asks for any more.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from pfbench.algorithms.base import parameters_of
from pfbench.base.errors import Refused
from pfbench.base.protocols import Choice
from pfbench.runs.engines.engine import Engine, ThisProcess, one_thread
from pfbench.runs.engines.making import make, of_result, resolve
from pfbench.runs.engines.workers import Task
from pfbench.runs.loop.solve import plain
from pfbench.runs.planning.study import PlannedRun
from pfbench.runs.storage.families import Families, family_of, limits_of, within
from pfbench.runs.storage.keys import modules_of, source_digest, source_note
from pfbench.runs.storage.store import Entry, Store

Progress = Callable[[PlannedRun, bool], None]
"""Called when a run is there: the run, and whether it was made now (not found in the store)."""

FRESH = frozenset({"made", "extended"})
"""How a run came about that was stored just now."""

_MOST_HELD = 256 * 2**20
"""Bytes of checkpoints after which no further run is begun before those are done."""

AGAIN = frozenset({"killed"})
"""A stored run of such a status says nothing about its algorithm, and is made again."""


@dataclass(frozen=True)
class Outcome:
    """A planned run with what the store has of it.

    Attributes
    ----------
    plan, entry
        The run as it was planned, and as it is stored.
    how
        "stored" before, "made" now, "cut" from a longer stored run, or "extended" from a shorter
        one.
    """

    plan: PlannedRun
    entry: Entry
    how: str = "stored"


def execute(
    plans: Sequence[PlannedRun],
    store: Store,
    *,
    engine: Engine | None = None,
    progress: Progress | None = None,
) -> list[Outcome]:
    """Make the runs that the store lacks, and return all, in the given order.

    Every run is checked (names, parameters, requirements) before the first one starts.

    Parameters
    ----------
    engine
        Where runs are made; this process if none is given, in which no run can be killed.

    Raises
    ------
    PfbenchError
        If a run is refused, or the store fails; what is stored already stays.
    KeyboardInterrupt
        If the user interrupts it; the runs in flight are lost, and what is stored already stays.
    """
    check(plans)
    found: dict[PlannedRun, Outcome] = {}
    for outcome in sweep(plans, store, engine or ThisProcess()):
        # As the store has it, so that a second call sees the same.
        entry = store.get(outcome.entry.key) if outcome.how in FRESH else None
        found[outcome.plan] = replace(outcome, entry=entry or outcome.entry)
        if progress:
            progress(outcome.plan, outcome.how != "stored")
    return [found[plan] for plan in plans]


def check(plans: Sequence[PlannedRun]) -> None:
    """Refuse any run that `solve` would refuse, before the first one starts."""
    for plan in dict.fromkeys(plans):
        refusal = resolve(plan).refusal
        if refusal:
            raise Refused(refusal)


@dataclass(frozen=True)
class Keys:
    """By what the store knows a run.

    Attributes
    ----------
    key, family
        Its content key, and that of its family.
    limits
        Its budget and iterations; see `pfbench.runs.storage.families.limits_of`.
    source
        The store's note on its source.
    parameters, schedule
        As the run has them, also where it is cut from one of another selector.
    """

    key: str
    family: str
    limits: Mapping[str, float]
    source: Mapping[str, Any]
    parameters: Mapping[str, Any]
    schedule: str


@one_thread()  # so that a schedule has the same bits here and in a worker
def keys_of(plans: Sequence[PlannedRun], environment: Mapping[str, str]) -> dict[PlannedRun, Keys]:
    """Return the keys of each run.

    Raises
    ------
    InputError
        If a name is unknown or a parameter wrong.
    """
    sources = cache(source_digest)
    found = {}
    # A problem is built once, however the runs are ordered.
    for plan in sorted(dict.fromkeys(plans), key=lambda plan: plan.problem):
        there = resolve(plan)
        modules = modules_of(there.problem, there.chosen or there.choice, there.measures, plan.own)
        found[plan] = Keys(
            there.key(plan, environment, sources),
            there.key(family_of(plan), environment, sources, limited=False),
            limits_of(plan, there.chosen),
            source_note(modules, sources(modules)),
            {name: plain(value) for name, value in parameters_of(there.chosen).items()},
            there.choice.schedule if isinstance(there.choice, Choice) else "explicit",
        )
    return found


def sweep(plans: Sequence[PlannedRun], store: Store, engine: Engine) -> Iterator[Outcome]:
    """Yield the outcome of every planned run: first what the store has, then as runs are made.

    A run that does not fit its problem, fails, is killed or lost is stored like any other, with its
    status and the reason. What is stored with another budget or time limit is used as far as it
    goes: as it is where the limits changed nothing, cut where it is longer than asked, extended
    where it is shorter and its algorithm can go on.

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
    keys = keys_of(plans, environment)
    missing: dict[str, list[PlannedRun]] = {}
    for plan in dict.fromkeys(plans):
        key = keys[plan].key
        entry = None if key in missing else store.get(key)
        if entry is None or entry.run.status in AGAIN:
            missing.setdefault(key, []).append(plan)
        else:
            yield Outcome(plan, entry)
    if not missing:
        return
    store.check_writable()
    families = Families(store)
    # Round by round: a run that another, longer one will contain waits for it.
    waiting = [plans[0] for plans in missing.values()]
    while waiting:
        now = []
        for plan in waiting:
            known = families.contained(plan, keys[plan].family, keys[plan].limits)
            if known is None:
                now.append(plan)
                continue
            for same in missing[keys[plan].key]:
                yield Outcome(same, *_as_planned(same, keys[same], *known))
        now, waiting = _longest(now, keys)
        now.sort(key=lambda plan: plan.problem)
        begun, later = _begun(now, keys, families)
        waiting += later
        now = list(begun)
        for result in engine.do([_task(plan, begun[plan], keys[plan]) for plan in now]):
            plan = now[result.index]
            run, key, origin = of_result(plan, result), keys[plan].key, begun[plan]
            notes = {
                "retries": result.retries,
                "family": keys[plan].family,
                "limits": keys[plan].limits,
                "extended": origin and origin.key,
                "source": keys[plan].source,
            }
            store.put(key, run, environment, notes)
            families.add(key, run, notes)
            entry = Entry(key, replace(run, checkpoint=None), environment, notes)
            for same in missing[key]:
                yield Outcome(same, entry, "extended" if origin else "made")


def _as_planned(plan: PlannedRun, keys: Keys, entry: Entry, how: str) -> tuple[Entry, str]:
    """Return a run of its family as if it had been planned so."""
    run = replace(
        entry.run,
        problem=plan.problem,
        algorithm=plan.algorithm,
        parameters=keys.parameters,
        schedule=keys.schedule,
    )
    return replace(entry, run=run), how


def _task(plan: PlannedRun, begun: Entry | None, keys: Keys) -> Task:
    """Return the task that makes a run; an engine sees to pfbench's own source."""
    return Task(make, (plan, begun and begun.run, keys.source if plan.own else None))


def _begun(
    plans: Sequence[PlannedRun], keys: Mapping[PlannedRun, Keys], families: Families
) -> tuple[dict[PlannedRun, Entry | None], list[PlannedRun]]:
    """Return runs with what each goes on from, and those whose turn is later.

    All checkpoints are held until the runs are made, so there is a limit to what they take.
    """
    found: dict[PlannedRun, Entry | None] = {}
    held = 0
    for place, plan in enumerate(plans):
        if held > _MOST_HELD:
            return found, list(plans[place:])
        entry = families.extensible(plan, keys[plan].family, keys[plan].limits)
        if entry and entry.run.checkpoint:
            held += entry.run.checkpoint.nbytes
        found[plan] = entry
    return found, []


def _longest(
    plans: Sequence[PlannedRun], keys: Mapping[PlannedRun, Keys]
) -> tuple[list[PlannedRun], list[PlannedRun]]:
    """Part runs into those that can be cut from no other of the same family, and the others."""
    groups: dict[str, list[PlannedRun]] = {}
    for plan in plans:
        groups.setdefault(keys[plan].family, []).append(plan)
    now = []
    for group in groups.values():
        limits = [keys[plan].limits for plan in group]
        now += [
            plan
            for plan, mine in zip(group, limits, strict=True)
            if not any(within(mine, others) for others in limits)
        ]
    first = set(now)
    return now, [plan for plan in plans if plan not in first]


def expected(plans: Sequence[PlannedRun], folder: Path, engine: Engine) -> dict[PlannedRun, str]:
    """Return how each planned run would come about (see `Outcome`).

    Nothing is written, and no more than a damaged file set aside.

    Raises
    ------
    InputError
        If a name is unknown or a parameter wrong.
    """
    keys = keys_of(plans, engine.environment())
    if not folder.is_dir():
        return dict.fromkeys(keys, "made")
    store = Store(folder)
    families = Families(store, write=False)

    def how(plan: PlannedRun) -> str:
        there = store.get(keys[plan].key) if keys[plan].key in store else None
        if there is not None and there.run.status not in AGAIN:
            return "stored"
        known = families.contained(plan, keys[plan].family, keys[plan].limits)
        if known is not None:
            return known[1]
        begun = families.extensible(plan, keys[plan].family, keys[plan].limits)
        return "made" if begun is None else "extended"

    return {plan: how(plan) for plan in keys}
