"""Execution of one planned run in any process, and its result."""

import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from time import monotonic, perf_counter
from typing import Any

from pfbench.base.counts import Counts
from pfbench.base.errors import WorkerDied, format_error
from pfbench.base.file_watch import call_and_record_files
from pfbench.base.selectors import Selector
from pfbench.base.status import Status
from pfbench.oracles import Ledger
from pfbench.runs.engines.workers import TaskResult, share_numbers_with_parent
from pfbench.runs.loop.drive import NO_MEMORY, drive
from pfbench.runs.loop.run import TRACE_COLUMNS, Run
from pfbench.runs.planning.plan import PlannedRun
from pfbench.runs.planning.resolve import as_json_parameters, resolve_with_problem_copy
from pfbench.runs.storage.content_keys import check_source

GRACE = 0.4
"""Seconds that a run may exceed its limit, beyond a twentieth of it, before it is killed."""


def execute_plan(
    plan: PlannedRun, source: Mapping[str, Any] | None = None, folder: str = ""
) -> Run:
    """Execute a run; an exception becomes the status of the returned run.

    In a worker process, the run shares its progress, so that its counts are known if it is killed.

    Parameters
    ----------
    source
        Note on the source that the run's key covers, if a worker must have equal source; see
        `pfbench.runs.storage.content_keys.source_note`.
    folder
        Folder with the code of the algorithm, if a confined process runs it; else empty.

    Raises
    ------
    KeyboardInterrupt
        If the user interrupted the run.
    """
    try:
        with limit_memory(plan.memory_limit):
            run = _resolve_and_drive(plan, source, folder)
    except WorkerDied as error:
        return make_unfinished_run(plan, Status.KILLED, str(error))
    except Exception as error:
        statement = format_error(error)
        if isinstance(error, MemoryError):
            statement = NO_MEMORY.format(statement)
        run = make_unfinished_run(plan, "error", statement)
    if run.status == Status.KILLED:
        raise KeyboardInterrupt
    if plan.memory_limit is None and run.stop_reason.startswith(NO_MEMORY.format("")[:-1]):
        run = replace(
            run, status=Status.KILLED
        )  # a limit of this machine says nothing of the method
    # The point is not stored, and of somebody's own parameters what JSON has no form for is text.
    return replace(run, x=None, problem=plan.problem, parameters=as_json_parameters(run.parameters))


def make_run_with_file_digests(
    plan: PlannedRun, source: Mapping[str, Any] | None = None
) -> tuple[Run, dict[str, str]]:
    """Execute a run; return it with digests of the files that its user-defined code has read."""
    if not plan.user_code_name:
        return execute_plan(plan, source), {}
    return call_and_record_files(execute_plan, plan, source)


def _resolve_and_drive(plan: PlannedRun, source: Mapping[str, Any] | None, folder: str) -> Run:
    resolved = resolve_with_problem_copy(plan, folder)
    if resolved.resolved_run_or_none is None:
        return make_unfinished_run(plan, Status.REFUSED, resolved.refusal)
    if source is not None:
        check_source(source)
    return drive(
        resolved.resolved_run_or_none,
        _DeadlineSharingLedger(plan),
        seed=plan.seed,
        every=plan.every,
        stop=plan.stop,
        time_limit=plan.time_limit,
        # Its clock stands still: no deadline, then `TRACE_COLUMNS`.
        watch=lambda progress: share_numbers_with_parent([math.inf, *progress.costs]),
    )


class _DeadlineSharingLedger(Ledger):
    """Ledger that shares the deadline of the run with the parent process.

    While the run's clock is stopped, for a measure or a compilation, the deadline is infinite.
    """

    __slots__ = ("_grace",)

    def __init__(self, plan: PlannedRun) -> None:
        super().__init__(plan.budget)
        self._grace = GRACE + (plan.time_limit or 0.0) / 20.0

    def start_clock(self, deadline: float) -> None:
        """Start the clock, and share the deadline."""
        super().start_clock(deadline)
        share_numbers_with_parent([monotonic() + deadline - perf_counter() + self._grace])

    def stop_clock(self) -> None:
        """Stop the clock, and share an infinite deadline."""
        if self.deadline != math.inf:
            share_numbers_with_parent([math.inf])
        super().stop_clock()


def make_unfinished_run(
    plan: PlannedRun, status: str, reason: str, shared_numbers: Sequence[float] = ()
) -> Run:
    """Return the record of a run without result: its seed, its counts so far, and the reason.

    Parameters
    ----------
    shared_numbers
        Numbers that the run shared last: the deadline, then `TRACE_COLUMNS` after its last complete
        iteration.
    """
    *counted, seconds = shared_numbers[1:] or [0.0] * len(TRACE_COLUMNS)
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
        rows=[(iterations, *counts, seconds)] if status != Status.REFUSED else [],
    )


def run_from_result(plan: PlannedRun, result: TaskResult) -> Run:
    """Return the run of a worker's task, or a record of its failure."""
    if result.status == "done":
        run: Run = result.value
        planned, identity = _run_key(plan), _run_key(run)
        if planned == identity:
            return run
        reason = f"its worker made another run: {identity} in place of {planned}"
        return make_unfinished_run(plan, Status.KILLED, reason)
    status, reason = Status.ERROR, result.reason
    if result.status == Status.TIMEOUT:
        status, limit = Status.TIMEOUT, f"the time limit of {plan.time_limit:g} s was reached"
        reason = f"{limit}, and the run, which did not stop by itself, was killed"
    elif result.status == "lost":
        status = Status.KILLED
        reason += f", {result.retries + 1} times" if result.retries else ""
    return make_unfinished_run(plan, status, reason, result.shared_numbers)


def _run_key(run: PlannedRun | Run) -> tuple[str, str, int]:
    return run.problem, run.algorithm, run.seed


@contextmanager
def limit_memory(max_growth_bytes: float | None) -> Iterator[None]:
    """Limit the growth of this process's memory in the block, on Linux; None sets no limit."""
    if max_growth_bytes is None or sys.platform != "linux":
        yield
        return
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    product = int(Path("/proc/self/statm").read_text("ascii").split()[0]) * resource.getpagesize()
    max_count = int(product + max_growth_bytes)
    resource.setrlimit(
        resource.RLIMIT_AS,
        (max_count if hard == resource.RLIM_INFINITY else min(max_count, hard), hard),
    )
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
