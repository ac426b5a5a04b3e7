"""Execution of one planned run in any process."""

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
from pfbench.base.files import call_and_record_files
from pfbench.base.selectors import Selector
from pfbench.base.status import Status
from pfbench.oracles import Ledger
from pfbench.runs.engines.workers import TaskResult, send_numbers_to_parent
from pfbench.runs.loop.drive import NO_MEMORY, drive
from pfbench.runs.loop.isolated import as_json_parameters
from pfbench.runs.loop.run import TRACE_COLUMNS, Run
from pfbench.runs.planning.plan import PlannedRun, resolve_with_problem_copy
from pfbench.runs.storage.content_keys import check_worker_source

GRACE = 0.4
"""A run is killed when it exceeds its time limit by 5 % plus this number of seconds."""


def execute_plan(
    plan: PlannedRun, source: Mapping[str, Any] | None = None, folder: str = ""
) -> Run:
    """Execute a planned run and return it; a run that raises is returned with an error status.

    In a worker process, the run shares its oracle counts with the parent process, so that they are
    known if the parent kills the run.

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
    # The point is not stored; parameters of a user's method without a form in JSON become text.
    return replace(run, x=None, problem=plan.problem, parameters=as_json_parameters(run.parameters))


def execute_and_digest_files(
    plan: PlannedRun, source: Mapping[str, Any] | None = None
) -> tuple[Run, dict[str, str]]:
    """Execute a planned run; return it with digests of the files that user-defined code read."""
    if not plan.user_code_name:
        return execute_plan(plan, source), {}
    return call_and_record_files(execute_plan, plan, source)


def _resolve_and_drive(plan: PlannedRun, source: Mapping[str, Any] | None, folder: str) -> Run:
    resolved = resolve_with_problem_copy(plan, folder)
    if resolved.resolved_run_or_none is None:
        return make_unfinished_run(plan, Status.REFUSED, resolved.refusal)
    if source is not None:
        check_worker_source(source)
    return drive(
        resolved.resolved_run_or_none,
        _LedgerTellingParentDeadline(plan),
        seed=plan.seed,
        every=plan.every,
        stop=plan.stop,
        time_limit=plan.time_limit,
        # Its clock stands still: no deadline, then `TRACE_COLUMNS`.
        watch=lambda progress: send_numbers_to_parent([math.inf, *progress.costs]),
    )


class _LedgerTellingParentDeadline(Ledger):
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
        send_numbers_to_parent([monotonic() + deadline - perf_counter() + self._grace])

    def stop_clock(self) -> None:
        """Stop the clock, and share an infinite deadline."""
        if self.deadline != math.inf:
            send_numbers_to_parent([math.inf])
        super().stop_clock()


def make_unfinished_run(
    plan: PlannedRun, status: str, reason: str, shared_numbers: Sequence[float] = ()
) -> Run:
    """Return a run without a result, but with its seed, its counts and the reason why it ended.

    Parameters
    ----------
    shared_numbers
        Last numbers that the run shared with its parent: the deadline, then the values of
        `TRACE_COLUMNS` after the last complete iteration.
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
    """Return the run that a worker executed, or an unfinished run with the reason if it failed."""
    if result.status == "done":
        run: Run = result.value
        planned, identity = _run_key(plan), _run_key(run)
        if planned == identity:
            return run
        reason = f"its worker executed the run {identity} in place of the planned {planned}"
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
    """Limit how much this process's memory grows in the block (Linux only); None: no limit."""
    if max_growth_bytes is None or sys.platform != "linux":
        yield
        return
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    used = int(Path("/proc/self/statm").read_text("ascii").split()[0]) * resource.getpagesize()
    limit = int(used + max_growth_bytes)
    limit = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
    resource.setrlimit(resource.RLIMIT_AS, (limit, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
