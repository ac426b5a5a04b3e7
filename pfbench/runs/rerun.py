"""Making a share of somebody's stored runs again, before a store takes them.

A hash proves that a file is whole, not that a run was ever made: whoever writes a store can put
any numbers under any key. A run that is made again here must have the same key, the same counts
and the same trace, bit for bit; only times may differ.
"""

import math
import random
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from pfbench.base.errors import InputError
from pfbench.base.selectors import Selector, by_module, module_of
from pfbench.base.user_code import is_ours
from pfbench.runs.engines.engine import Engine, one_thread
from pfbench.runs.engines.making import make, memory_limited
from pfbench.runs.engines.workers import Result, Task
from pfbench.runs.loop.run import Run
from pfbench.runs.planning.plan import PlannedRun, own_names
from pfbench.runs.storage.content import Entry
from pfbench.runs.storage.damaged import Damaged
from pfbench.runs.storage.keys import source_digest
from pfbench.runs.storage.planned import keys_of
from pfbench.runs.storage.store import Store
from pfbench.runs.storage.upkeep import difference

MOST_SECONDS = 600.0
"""Seconds that a run, with its problem, may take to be made again."""

MOST_MEMORY = 4e9
"""Bytes that it may add to those of its process."""

_BY_THE_CLOCK = frozenset({"timeout", "killed"})


@dataclass(frozen=True)
class Rerun:
    """What became of the runs that were made again.

    Attributes
    ----------
    agree
        How many are the same.
    differing
        Key of each that is not, and in what it differs.
    left_out
        How many of the share could not be made again, by the reason.
    elsewhere
        How many of those that agree were made in another environment or by another source, and
        compared in their status and counts alone.
    """

    agree: int
    differing: Sequence[tuple[str, str]]
    left_out: Mapping[str, int]
    elsewhere: int = 0


def rerun(
    store: Store,
    share: float,
    engine: Engine,
    *,
    rng: random.Random | None = None,
    told: Callable[[str], object] = lambda text: None,
    modules: Collection[str] = (),
    anywhere: bool = False,
) -> Rerun:
    """Make a share of a store's runs again, and compare.

    Nothing of somebody's own is imported but `modules`, and no file is opened that a stored
    selector names: such runs are left out, and so are those of another source, environment or
    version, of which the bits may differ, and those that a clock ended.

    Parameters
    ----------
    share
        The part of the runs, in (0, 1]; rounded up.
    engine
        Where they are made: in processes that can be killed, as a stranger's run may not end.
    rng
        Chooses the runs; nobody can foresee them if it is not given.
    told
        Is told what is made again, before it is.
    modules
        Those of somebody's own that may be imported: the user has been told of them.
    anywhere
        Whether runs of another source or environment are made again, too, and compared in their
        status and counts.

    Raises
    ------
    StorageError
        If the system does not let a file be read.
    """
    keys = [*store.keys()]
    chosen = (rng or random.SystemRandom()).sample(keys, math.ceil(share * len(keys)))
    left_out: Counter[str] = Counter()
    environment = engine.environment()
    sources = cache(source_digest)
    entries: list[tuple[Entry, bool]] = []
    for key in sorted(chosen):
        entry = _entry(store, key)
        reason = "damaged" if entry is None else _why_not(entry, modules)
        other = entry and not reason and _made_elsewhere(entry, environment, sources, modules)
        if entry is None or reason or (other and not anywhere):
            left_out[reason or str(other)] += 1
            continue
        entries.append((entry, bool(other)))
        told(f"{entry.run.algorithm} on {entry.run.problem}, seed {entry.run.seed}")
    tasks = [Task(_again, (_plan_of(entry), environment), MOST_SECONDS) for entry, _ in entries]
    differing, agree = [], []
    for result in engine.do(tasks) if tasks else ():
        entry, elsewhere = entries[result.index]
        if result.status != "done":
            left_out[f"not made again: {result.status}"] += 1
        elif found := (_differs_in_counts if elsewhere else _differs)(entry, result):
            differing.append((entry.key, found))
        else:
            agree.append(elsewhere)
    return Rerun(len(agree), sorted(differing), left_out, sum(agree))


def _entry(store: Store, key: str) -> Entry | None:
    try:
        found = store.look("run", key)
    except Damaged:
        return None
    return None if found is None else found[0]


def _why_not(entry: Entry, modules: Collection[str]) -> str:
    """Return why a run cannot be made again; empty if it can."""
    run = entry.run
    try:
        plan = PlannedRun.of_json(entry.notes.get("plan", {}))
    except InputError:
        return "stored without its plan"
    if (plan.problem, plan.algorithm, plan.seed) != (run.problem, run.algorithm, run.seed):
        return "stored with the plan of another run"
    if any(module_of(name) not in modules for name in own_names(plan.own_selectors)):
        return "of somebody's own modules, which are not imported"
    if any(_names_a_file(by_module(text)) for text in (plan.problem, plan.algorithm)):
        return "of a file that its selector names, which is not opened"
    return "ended by a clock" if run.status in _BY_THE_CLOCK else ""


def _made_elsewhere(
    entry: Entry,
    environment: Mapping[str, str],
    sources: Callable[[frozenset[str]], str],
    modules: Collection[str],
) -> str:
    """Return why the bits of a run may differ here; empty if they may not."""
    if dict(entry.environment) != dict(environment):
        return "made in another environment"
    source = entry.notes.get("source") or {}
    named = source.get("modules")
    # To look for the source of a module may import its package.
    if not isinstance(named, list) or not all(is_ours(str(m)) or m in modules for m in named):
        return "made by another source"
    same = sources(frozenset(named)) == source["digest"]
    return "" if same else "made by another source"


def _names_a_file(selector: str) -> bool:
    texts = Selector.parse(selector).texts.items()
    return any(name == "edition" or {"/", "\\"} & set(text) for name, text in texts)


def _again(plan: PlannedRun, environment: Mapping[str, str]) -> tuple[str, Run]:
    """Return the key of a run, and the run, made here."""
    with memory_limited(MOST_MEMORY), one_thread():
        return keys_of([plan], environment)[plan].key, make(plan)


def _plan_of(entry: Entry) -> PlannedRun:
    """Return the plan of a stored run; the files that it names are among the modules at hand."""
    plan = PlannedRun.of_json(entry.notes["plan"])
    return replace(
        plan,
        problem=by_module(plan.problem),
        algorithm=by_module(plan.algorithm),
        measures=tuple(map(by_module, plan.measures)),
    )


def _differs(entry: Entry, result: Result) -> str:
    """Return in what a run that was made again differs from the stored one; empty if in nothing."""
    key, run = result.value
    if key != entry.key:
        return "key, which is that of another run"
    return difference("run", entry, Entry(key, run, entry.environment)) or ""


def _differs_in_counts(entry: Entry, result: Result) -> str:
    """Return in which count or status a run that was made again differs; empty if in none."""
    theirs, mine = (_counted(run) for run in (entry.run, result.value[1]))
    return next((name for name, value in theirs.items() if value != mine[name]), "")


def _counted(run: Run) -> dict[str, Any]:
    return {**run.counts.as_dict(), "iterations": run.iterations, "status": run.status}
