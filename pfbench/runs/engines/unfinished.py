"""What a run notes while it is made, and its row where it does not come to its end."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from pfbench.base.counts import COUNTED, Counts
from pfbench.base.selectors import Selector
from pfbench.runs.engines.workers import Result, note
from pfbench.runs.loop.drive import Progress
from pfbench.runs.loop.run import TRACE_COLUMNS, Run
from pfbench.runs.planning.plan import PlannedRun

_ITERATIONS, _SECONDS, _COUNTS = 1, 2, 3
"""Places of what a run notes after its deadline (see `pfbench.runs.engines.workers.note`)."""


def note_progress(at: Progress) -> None:
    """Note how far a run is whose clock stands still."""
    iterations, *counts, seconds = at.arrival
    note([math.inf, iterations, seconds, *counts])


def unfinished_run(plan: PlannedRun, status: str, reason: str, noted: Sequence[float] = ()) -> Run:
    """Return the row of a run that has no result: its seed, its counts so far, and the reason.

    Parameters
    ----------
    noted
        What the run noted before it was ended; its last complete iteration.
    """
    far = [0] * (1 + len(COUNTED))
    seconds = 0.0
    if noted:
        far = [int(noted[_ITERATIONS]), *(int(count) for count in noted[_COUNTS:])]
        seconds = noted[_SECONDS]
    parameters: Mapping[str, Any] = Selector.parse(plan.algorithm).parameters
    return Run(
        problem=plan.problem,
        algorithm=plan.algorithm,
        parameters=dict(parameters),
        schedule="theory" if "epsilon" in parameters else "explicit",
        seed=plan.seed,
        status=status,
        stop_reason=reason,
        iterations=far[0],
        counts=Counts(*far[1:]),
        final={},
        seconds=seconds,
        oracle_seconds=0.0,
        failure_probability=0.0,
        columns=TRACE_COLUMNS,
        rows=[(*far, seconds)] if status != "refused" else [],
    )


def run_of(plan: PlannedRun, result: Result) -> Run:
    """Return the run of a task that a worker made, or what is known of it."""
    if result.status == "done":
        run: Run = result.value
        return run
    counted = result.notes[_ITERATIONS] > 0 if result.notes else False
    known = result.notes if counted else ()
    if result.status == "timeout":
        reason = (
            f"the time limit of {plan.time_limit:g} s was reached, and the run, which did not "
            "stop by itself, was killed"
        )
        return unfinished_run(plan, "timeout", reason, known)
    if result.status == "lost":
        often = f", {result.retries + 1} times" if result.retries else ""
        return unfinished_run(plan, "killed", f"{result.reason}{often}", known)
    return unfinished_run(plan, "error", result.reason, known)
