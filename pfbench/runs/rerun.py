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
from pathlib import PurePath
from types import MappingProxyType
from typing import Any

from pfbench.base.errors import InputError
from pfbench.base.selectors import Selector, module_name, replace_file_by_module
from pfbench.base.status import Status
from pfbench.base.user_code import is_builtin
from pfbench.runs.engines.engine import Engine, use_single_thread
from pfbench.runs.engines.run_task import execute_plan, limit_memory
from pfbench.runs.engines.workers import Task, TaskResult
from pfbench.runs.loop.run import Run
from pfbench.runs.planning.plan import PlannedRun, list_user_code_names
from pfbench.runs.planning.resolve import resolve
from pfbench.runs.storage.content_keys import source_digest
from pfbench.runs.storage.damage import DamagedFileError
from pfbench.runs.storage.maintenance import difference, trace_difference
from pfbench.runs.storage.run_keys import compute_keys
from pfbench.runs.storage.serialization import StoredRun
from pfbench.runs.storage.store import Store

MOST_SECONDS = 600.0
"""Seconds that a run, with its problem, may take to be made again."""

MOST_MEMORY = 4e9
"""Bytes that it may add to those of its process."""

TOLERANCE = 1e-6
"""Where bits cannot agree, measures may differ by so much of the largest of a column."""

BY_THE_CLOCK = frozenset({Status.TIMEOUT, Status.KILLED})
"""How runs end that no other machine makes again."""

ENDED_BY_A_CLOCK = "ended by a clock"
"""Why a run is left out that no other machine makes again: the one reason without fault."""


@dataclass(frozen=True)
class RerunReport:
    """What became of the runs that were made again.

    Attributes
    ----------
    agreeing
        How many are the same.
    differing
        Key of each that is not, and in what it differs.
    left_out
        How many of the share could not be made again, by the reason.
    from_other_environment
        How many of those that agree have other bits, as they were made in another environment or
        by another source: their status and counts are equal, and up to `TOLERANCE` their measures.
    """

    agreeing: int
    differing: Sequence[tuple[str, str]]
    left_out: Mapping[str, int]
    from_other_environment: int = 0

    @property
    def irreproducible_runs(self) -> int:
        """How many of the share could not be made again, and should have been."""
        return sum(many for why, many in self.left_out.items() if why != ENDED_BY_A_CLOCK)


def rerun(
    store: Store,
    share: float,
    engine: Engine,
    *,
    notify: Callable[[str], object] = lambda text: None,
    modules: Collection[str] = (),
    ignore_paths: bool = False,
    fields: Mapping[str, Any] = MappingProxyType({}),
) -> RerunReport:
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
    notify
        Is told what is made again, before it is.
    modules
        Those of somebody's own that may be imported: the user has been told of them.
    ignore_paths
        Whether runs of another source or environment are made again, too, and compared in their
        status, counts and measures.
    fields
        What an archive of them says: ``reads``, the files that may be opened as selectors name
        them, and ``problems``, the digest of each, by which is told that its data differ.

    Raises
    ------
    StorageError
        If the system does not let a file be read.
    """
    keys = [*store.keys()]
    # Nobody can foresee them.
    chosen = random.SystemRandom().sample(keys, math.ceil(share * len(keys)))
    left_out: Counter[str] = Counter()
    environment = engine.environment()
    sources = cache(source_digest)
    entries: list[tuple[StoredRun, bool]] = []
    for key in sorted(chosen):
        entry = _read_entry(store, key)
        reads = fields.get("reads", {})
        reason = "damaged" if entry is None else _refusal_reason(entry, modules, reads)
        other = (
            entry
            and not reason
            and _describe_environment_difference(entry, environment, sources, modules)
        )
        if entry is None or reason or (other and not ignore_paths):
            left_out[reason or str(other)] += 1
            continue
        entries.append((entry, bool(other)))
        notify(f"{entry.run.algorithm} on {entry.run.problem}, seed {entry.run.seed}")
    # The files that they name are among the modules at hand.
    plans = [drop_file_paths(PlannedRun.from_json(entry.notes["plan"])) for entry, _ in entries]
    tasks = [Task(_rerun_plan, (plan, environment), MOST_SECONDS) for plan in plans]
    differing, agree = [], []
    for result in engine.do(tasks) if tasks else ():
        entry, elsewhere = entries[result.index]
        if result.status != "done":
            left_out[f"not made again: {result.status}: {result.reason}"] += 1
        elif data_difference := _describe_data_difference(entry, result, fields) or (
            describe_difference(entry.run, result.value[1])
            if elsewhere
            else _describe_run_difference(entry, result)
        ):
            differing.append((entry.key, data_difference))
        else:
            alike = StoredRun(entry.key, result.value[1], entry.environment)
            agree.append(elsewhere and bool(difference("run", entry, alike)))
    return RerunReport(len(agree), sorted(differing), left_out, sum(agree))


def _read_entry(store: Store, key: str) -> StoredRun | None:
    try:
        stat_entry = store.stat_entry("run", key)
    except DamagedFileError:
        return None
    return None if stat_entry is None else stat_entry[0]


def _refusal_reason(entry: StoredRun, modules: Collection[str], reads: Collection[str]) -> str:
    """Return why a run cannot be made again; empty if it can."""
    run = entry.run
    try:
        plan = PlannedRun.from_json(entry.notes.get("plan", {}))
    except InputError:
        return "stored without its plan"
    if (plan.problem, plan.algorithm, plan.seed) != (run.problem, run.algorithm, run.seed):
        return "stored with the plan of another run"
    if any(module_name(name) not in modules for name in list_user_code_names(plan.user_selectors)):
        return "of somebody's own modules, which are not imported"
    named = [
        file_reference
        for text in (plan.problem, plan.algorithm)
        for file_reference in list_file_names(text)
    ]
    if any(PurePath(name).as_posix() not in reads for name in named):
        return "of a file that its selector names, which is not opened"
    return ENDED_BY_A_CLOCK if run.status in BY_THE_CLOCK else ""


def _describe_environment_difference(
    entry: StoredRun,
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
    if not isinstance(named, list) or not all(is_builtin(str(m)) or m in modules for m in named):
        return "made by another source"
    same = sources(frozenset(named)) == source["digest"]
    return "" if same else "made by another source"


def list_file_names(selector: str) -> list[str]:
    """Return what a selector may name files by: paths, and whatever is an `edition`."""
    texts = Selector.parse(replace_file_by_module(selector)).texts.items()
    return [text for name, text in texts if name == "edition" or {"/", "\\"} & set(text)]


def _rerun_plan(plan: PlannedRun, environment: Mapping[str, str]) -> tuple[str, Run, str]:
    """Return the key of a run, the run, made here, and the digest of its problem."""
    with limit_memory(MOST_MEMORY), use_single_thread():
        key, digest = (
            compute_keys([plan], environment)[plan].key,
            resolve(plan).built_problem.digest,
        )
        return key, execute_plan(plan), digest


def drop_file_paths(plan: PlannedRun) -> PlannedRun:
    """Return a plan with MODULE:NAME for FILE.py:NAME, wherever the files lie."""
    return replace(
        plan,
        problem=replace_file_by_module(plan.problem),
        algorithm=replace_file_by_module(plan.algorithm),
        measures=tuple(map(replace_file_by_module, plan.measures)),
    )


def _describe_run_difference(entry: StoredRun, result: TaskResult) -> str:
    """Return in what a run that was made again differs from the stored one; empty if in nothing."""
    key, run, _ = result.value
    if key != entry.key:
        return "key, which is that of another run"
    return difference("run", entry, StoredRun(key, run, entry.environment)) or ""


def _describe_data_difference(
    entry: StoredRun, result: TaskResult, fields: Mapping[str, Any]
) -> str:
    """Return that the data of a run's problem are not the archive's, and what may have changed."""
    digests = {
        replace_file_by_module(text): digest for text, digest in fields.get("problems", {}).items()
    }
    problem = replace_file_by_module(entry.run.problem)
    if digests.get(problem) in (None, result.value[2]):
        return ""
    reads = ", ".join(fields.get("reads", {}))
    return f"data: {problem} has another digest" + (
        f" (its author's code reads {reads})" * (":" in problem and bool(reads))
    )


def describe_difference(recorded: Run, recomputed: Run, tolerance: float = TOLERANCE) -> str:
    """Return in which status, count or measure a run differs; empty if in none.

    Parameters
    ----------
    tolerance
        By how much of the largest of its column a measure may differ.
    """
    counted, counted_fields = _collect_counted_fields(recorded), _collect_counted_fields(recomputed)
    text = next((name for name, value in counted.items() if value != counted_fields[name]), "")
    return text or trace_difference(recorded, recomputed, tolerance) or ""


def _collect_counted_fields(run: Run) -> dict[str, Any]:
    return {**run.counts.as_dict(), "iterations": run.iterations, "status": run.status}
