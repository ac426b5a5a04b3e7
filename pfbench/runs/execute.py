"""Making the runs of a study or sweep that the store lacks, with whatever engine.

The store's notes on a run are ``retries``, how often it was begun again because its worker was
lost; ``family``, the content key without the limits that a run of another length could have, and
``limits``, its budget, which tell what stored run contains one that is asked for; and ``source``,
by which the store knows runs that no plan asks for any more.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

from pfbench.base.errors import Refused, StorageError
from pfbench.runs.engines import Engine, LocalProcesses, ThisProcess
from pfbench.runs.families import Families, family_of, limits_of, within
from pfbench.runs.keys import modules_of, source_digest
from pfbench.runs.making import make, of_result, resolve
from pfbench.runs.store import Entry, Store
from pfbench.runs.study import PlannedRun
from pfbench.runs.upkeep import source_note
from pfbench.runs.workers import Task

Progress = Callable[[PlannedRun, bool], None]
"""Called when a run is there: the run, and whether it was made now (not found in the store)."""

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
        "stored" before, "made" now, or "cut" from a longer stored run.
    """

    plan: PlannedRun
    entry: Entry
    how: str = "stored"


def execute(
    plans: Sequence[PlannedRun],
    store: Store,
    *,
    jobs: int = 1,
    progress: Progress | None = None,
) -> list[Outcome]:
    """Make the runs that the store lacks, and return all, in the given order.

    Every run is checked (names, parameters, requirements) before the first one starts. One job is
    this process, in which a run can not be ended at its time limit.

    Raises
    ------
    PfbenchError
        If a run is refused, or the store fails; what is stored already stays.
    KeyboardInterrupt
        If the user interrupts it; the runs in flight are lost, and what is stored already stays.
    """
    check(plans)
    one = jobs == 1 or len(plans) == 1
    engine: Engine = ThisProcess() if one else LocalProcesses(jobs)
    found: dict[PlannedRun, Outcome] = {}
    for outcome in sweep(plans, store, engine):
        # As the store has it, so that a second call sees the same.
        entry = store.get(outcome.entry.key) if outcome.how == "made" else None
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
    """The content key of a run, that of its family, and the store's note on its source."""

    key: str
    family: str
    source: Mapping[str, Any]


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
        resolved = resolve(plan)
        key = resolved.key(plan, environment, sources)
        family = resolved.key(family_of(plan), environment, sources)
        modules = modules_of(
            resolved.problem, resolved.chosen or resolved.choice, resolved.measures
        )
        found[plan] = Keys(key, family, source_note(modules, sources(modules)))
    return found


def sweep(plans: Sequence[PlannedRun], store: Store, engine: Engine) -> Iterator[Outcome]:
    """Yield the outcome of every planned run: first what the store has, then as runs are made.

    A run that does not fit its problem, fails, is killed or lost is stored like any other, with its
    status and the reason. What is stored with another budget or time limit is used as far as it
    goes: as it is where the limits changed nothing, cut where it is longer than asked.

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
    _check_writable(store)
    families = Families(store)
    # Round by round: a run that another, longer one will contain waits for it.
    waiting = [plans[0] for plans in missing.values()]
    while waiting:
        now = []
        for plan in waiting:
            known = families.contained(plan, keys[plan].family)
            if known is None:
                now.append(plan)
                continue
            for same in missing[keys[plan].key]:
                yield Outcome(same, *known)
        now, waiting = _longest(now, {plan: keys[plan].family for plan in now})
        now.sort(key=lambda plan: plan.problem)
        for result in engine.do([Task(make, (plan,)) for plan in now]):
            plan = now[result.index]
            run, key = of_result(plan, result), keys[plan].key
            notes = {
                "retries": result.retries,
                "family": keys[plan].family,
                "limits": limits_of(plan),
                "source": keys[plan].source,
            }
            store.put(key, run, environment, notes)
            families.add(key, run, notes)
            for same in missing[key]:
                yield Outcome(same, Entry(key, run, environment, notes), "made")


def _check_writable(store: Store) -> None:
    """Refuse a store that cannot be written before any run is made for it."""
    try:
        with TemporaryFile(dir=store.folder / "runs"):
            pass
    except OSError as error:
        raise StorageError(
            f"the store {store.folder} cannot be written ({error.strerror}): choose another with "
            "--store, or mend its permissions."
        ) from error


def _longest(
    plans: Sequence[PlannedRun], families: Mapping[PlannedRun, str]
) -> tuple[list[PlannedRun], list[PlannedRun]]:
    """Part runs into those that no other of the same family contains, and the others."""
    groups: dict[str, list[PlannedRun]] = {}
    for plan in plans:
        groups.setdefault(families[plan], []).append(plan)
    now = []
    for group in groups.values():
        now += [plan for plan in group if not any(within(plan, other) for other in group)]
    first = set(now)
    return now, [plan for plan in plans if plan not in first]


def stored(plans: Sequence[PlannedRun], folder: Path, engine: Engine) -> set[PlannedRun]:
    """Return the planned runs that a store has, whether or not there is one; nothing is written.

    Raises
    ------
    InputError
        If a name is unknown or a parameter wrong.
    """
    keys = keys_of(plans, engine.environment())
    if not folder.is_dir():
        return set()
    store = Store(folder)
    return {plan for plan in keys if keys[plan].key in store}
