"""Recomputation of stored runs, and comparison of the results.

A hash proves that a file is unchanged, not that its run was ever executed. A run that is recomputed
with the same versions on the same machine must have the stored counts and trace, bit for bit; only
times may differ.
"""

import multiprocessing
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from pfbench.base.selectors import Selector, replace_file_by_module
from pfbench.base.status import Status
from pfbench.runs.engines.engine import use_single_thread
from pfbench.runs.engines.run_task import execute_plan, limit_memory
from pfbench.runs.loop.run import Run
from pfbench.runs.planning.plan import PlannedRun, build_or_reuse, list_user_code_names
from pfbench.runs.storage.maintenance import difference, trace_difference
from pfbench.runs.storage.serialization import StoredRun, make_run, run_fields

MOST_MEMORY = 4e9
"""Bytes by which recomputed runs may increase the memory of their process."""

TOLERANCE = 1e-6
"""Largest allowed difference of a measure on another machine, relative to its column's maximum."""

BY_THE_CLOCK = frozenset({Status.TIMEOUT, Status.KILLED})
"""Statuses of runs that a time limit or an interruption ended: they are not reproducible."""


def run_plans(plans: Sequence[PlannedRun], folder: str = "") -> list[Any]:
    """Execute planned runs; return each as JSON data, with the digest of its problem.

    If a folder of code is given, confined processes build and run the algorithms, so that this
    process imports no user-defined code.
    """
    # A worker is a daemon, which may start no process; what is started here ends with it.
    multiprocessing.current_process().daemon = False
    results = []
    with limit_memory(MOST_MEMORY), use_single_thread():
        for plan in plans:
            run = execute_plan(plan, None, folder)
            digest = build_or_reuse(plan.problem).digest
            results.append([run_fields(run), [*run.columns], [*run.rows], digest])
    return results


def has_builtin_problem_and_measures(plan: PlannedRun) -> bool:
    """Return whether problem, measures and target of a run are all built-in."""
    target = () if plan.stop is None else (plan.stop.measure,)
    return not list_user_code_names((plan.problem, *plan.measures, *target))


def parse_run_and_problem_digest(answer: Any) -> tuple[Run, str]:
    """Return the run and the problem's digest, given one of the results of `run_plans`.

    Raises
    ------
    ValueError, TypeError, LookupError
        If the answer has another form.
    """
    fields, columns, rows, digest = answer
    return make_run(fields, columns, [tuple(row) for row in rows]), str(digest)


def values_like_file_names(selector: str) -> list[str]:
    """Return the values in a selector that may name files: values with slashes, and `edition`."""
    texts = Selector.parse(replace_file_by_module(selector)).texts.items()
    return [text for name, text in texts if name == "edition" or {"/", "\\"} & set(text)]


def replace_files_by_modules(plan: PlannedRun) -> PlannedRun:
    """Return a planned run in whose selectors MODULE:NAME replaces FILE.py:NAME."""
    return replace(
        plan,
        problem=replace_file_by_module(plan.problem),
        algorithm=replace_file_by_module(plan.algorithm),
        measures=tuple(map(replace_file_by_module, plan.measures)),
    )


def first_difference_name(recorded: Run, recomputed: Run, *, exact: bool) -> str:
    """Return the name of the first difference of two runs; empty if they agree.

    Unless `exact` is true, only status and counts must be equal, and measures must agree up to
    `TOLERANCE`.
    """
    counted, now = _count_fields(recorded), _count_fields(recomputed)
    text = next((name for name, value in counted.items() if value != now[name]), "")
    if text:
        return text
    if exact:
        entries = (StoredRun("", run, {}) for run in (recorded, recomputed))
        return difference("run", *entries) or ""
    return trace_difference(recorded, recomputed, TOLERANCE) or ""


def _count_fields(run: Run) -> dict[str, Any]:
    return {**run.counts.as_dict(), "iterations": run.iterations, "status": run.status}
