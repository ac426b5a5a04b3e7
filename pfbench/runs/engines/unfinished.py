"""What a run notes while it is made, and its row where it does not come to its end."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from pfbench.base.counts import Counts
from pfbench.base.selectors import Selector
from pfbench.runs.engines.workers import Result, note
from pfbench.runs.loop.drive import Progress
from pfbench.runs.loop.run import TRACE_COLUMNS, Run
from pfbench.runs.planning.plan import PlannedRun


def note_progress(at: Progress) -> None:
    """Note how far a run is whose clock stands still: no deadline, then `TRACE_COLUMNS`."""
    note([math.inf, *at.arrival])


def unfinished_run(plan: PlannedRun, status: str, reason: str, noted: Sequence[float] = ()) -> Run:
    """Return the row of a run that has no result: its seed, its counts so far, and the reason.

    Parameters
    ----------
    noted
        What the run noted before it was ended; its last complete iteration.
    """
    *counted, seconds = noted[1:] or [0.0] * len(TRACE_COLUMNS)
    iterations, *counts = map(int, counted)
    parameters: Mapping[str, Any] = Selector.parse(plan.algorithm).parameters
    return Run(
        problem=plan.problem,
        algorithm=plan.algorithm,
        parameters=dict(parameters),
        schedule="theory" if "epsilon" in parameters else "explicit",
        seed=plan.seed,
        status=status,
        stop_reason=reason,
        iterations=iterations,
        counts=Counts(*counts),
        final={},
        seconds=seconds,
        oracle_seconds=0.0,
        failure_probability=0.0,
        columns=TRACE_COLUMNS,
        rows=[(iterations, *counts, seconds)] if status != "refused" else [],
    )


def run_of(plan: PlannedRun, result: Result) -> Run:
    """Return the run of a task that a worker made, or what is known of it."""
    if result.status == "done":
        run: Run = result.value
        return run
    status, reason = "error", result.reason
    if result.status == "timeout":
        status, limit = "timeout", f"the time limit of {plan.time_limit:g} s was reached"
        reason = f"{limit}, and the run, which did not stop by itself, was killed"
    elif result.status == "lost":
        status = "killed"
        reason += f", {result.retries + 1} times" if result.retries else ""
    return unfinished_run(plan, status, reason, result.notes)
