"""One run: the loop that drives an algorithm, counts, measures, and says how it ended."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from time import perf_counter
from typing import Any, cast

import numpy as np
from threadpoolctl import threadpool_limits

from pfbench.algorithms.base import parameters_of
from pfbench.base.assumptions import ASSUMPTIONS, unmet
from pfbench.base.checks import integer, real
from pfbench.base.counts import Budget
from pfbench.base.errors import (
    BudgetExhausted,
    Diverged,
    InputError,
    PfbenchError,
    Refused,
    StalePoint,
    TimeLimitReached,
)
from pfbench.base.protocols import Algorithm, Backend, Choice, Measure, Problem, Renewing
from pfbench.base.selectors import Selector
from pfbench.base.state import Point, State
from pfbench.kernels.compiled import CompilationClock
from pfbench.measures import BRACKETS, available, gradient_mapping_lambda, named
from pfbench.measures.own import OwnMeasure
from pfbench.oracles import Ledger, Oracles
from pfbench.points import is_finite, keep
from pfbench.runs.loop.checkpoint import Checkpoint
from pfbench.runs.loop.renewal import Keeper, Stands, keeper, resumed
from pfbench.runs.loop.run import STATUSES, TRACE_COLUMNS, Run
from pfbench.runs.loop.stop import Stop
from pfbench.sets.nuclear import CERTIFICATE_FAILURE

_DEFINED_ONCE = frozenset({"fw_gap", "gradient_mapping_sq"})
"""Measures that are undefined at every point of a problem if they are at its start."""

_KINDS = {
    "smooth": "is for problems without set and penalty",
    "set": "is for problems with a feasible set",
}

_STREAMS = {"algorithm": 1, "output": 2, "oracles": 3}


def stream(seed: int, purpose: str) -> np.random.Generator:
    """Return the random stream of one purpose; it depends on the user's seed and nothing else."""
    return np.random.default_rng(np.random.SeedSequence((seed, _STREAMS[purpose])))


def solve(
    problem: Problem,
    algorithm: Choice | Algorithm,
    *,
    seed: int = 0,
    budget: Budget | None = None,
    stop: Stop | None = None,
    time_limit: float | None = None,
    measures: str | Sequence[str] | Mapping[str, Measure] = (),
    every: int = 1,
    start: Point = None,
    watch: Callable[[int], object] | None = None,
    ledger: Ledger | None = None,
    checkpoint: bool = False,
    resume: Run | None = None,
) -> Run:
    """Run an algorithm on a problem.

    Parameters
    ----------
    problem
        From `pfbench.problem`, or an object with the same interface.
    algorithm
        From `pfbench.algorithm`, or an algorithm with its parameters.
    seed
        Seed of the algorithm, at least 0; the problem's data have a seed of their own.
    budget
        Most oracle calls; the run stops before the call that would exceed it.
    stop
        Target at which the run stops; it is looked at in every recorded row.
    time_limit
        Seconds, on the clock that stands still during measures and compilation.
    measures
        Names, or functions of (problem, state) by name, to record in the trace.
    every
        Record a row each `every` iterations (and the first and the last).
    start
        Start point in the set; the problem's own if not given.
    watch
        Is told the number of iterations after each one, while the clock stands still.
    ledger
        A fresh ledger of the same budget, for a caller that reads the counts while the run goes on.
    checkpoint
        Whether the run is to have a checkpoint, from which it can be extended.
    resume
        A run of the same problem, algorithm, seed and measures to go on from, with its checkpoint;
        budget and time limit are those of the whole run, and no smaller than it has spent.

    Returns
    -------
    Run
        However the run ended: see its status.

    Raises
    ------
    InputError
        If an argument is out of range, a name is unknown, or nothing would ever end the run.
    Refused
        If the problem lacks an oracle that the algorithm asks, or a constant of its schedule, or
        is not known to meet what the theorem of its schedule assumes.
    """
    integer("seed", seed, least=0)
    integer("every", every, least=1)
    if time_limit is not None:
        real("time_limit", time_limit, above=0.0)
    x0 = problem.start() if start is None else keep(start)
    if start is not None and not problem.set.contains(x0):
        raise InputError("the start point is outside the feasible set: project it first.")
    chosen, schedule = resolved(problem, algorithm, x0)
    if isinstance(measures, str):
        measures = [measures]
    recorded = dict(measures) if isinstance(measures, Mapping) else named(problem, list(measures))
    if stop is not None and stop.measure not in recorded:
        recorded |= named(problem, [stop.measure])
    for name in recorded:
        if name in TRACE_COLUMNS:
            raise InputError(f"{name!r} is a column of every trace: call the measure otherwise.")
    check_ends(chosen, budget, stop, time_limit)
    ledger = ledger or Ledger(budget)
    driver = _Driver(problem, chosen, ledger, recorded, stop, time_limit, every, watch)
    streams = {purpose: stream(seed, purpose) for purpose in _STREAMS}
    backend = problem.open(streams["oracles"])
    check_offered(problem, backend, chosen)
    keeps = keeper(problem, chosen, backend, streams)
    driver.keeper = keeps if checkpoint else None
    ask = Oracles(backend, ledger, problem.set.diameter)
    if resume is None:
        states = chosen.run(ask, keep(x0), streams["algorithm"])
    else:
        at = _checked(resume, keeps, chosen, recorded, seed, every)
        _check_longer(resume, chosen, ledger)
        origin = driver.go_on(resume, at, *resumed(at, problem, backend, streams))
        renewing = cast("Renewing", chosen)
        states = renewing.run_from(ask, origin, streams["algorithm"], at.iterations)
    # More BLAS threads would only spin beside the compiled loops, and change the last bits.
    with threadpool_limits(1, user_api="blas"):
        status, reason = driver.drive(states, x0, streams["output"])
        taken = driver.checkpoint() if _by_a_limit(status, chosen) else None
        final = driver.final_measures()
    if driver.failed:
        status, reason, taken = "error", driver.failed, None
    return Run(
        problem=str(Selector(problem.name, problem.parameters)),
        algorithm=str(Selector(chosen.name, _given(algorithm, chosen))),
        parameters=parameters_of(chosen),
        schedule=schedule,
        seed=seed,
        status=status,
        stop_reason=reason,
        iterations=driver.iterations,
        counts=ledger.counts(),
        final=final,
        seconds=driver.seconds,
        oracle_seconds=max(0.0, ledger.seconds - driver.compiling),
        failure_probability=driver.certificates * CERTIFICATE_FAILURE,
        columns=driver.columns,
        rows=driver.table(),
        unmet=unmet(getattr(chosen, "assumes", ()), problem),
        own_output=driver.own_output,
        x=driver.output,
        checkpoint=taken,
    )


def resolved(problem: Problem, algorithm: Choice | Algorithm, x0: Point) -> tuple[Algorithm, str]:
    """Return the algorithm with its parameters for this problem and start, and its schedule.

    Raises
    ------
    InputError
        If a parameter is missing or out of range.
    Refused
        If the theorem's schedule lacks a constant, or assumes what the problem is not known to
        meet; with explicit parameters, and in the practical schedule, it may.
    """
    if not isinstance(algorithm, Choice):
        return algorithm, "explicit"
    lacking = unmet(algorithm.assumes, problem)
    if lacking and algorithm.schedule == "theory":
        words = " and ".join(f"{name} ({ASSUMPTIONS[name]})" for name in lacking)
        raise Refused(
            f"the theorem of {algorithm.name} assumes {words}, which {problem.name} is not known "
            "to meet: give its parameters explicitly instead of epsilon."
        )
    return algorithm.resolve(problem.constants(x0))


def check_offered(problem: Problem, backend: Backend, algorithm: Algorithm) -> None:
    """Refuse an algorithm that requires what the problem does not offer."""
    lacks = problem.lacks
    for verb in sorted(getattr(algorithm, "asks", algorithm.requires)):
        if verb in lacks:
            wants = _KINDS.get(verb, f"asks for {verb}")
            raise Refused(
                f"{algorithm.name} {wants}, but {problem.name} does not fit: {lacks[verb]}."
            )
        if verb not in _KINDS and not hasattr(backend, verb):
            raise Refused(f"{algorithm.name} asks for {verb}, which {problem.name} does not offer.")


def check_ends(
    algorithm: Algorithm, budget: Budget | None, stop: Stop | None, time_limit: float | None
) -> None:
    """Refuse a run that nothing would ever end."""
    limited = budget is not None and budget.limited
    if getattr(algorithm, "endless", False) and not limited and stop is None and time_limit is None:
        raise InputError(
            f"{algorithm.name} without iterations never ends: give iterations, a budget, a target "
            "or a time limit."
        )


def _by_a_limit(status: str, algorithm: Algorithm) -> bool:
    """Return whether a run may have been ended by a limit: from outside, or its `iterations`."""
    anytime = getattr(algorithm, "anytime", False)
    return status in ("budget", "timeout") or (status == "finished" and anytime)


def _checked(
    run: Run,
    keeps: Keeper | None,
    algorithm: Algorithm,
    measures: Mapping[str, Measure],
    seed: int,
    every: int,
) -> Checkpoint:
    """Return the checkpoint of a run that is to be extended, refused if it is another run's."""
    at = run.checkpoint
    if at is None or keeps is None:
        raise InputError(
            f"this run of {algorithm.name} can not be extended: it has no checkpoint, or nothing "
            "goes on from one; make it again."
        )
    columns = [*TRACE_COLUMNS, *measures]
    theirs = [
        name
        for name in run.columns
        if name.removesuffix("_lower") not in measures or name in measures
    ]
    name = run.algorithm.partition("[")[0]
    different = {
        "algorithm": ":" not in name and name != algorithm.name,
        "end than its checkpoint": at.seconds_at_end != run.seconds,
        "seed": run.seed != seed,
        "every": at.every != every,
        "measures": set(theirs) != set(columns),
        "parameters": limitless(algorithm, run.parameters)
        != limitless(algorithm, parameters_of(algorithm)),
    }
    for name, differs in different.items():
        if differs:
            raise InputError(f"the run to extend has another {name}: give the same, or no resume.")
    keeps.begun = at
    return at


def _check_longer(run: Run, algorithm: Algorithm, ledger: Ledger) -> None:
    """Refuse limits below what the run that is to be extended has spent."""
    most = getattr(algorithm, "iterations", None)
    spent = zip(run.counts.as_dict().values(), ledger.limits, strict=True)
    if (most is not None and run.iterations > most) or any(made > limit for made, limit in spent):
        raise InputError(
            "the run to extend has gone further than this budget, or these iterations, allow: give "
            "more, or no resume."
        )


def limitless(algorithm: Any, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return an algorithm's parameters but for `iterations`, where that is a limit like a budget.

    What JSON has no form for is text, as in a stored run.
    """
    limit = {"iterations"} if getattr(algorithm, "anytime", False) else set()
    return {name: plain(value) for name, value in parameters.items() if name not in limit}


def plain(value: Any) -> Any:
    """Return what JSON has a form for as it is, anything else as text."""
    return value if value is None or isinstance(value, (bool, int, float, str)) else str(value)


def _given(algorithm: Choice | Algorithm, chosen: Algorithm) -> Mapping[str, Any]:
    if isinstance(algorithm, Choice):
        return algorithm.parameters
    return {name: value for name, value in parameters_of(chosen).items() if value is not None}


class _Driver:
    """The loop of one run: its clock, its trace, its output."""

    def __init__(
        self,
        problem: Problem,
        algorithm: Algorithm,
        ledger: Ledger,
        measures: dict[str, Measure],
        stop: Stop | None,
        time_limit: float | None,
        every: int,
        watch: Callable[[int], object] | None,
    ) -> None:
        self.problem = problem
        self.weight = getattr(algorithm, "output_weight", None)
        if algorithm.output != "weighted":
            self.weight = _uniform if algorithm.output == "uniform" else None
        self.total_weight = 0.0
        self.ledger = ledger
        self.measures = measures
        self.stop = stop
        self.time_limit = time_limit
        self.every = every
        self.watch = watch
        self.iterations = 0
        self.seconds = 0.0
        self.compiling = 0.0
        self.certificates = 0
        self.brackets = set(BRACKETS)
        self.undefined: set[str] = set()
        self.failed = ""
        self.rows: list[dict[str, Any]] = []
        self.output: Point = None
        self.own_output = False
        self.keeper: Keeper | None = None
        self.resumed: Checkpoint | None = None

    def go_on(self, run: Run, at: Checkpoint, x: Point, output: Point) -> Point:
        """Stand where a run stood at its checkpoint; return the point that it goes on from."""
        self.iterations, self.seconds = at.iterations, at.seconds
        self.total_weight, self.own_output = at.total_weight, run.own_output is not False
        self.ledger.go_on(at.counts, at.oracle_seconds)
        self.rows = [dict(zip(run.columns, row, strict=True)) for row in run.rows]
        # What was recorded at the very end is right as long as no iteration is added.
        self.resumed = at
        if run.iterations == at.iterations:
            self._stand(len(run.rows), run.columns, at.certificates_at_end)
        else:
            self._leave_the_checkpoint()
        self.x, self.output, self.state = x, output, State(x)
        self._arrive()
        return output if at.from_output else x

    def _leave_the_checkpoint(self) -> None:
        """Drop what was measured after it."""
        assert self.resumed is not None
        at, self.resumed = self.resumed, None
        self._stand(at.rows, at.columns, at.certificates)

    def _stand(self, rows: int, columns: Sequence[str], certificates: int) -> None:
        """Have the trace end after some rows of these columns."""
        del self.rows[rows:]
        self.brackets = {*BRACKETS, *(name for name in self.measures if f"{name}_lower" in columns)}
        self.certificates = certificates

    def _note(self, state: State) -> None:
        """Note where the run stands, if it renews here and somebody wants to know."""
        if self.keeper is not None and self.keeper.renews(self.iterations):
            seconds = self.ledger.seconds - self.compiling
            measured = len(self.rows), self.certificates
            drawn = self.total_weight, state.output is not None
            self.keeper.note(Stands(self.arrival, seconds, *measured, *drawn), state.x, self.output)

    def checkpoint(self) -> Checkpoint | None:
        """Return the checkpoint of a run that has ended by a limit, None if there is none."""
        if self.keeper is None:
            return None
        return self.keeper.checkpoint(
            self.every, self.columns, self.rows, self.certificates, self.seconds
        )

    def drive(
        self, states: Iterator[State], x0: Point, rng: np.random.Generator
    ) -> tuple[str, str]:
        """Run to the end; return the status and its reason."""
        ended = self._begin(x0) if self.iterations == 0 else None
        try:
            ended = ended or self._loop(states, rng)
        except KeyboardInterrupt:
            ended = "killed", "interrupted by the user"
        if self.rows[-1]["iteration"] != self.arrival[0]:
            ended = self._record(self.state) or ended
        return ended

    def _begin(self, x0: Point) -> tuple[str, str] | None:
        """Record the start."""
        self.x = self.output = x0
        self.state = State(x0)
        self._arrive()
        ended = self._record(self.state)
        if self.stop is not None and self.stop.measure in self.undefined & _DEFINED_ONCE:
            raise InputError(
                f"{self.stop.measure} is not defined on {self.problem.name} as it is: choose "
                "another measure as the target."
            )
        return ended

    def _loop(self, states: Iterator[State], rng: np.random.Generator) -> tuple[str, str]:
        ended: tuple[str, str] | None = None
        with CompilationClock(self._extend_deadline) as compilation:
            while not ended:
                compiled = compilation.seconds
                started = perf_counter()
                if self.time_limit is not None:
                    self.ledger.deadline = started + self.time_limit - self.seconds
                ended, new = self._advance(states)
                self.compiling += compilation.seconds - compiled
                self.seconds += perf_counter() - started - (compilation.seconds - compiled)
                if new is None:
                    break
                if self.resumed is not None:
                    self._leave_the_checkpoint()
                self.iterations += 1
                if not is_finite(new.x):
                    ended = (
                        "diverged",
                        f"the iterate of iteration {self.iterations} is not finite",
                    )
                    break
                self.state, self.x = new, new.x
                self._arrive()
                self._choose_output(new, rng)
                if self.watch is not None:
                    self.watch(self.iterations)
                if self.iterations % self.every == 0:
                    ended = self._record(new)
                self._note(new)
                if not ended and self.time_limit is not None and self.seconds > self.time_limit:
                    ended = self._timeout()
        assert ended is not None
        return ended

    def _arrive(self) -> None:
        """Note what it took to come to the newest complete iterate."""
        self.arrival = (self.iterations, *self.ledger.spent, self.seconds)

    def _extend_deadline(self, seconds: float) -> None:
        self.ledger.deadline += seconds

    def _advance(self, states: Iterator[State]) -> tuple[tuple[str, str] | None, State | None]:
        try:
            state = next(states)
        except StopIteration:
            return ("finished", STATUSES["finished"]), None
        except BudgetExhausted as limit:
            return ("budget", str(limit)), None
        except TimeLimitReached:
            return self._timeout(), None
        except Diverged as problem:
            return ("diverged", str(problem)), None
        except KeyboardInterrupt:
            return ("killed", "interrupted by the user"), None
        except PfbenchError as error:
            return ("error", str(error)), None
        except Exception as error:
            return ("error", f"{type(error).__name__}: {error}"), None
        if self.ledger.ended:
            return ("budget", self.ledger.ended), None
        if not isinstance(state, State):
            return ("error", f"the algorithm yielded a {type(state).__name__}, not a State"), None
        return None, state

    def _timeout(self) -> tuple[str, str]:
        return "timeout", f"the time limit of {self.time_limit:g} s was reached"

    def _choose_output(self, state: State, rng: np.random.Generator) -> None:
        """Keep the declared output: the state's own, a draw, or (at the end) the last x."""
        if state.output is not None:
            self.output, self.own_output = state.output, True
        elif self.weight is not None:
            weight = self.weight(self.iterations)
            self.total_weight += weight
            if rng.random() * self.total_weight < weight:
                self.output = keep(state.x if state.at is None else state.at)
        else:
            self.output = None

    def _record(self, state: State) -> tuple[str, str] | None:
        """Append a trace row; return the status if it reaches the target."""
        row = dict(zip(TRACE_COLUMNS, self.arrival, strict=True))
        self.rows.append(row)
        reached = None
        for name, measure in self.measures.items():
            lower, upper = self._measured(name, measure, state)
            row[name] = math.nan if upper is None else upper
            if upper is None:
                self.undefined.add(name)
            if lower is not None:
                row[f"{name}_lower"] = lower
                self.brackets.add(name)
            if self.stop is None or name != self.stop.measure or upper is None:
                continue
            if upper <= self.stop.target:
                reached = ("target", f"{name} = {upper:.6g} is at most {self.stop.target:g}")
        return ("error", self.failed) if self.failed else reached

    def _measured(
        self, name: str, measure: Measure, state: State
    ) -> tuple[float | None, float | None]:
        """Return the lower end, if there is one, and the value; None where it is not defined.

        A measure that raises ends the run.
        """
        try:
            result = measure(self.problem, state)
        except (Diverged, StalePoint):
            return None, None
        except Exception as error:
            kind = "" if isinstance(error, PfbenchError) else f"{type(error).__name__}: "
            self.failed = self.failed or f"the measure {name} failed: {kind}{error}"
            return None, None
        if not isinstance(result, tuple):
            return None, result
        # Nobody knows how sure somebody's own interval is.
        self.certificates += result[0] != result[1] and not isinstance(measure, OwnMeasure)
        return result

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the trace."""
        names = list(TRACE_COLUMNS)
        for name in self.measures:
            names += [name, f"{name}_lower"] if name in self.brackets else [name]
        return tuple(names)

    def table(self) -> list[tuple[Any, ...]]:
        """Return the rows of the trace in the order of the columns."""
        return [tuple(row.get(name, math.nan) for name in self.columns) for row in self.rows]

    def final_measures(self) -> dict[str, float | None]:
        """Return all measures at the declared output."""
        self.output = keep(self.x if self.output is None else self.output)
        state = State(self.output)
        final: dict[str, float | None] = {}
        measures = available(self.problem)
        measures |= {name: m for name, m in self.measures.items() if isinstance(m, OwnMeasure)}
        for name, measure in measures.items():
            if name == "estimator_error":
                continue
            lower, upper = self._measured(name, measure, state)
            final[name] = _finite(upper)
            if lower is not None or name in BRACKETS:
                final[f"{name}_lower"] = _finite(lower)
        mapped = final["gradient_mapping_sq"] is not None
        lam = gradient_mapping_lambda(self.problem, state) if mapped else None
        return final | {"gradient_mapping_lambda": lam}


def _uniform(iteration: int) -> float:
    return 1.0


def _finite(number: float | None) -> float | None:
    return number if number is not None and math.isfinite(number) else None
