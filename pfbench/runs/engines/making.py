"""Making one planned run in whatever process this is, and saying what became of it."""

import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from copy import deepcopy
from dataclasses import dataclass, field, replace
from functools import lru_cache
from time import monotonic, perf_counter
from typing import Any

from numba.core.event import Event, Listener, install_listener

from pfbench.algorithms.base import parameters_of
from pfbench.algorithms.catalogue import AlgorithmChoice
from pfbench.base.counts import COUNTED, Counts
from pfbench.base.errors import InputError, PfbenchError, Refused, WorkerDied
from pfbench.base.protocols import Algorithm, Measure, Problem
from pfbench.base.selectors import Selector
from pfbench.measures import named
from pfbench.oracles import Ledger
from pfbench.runs.engines.workers import NOTES, Result, note
from pfbench.runs.loop.run import TRACE_COLUMNS, Run
from pfbench.runs.loop.solve import (
    check_ends,
    check_offered,
    limitless,
    plain,
    resolved,
    solve,
    stream,
)
from pfbench.runs.planning.selecting import chosen_algorithm, chosen_measures, chosen_problem
from pfbench.runs.planning.study import PlannedRun, own_names
from pfbench.runs.storage.keys import check_source, run_key

GRACE = 0.4
"""Seconds, and a twentieth of its limit, that a run gets to end by itself before it is killed."""

_DEADLINE, _ITERATIONS, _SECONDS, _COUNTS = 0, 1, 2, 3
"""What a run notes: its deadline, and where it stands (see `pfbench.runs.engines.workers.note`)."""

assert _COUNTS + len(COUNTED) == NOTES


@dataclass(frozen=True, eq=False)
class Resolved:
    """What the selectors and names of a planned run stand for.

    Attributes
    ----------
    problem, digest
        The problem, and the hash of its data.
    choice
        The algorithm as `solve` takes it.
    chosen
        The algorithm with its parameters; None if the run is refused.
    measures
        The recorded measures by name.
    refusal
        Why the run is refused, in words; empty if it is not.
    """

    problem: Problem
    digest: str
    choice: AlgorithmChoice | Algorithm
    chosen: Algorithm | None
    measures: Mapping[str, Measure]
    refusal: str = ""

    def key(
        self,
        plan: PlannedRun,
        environment: Mapping[str, str],
        sources: Any,
        *,
        limited: bool = True,
    ) -> str:
        """Return the content key of a run; see `run_key`.

        Parameters
        ----------
        limited
            False: whatever its `iterations` are, where these are a limit like a budget.
        """
        limits: dict[str, Any] = {"every": plan.every}
        if plan.budget is not None:
            limits["budget"] = plan.budget.limits
        if plan.stop is not None:
            limits["stop"] = [plan.stop.measure, plan.stop.target]
        if plan.time_limit is not None:
            limits["time_limit"] = plan.time_limit
        if plan.memory_limit is not None:
            limits["memory_limit"] = plan.memory_limit
        chosen: Any = self.chosen or self.choice
        parameters = (
            {"refused": chosen.selector}
            if isinstance(chosen, AlgorithmChoice)
            else parameters_of(chosen)
        )
        if not isinstance(self.choice, AlgorithmChoice):
            # Only a dataclass says what its parameters are.
            parameters = {**Selector.parse(plan.algorithm).parameters, **parameters}
        if not limited:
            parameters = limitless(chosen, parameters)
        return run_key(
            self.problem,
            chosen,
            parameters,
            seed=plan.seed,
            limits=limits,
            measures=self.measures,
            environment=environment,
            digest=self.digest,
            own=own_names(plan.own),
            sources=sources,
        )


def resolve(plan: PlannedRun) -> Resolved:
    """Build what a run's selectors and names stand for.

    A combination that does not fit is returned as refused.

    Raises
    ------
    InputError
        If a name is unknown, a parameter wrong, or nothing would ever end the run.
    DataError
        If the problem's data are missing or damaged.
    """
    built = _built(plan.problem)
    # Neither changes what the names stand for.
    common = replace(plan, seed=0, every=1)
    if common not in built.known:
        built.known[common] = _resolve(common, built)
    return built.known[common]


@dataclass(frozen=True, eq=False)
class _Built:
    """A problem with the hash of its data, and what has been resolved on it."""

    problem: Problem
    digest: str
    known: dict[PlannedRun, Resolved] = field(default_factory=dict)


@lru_cache(maxsize=4)
def _built(text: str) -> _Built:
    """Return a problem; few are kept, because they may be large."""
    made = chosen_problem(text)
    return _Built(made, made.digest)


def _resolve(plan: PlannedRun, on: _Built) -> Resolved:
    built, choice = on.problem, chosen_algorithm(plan.algorithm)
    measures = chosen_measures(built, plan.measures)
    if plan.stop is not None and plan.stop.measure not in measures:
        measures |= named(built, [plan.stop.measure])
    try:
        chosen, _ = resolved(built, choice, built.start())
        check_offered(built, built.open(stream(plan.seed, "oracles")), chosen)
    except Refused as error:
        return Resolved(built, on.digest, choice, None, measures, str(error))
    check_ends(chosen, plan.budget, plan.stop, plan.time_limit)
    return Resolved(built, on.digest, choice, chosen, measures)


# --- making it ------------------------------------------------------------------------------------


def make(
    plan: PlannedRun, begun: Run | None = None, source: Mapping[str, Any] | None = None
) -> Run:
    """Make a run; whatever happens in it, say so in the run that is returned.

    In a worker process, it notes how far it is, so that its counts are known if it is killed.

    Parameters
    ----------
    begun
        A shorter run of its family, with its checkpoint, to go on from.
    source
        The note on the source that its key covers, if a worker is to have the same.

    Raises
    ------
    KeyboardInterrupt
        If the user interrupted the run.
    """
    try:
        with _memory_limited(plan.memory_limit):
            run = _solve(plan, begun, source)
    except WorkerDied as error:
        return unfinished(plan, "killed", str(error))
    except MemoryError as error:
        return unfinished(plan, "error", f"not enough memory ({error})")
    except PfbenchError as error:
        return unfinished(plan, "error", str(error))
    except Exception as error:
        return unfinished(plan, "error", f"{type(error).__name__}: {error}")
    if run.status == "killed":
        raise KeyboardInterrupt
    # The point is not stored, and of somebody's own parameters what JSON has no form for is text.
    parameters = {name: plain(value) for name, value in run.parameters.items()}
    return replace(
        run, x=None, algorithm=plan.algorithm, problem=plan.problem, parameters=parameters
    )


def _solve(plan: PlannedRun, begun: Run | None, source: Mapping[str, Any] | None) -> Run:
    there = resolve(plan) if not _may_change_its_problem(plan) else _resolved_apart(plan)
    if there.refusal:
        return unfinished(plan, "refused", there.refusal)
    if source is not None:
        check_source(source)
    if begun is not None:
        with suppress(InputError):
            return _run(plan, there, begun)
    return _run(plan, there, None)


def _may_change_its_problem(plan: PlannedRun) -> bool:
    """Return whether somebody's own problem or measure takes part in a run."""
    stop = () if plan.stop is None else (plan.stop.measure,)
    return any(":" in Selector.parse(text).name for text in (plan.problem, *plan.measures, *stop))


def _resolved_apart(plan: PlannedRun) -> Resolved:
    """Resolve a run on a problem of its own, so that it leaves nothing behind for the next one."""
    built = _built(plan.problem)
    try:
        problem = deepcopy(built.problem)
    except Exception:  # of whatever kind, where somebody's object can not be copied
        problem = chosen_problem(plan.problem)
    return _resolve(plan, _Built(problem, built.digest))


def _run(plan: PlannedRun, there: Resolved, begun: Run | None) -> Run:
    ledger = _NotingLedger(plan)
    with install_listener("numba:compiler_lock", _Compiling(ledger)):
        return solve(
            there.problem,
            there.choice,
            seed=plan.seed,
            budget=plan.budget,
            stop=plan.stop,
            time_limit=plan.time_limit,
            measures=there.measures,
            every=plan.every,
            watch=ledger.reached,
            ledger=ledger,
            checkpoint=True,
            resume=begun,
        )


class _NotingLedger(Ledger):
    """A ledger that notes when the run must have ended, and after each iteration where it is.

    `solve` sets the deadline whenever the run's clock starts; while the clock stands still (for a
    measure, for the compilation of a loop) the run cannot be late.
    """

    __slots__ = ("_deadline", "_grace", "_limit", "_running", "compiled")

    def __init__(self, plan: PlannedRun) -> None:
        self._limit = plan.time_limit or math.inf
        self._grace = GRACE + self._limit / 20.0
        self._deadline, self._running = math.inf, False
        self.compiled = 0.0
        super().__init__(plan.budget)

    @property
    def deadline(self) -> float:
        """As of a `Ledger`."""
        return self._deadline

    @deadline.setter
    def deadline(self, time: float) -> None:
        # After a compilation, `solve` moves the deadline by its length: that starts no clock.
        moved = self.compiled > 0.0 and abs(time - self._deadline - self.compiled) < 1e-3
        self.compiled = 0.0
        self._deadline = time
        self._running = self._running if moved else time != math.inf
        self.note(running=self._running)

    def note(self, *, running: bool) -> None:
        """Note when the run is late; never, while its clock stands still."""
        left = self._deadline - perf_counter() + self._grace if running else math.inf
        note([monotonic() + left])

    def reached(self, iterations: int) -> None:
        """Note how far the run is; its clock stands still."""
        self._running = False
        note([math.inf, iterations, self._limit - self._deadline + perf_counter(), *self.spent])


class _Compiling(Listener):
    """Lets the clock of a run stand still while loops are compiled."""

    def __init__(self, ledger: _NotingLedger) -> None:
        self._ledger = ledger
        self._started: list[float] = []

    def on_start(self, event: Event) -> None:
        """Stop the clock."""
        self._started.append(perf_counter())
        self._ledger.note(running=False)

    def on_end(self, event: Event) -> None:
        """Say how long the outermost compilation took."""
        started = self._started.pop()
        if not self._started:
            self._ledger.compiled = perf_counter() - started


@contextmanager
def _memory_limited(limit: float | None) -> Iterator[None]:
    """Let this process grow by so many bytes, where the system can limit that."""
    before = None
    if limit is not None and sys.platform == "linux":
        import resource

        before = resource.getrlimit(resource.RLIMIT_AS)
        most = int(_held() + limit)
        if before[1] != resource.RLIM_INFINITY:
            most = min(most, before[1])
        resource.setrlimit(resource.RLIMIT_AS, (most, before[1]))
    try:
        yield
    finally:
        if before is not None:
            resource.setrlimit(resource.RLIMIT_AS, before)


def _held() -> int:
    """Return the bytes of address space that this process holds (Linux)."""
    import resource

    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[0]) * resource.getpagesize()


# --- a run that did not come to its end -----------------------------------------------------------


def unfinished(plan: PlannedRun, status: str, reason: str, noted: Sequence[float] = ()) -> Run:
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
        seconds = noted[_SECONDS] if math.isfinite(noted[_SECONDS]) else 0.0
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


def of_result(plan: PlannedRun, result: Result) -> Run:
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
        return unfinished(plan, "timeout", reason, known)
    if result.status == "lost":
        often = f", {result.retries + 1} times" if result.retries else ""
        return unfinished(plan, "killed", f"{result.reason}{often}", known)
    return unfinished(plan, "error", result.reason, known)
