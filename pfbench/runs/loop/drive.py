"""Loop of one run: it iterates an algorithm, enforces limits and sets the status."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np

from pfbench.algorithms.base import get_parameters
from pfbench.base.errors import (
    BudgetExhausted,
    DivergedError,
    FailedBeforeFirstQuery,
    InputError,
    SourceLocation,
    TimeLimitReached,
    add_location,
    format_error,
    is_raised_within,
    locate_error,
)
from pfbench.base.selectors import Selector
from pfbench.base.state import Point, State, describe_wrong_state
from pfbench.base.status import Status
from pfbench.kernels.libraries import single_blas_thread
from pfbench.oracles import Ledger, restrict_oracles
from pfbench.points import is_finite, keep
from pfbench.runs.loop.resolved_run import ResolvedRun
from pfbench.runs.loop.run import COMPLETED, Run, Stop
from pfbench.runs.loop.steps import Steps
from pfbench.runs.loop.trace import Trace
from pfbench.sets.nuclear import CERTIFICATE_FAILURE

_DEFINED_ONCE = frozenset({"fw_gap", "gradient_mapping_sq"})
"""Measures that are undefined everywhere on a problem if they are undefined at its start."""

IN_PLACE = (
    "the method changes yielded points in place, so pfbench copied each one; create a new array "
    "for each iterate: x = x - step * g, not x -= step * g"
)
"""Note about a method that changes a yielded point in place."""

NO_MEMORY = "not enough memory ({})"
"""Reason of a run that a MemoryError ended."""

Ending = tuple[str, str]
"""Status, and its reason in words."""

INTERRUPTED: Ending = (Status.KILLED, "interrupted by the user")


def drive(
    resolved_run: ResolvedRun,
    ledger: Ledger,
    *,
    seed: int,
    every: int = 1,
    stop: Stop | None = None,
    time_limit: float | None = None,
    watch: "Callable[[RunProgress], object] | None" = None,
    strict: bool = False,
) -> Run:
    """Execute a resolved run, and return its result.

    Parameters
    ----------
    resolved_run
        The resolved run.
    ledger
        A new ledger with the run's budget.
    seed, every, stop, time_limit
        As in `pfbench.solve`.
    watch
        Called with the progress after each iteration, while the clock is stopped.
    strict
        Whether to raise if the method raises before its first oracle call; otherwise the run has
        the status "error".

    Raises
    ------
    InputError
        If the target's measure is not defined on the problem.
    FailedBeforeFirstQuery
        If `strict`, and the method raises before its first oracle call.
    RefusedError
        If the problem lacks an oracle that the algorithm queries.
    """
    steps = Steps(
        resolved_run.problem,
        resolved_run.algorithm,
        seed=seed,
        start=resolved_run.start,
        ledger=ledger,
        bundle=restrict_oracles(resolved_run.asks),
        wrap=resolved_run.check_requirements,
    )
    progress = RunProgress(resolved_run, steps, every, stop, time_limit, watch, strict)
    # What overflows ends the run as diverged: a warning says less, and as an error it hides that.
    with single_blas_thread(), np.errstate(all="ignore"):
        return progress.make_run(seed, *progress.follow())


@dataclass(eq=False)
class RunProgress:
    """Run in progress: its limits, and everything that its loop changes.

    The first seven attributes are arguments of `drive`, and the steps of the run.

    Attributes
    ----------
    state
        The newest complete iterate.
    output
        The output so far; None if that is the last iterate.
    iterations
        Number of yielded states.
    seconds
        Time without measures and compilation, in seconds.
    compilation_seconds
        Time of the compilation, in seconds.
    costs
        Iterations, counts and seconds up to the newest complete iterate.
    yields_output
        Whether the method yields its output in the states, instead of the declared rule.
    total_weight
        The sum of the weights of the points from which the output is drawn.
    """

    run: ResolvedRun
    steps: Steps
    every: int
    stop: Stop | None
    time_limit: float | None
    watch: "Callable[[RunProgress], object] | None"
    strict: bool
    iterations: int = 0
    seconds: float = 0.0
    compilation_seconds: float = 0.0
    costs: tuple[Any, ...] = ()
    yields_output: bool = False
    total_weight: float = 0.0
    error_location: SourceLocation | None = None
    note: str = ""
    first: Point = None

    def __post_init__(self) -> None:
        self.ledger, self.output = self.steps.ledger, self.steps.start
        self.state = State(self.output)
        self.weight = _output_weight_function(self.run.algorithm)
        self.trace = Trace(self.run.problem, self.run.measures)

    def make_run(self, seed: int, status: str, reason: str) -> Run:
        """Return the run, with its measures at the output, after it ended with a status."""
        run, trace = self.run, self.trace
        # What else the last state holds may be as large as the problem.
        self.state = State(self.state.x if self.output is None else self.output)
        self.state = State(keep(self.state.x))
        final = trace.output_measures(self.state)
        if trace.failure and status != Status.ERROR:
            status, reason = Status.ERROR, trace.failure
        elif final["objective"] is None and status in COMPLETED:
            status, reason = Status.DIVERGED, "the objective at the output is not finite"
        if status == Status.ERROR or (status == Status.DIVERGED and not self.costs[0]):
            final = dict.fromkeys(final)  # what was measured, as of the start, is no result
        return Run(
            problem=str(Selector(run.problem.name, run.problem.parameters)),
            algorithm=run.selector,
            parameters=get_parameters(run.algorithm),
            schedule=run.schedule,
            seed=seed,
            status=status,
            stop_reason=reason,
            iterations=self.iterations,
            counts=self.ledger.counts(),
            final=final,
            seconds=self.seconds,
            oracle_seconds=max(0.0, self.ledger.seconds - self.compilation_seconds),
            failure_probability=trace.certificates * CERTIFICATE_FAILURE,
            columns=trace.columns,
            rows=trace.table(),
            unmet_assumptions=run.unmet_assumptions,
            yields_output=self.yields_output,
            error_location=self.error_location,
            note=self.note,
            x=self.state.x,
        )

    def follow(self) -> Ending:
        """Run the method to its end; return the run's final status and the reason for it."""
        self._store_costs()
        ended = self._record_iterate()
        undefined = self.trace.undefined & _DEFINED_ONCE if not ended else set()
        if self.stop is not None and self.stop.measure in undefined:
            raise InputError(
                f"the measure {self.stop.measure} is not defined on {self.run.problem.name}: "
                "choose another measure as the target."
            )
        try:
            ended = ended or self._follow_states()
        except KeyboardInterrupt:
            ended = INTERRUPTED
        first, x = self.first, self.state.x
        if self.iterations == 1 and first is not None and not np.array_equal(x, first):
            self.state, self.note = self.state._replace(x=first), IN_PLACE
        if self.trace.rows[-1]["iteration"] != self.costs[0]:
            ended = self._record_iterate() or ended
        return ended

    def _follow_states(self) -> Ending:
        from pfbench.kernels.numba_hooks import CompilationClock

        limit = self.time_limit
        new: State | Ending | None
        with CompilationClock(self._stop_clock, self._restart_clock) as compilation:
            while True:
                compiled = compilation.seconds
                if self.trace.point_measures:
                    # What else the last state holds may be as large as the problem.
                    new, self.state = None, State(self.state.x)
                started = perf_counter()
                if limit is not None:
                    self.ledger.start_clock(started + limit - self.seconds)
                new = self._advance()
                took = perf_counter() - started
                if limit is not None:
                    self.ledger.stop_clock()
                if compilation.seconds != compiled:
                    self.compilation_seconds += compilation.seconds - compiled
                    took -= compilation.seconds - compiled
                self.seconds += took
                ended = self._take_state(new) if isinstance(new, State) else new
                if ended:
                    return ended

    def _take_state(self, new: State) -> Ending | None:
        """Make a yielded state the newest iterate; return a status if the run ends here."""
        self.iterations += 1
        if wrong := self._describe_invalid_part(new):
            return Status.ERROR, f"iteration {self.iterations} yields {wrong}"
        if not is_finite(new.x):
            return Status.DIVERGED, f"the iterate of iteration {self.iterations} is not finite"
        self.state = self._copy_if_mutated(new)
        self._store_costs()
        self._update_random_output(new)
        if self.watch is not None:
            self.watch(self)
        ended = self._record_iterate() if self.iterations % self.every == 0 else None
        if not ended and self.time_limit is not None and self.seconds > self.time_limit:
            ended = self._timeout_ending()
        return ended

    def _stop_clock(self) -> None:
        """Stop the clock of the run while code is compiled."""
        self.deadline = self.ledger.deadline
        self.ledger.stop_clock()

    def _restart_clock(self, compilation_seconds: float) -> None:
        """Restart the clock after a compilation; extend the deadline by the compilation time."""
        self.ledger.start_clock(self.deadline + compilation_seconds)

    def _store_costs(self) -> None:
        """Store the iterations, counts and seconds up to the newest complete iterate."""
        self.costs = (self.iterations, *self.ledger.counts_array, self.seconds)

    def _advance(self) -> State | Ending:
        try:
            state = next(self.steps.states)
        except StopIteration:
            finished = Status.FINISHED, Status.FINISHED.end_reason
            empty = Status.ERROR, "the algorithm yielded no State"
            # The algorithm may have caught the exception of a limit.
            return self._find_limit_ending() or (finished if self.iterations else empty)
        except BudgetExhausted:
            return self._budget_ending()
        except TimeLimitReached:
            return self._timeout_ending()
        except DivergedError as problem:
            return Status.DIVERGED, str(problem)
        except KeyboardInterrupt:
            return INTERRUPTED
        except (Exception, SystemExit, GeneratorExit) as error:
            self.error_location = locate_error(error)
            if self.strict and not (self.iterations or any(self.ledger.counts_array)):
                self._raise_failed_before_first_query(error)
            statement = format_error(error)
            if isinstance(error, MemoryError):
                statement = NO_MEMORY.format(statement)
            return Status.ERROR, statement
        if ended := self._find_limit_ending():
            return ended
        if not isinstance(state, State):
            return Status.ERROR, describe_wrong_state(state)
        return state

    def _raise_failed_before_first_query(self, error: BaseException) -> None:
        """Raise `FailedBeforeFirstQuery`, unless the error is from an invalid oracle call."""
        if not is_raised_within(error, "oracles"):
            error_text = add_location(format_error(error), self.error_location)
            name = self.run.algorithm.name
            raise FailedBeforeFirstQuery(
                f"{name} fails before its first oracle call: {error_text}"
            ) from error

    def _copy_if_mutated(self, new: State) -> State:
        """Return the new state, with a copy of x if the method overwrites yielded arrays.

        The method overwrites arrays if a state has the same array as the state before it, but with
        other entries. From then on, each x is copied.
        """
        x = new.x
        if self.iterations == 1 and isinstance(x, np.ndarray):
            self.first = x.copy()
        elif self.first is not None and not self.note:
            if x is self.state.x and not np.array_equal(x, self.first):
                self.note = IN_PLACE
            elif x is not self.state.x:
                self.first = None
        return new._replace(x=x.copy()) if self.note else new

    def _budget_ending(self) -> Ending:
        return "error" if self.ledger.overflowing else "budget", self.ledger.end_reason

    def _find_limit_ending(self) -> Ending | None:
        """Return the ending if an oracle call has exceeded a limit, else None."""
        if self.ledger.end_reason:
            return self._budget_ending()
        return self._timeout_ending() if self.ledger.is_late else None

    def _describe_invalid_part(self, state: State) -> str:
        """Return a message on the first invalid point or gradient in a state, or "" if none."""
        form, is_point = self.steps.form, self.steps.form.is_point
        x, point, estimate, output, _ = state
        reported = (point is None or is_point(point)) and (
            estimate is None or form.is_gradient(estimate)
        )
        if output is None and reported and is_point(x):
            return ""
        for name, part in (("x", state.x), ("at", state.at), ("output", state.output)):
            if (part is not None or name == "x") and not form.is_point(part):
                return f"State.{name}, {form.describe(part)}: points of the problem are {form.points_text}"  # noqa: E501
        if state.estimate is not None and not form.is_gradient(state.estimate):
            text = form.describe(state.estimate)
            return f"State.estimate, {text}: gradients of the problem are {form.gradients_text}"
        return ""

    def _timeout_ending(self) -> Ending:
        return Status.TIMEOUT, f"the time limit of {self.time_limit:g} s was reached"

    def _update_random_output(self, state: State) -> None:
        """Set the output: the state's own if it has one, else a random iterate or None.

        None means that the output is the last iterate.
        """
        if state.output is not None:
            self.output, self.yields_output = state.output, True
        elif self.weight is not None:
            weight = self.weight(self.iterations)
            self.total_weight += weight
            if self.steps.streams["output"].random() * self.total_weight < weight:
                self.output = keep(state.x if state.at is None else state.at)
        else:
            self.output = None

    def _record_iterate(self) -> Ending | None:
        """Record the newest iterate in the trace; return a status if the run ends here, else None.

        The run ends if the iterate reaches the target, or the trace has a failure.
        """
        row = self.trace.record(self.costs, self.state)
        if self.trace.failure:
            return Status.ERROR, self.trace.failure
        if self.stop is None:
            return None
        measure, target = self.stop.measure, self.stop.target
        if -math.inf < row[measure] <= target:
            return Status.TARGET, f"{measure} = {row[measure]:.6g} is at most {target:g}"
        return None


def _output_weight_function(algorithm: Any) -> Callable[[int], float] | None:
    """Return a function from an iteration to its weight in the random choice of the output.

    The result is None if the output is not chosen at random.
    """
    if algorithm.output == "weighted":
        weight: Callable[[int], float] | None = getattr(algorithm, "output_weight", None)
        return weight
    return (lambda iteration: 1.0) if algorithm.output == "uniform" else None
