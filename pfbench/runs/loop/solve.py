"""Single run, as in `pfbench.solve`."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import replace

from pfbench.base.checks import check_integer, check_real
from pfbench.base.counts import Budget
from pfbench.base.protocols import Algorithm, AlgorithmSpec, Measure, Problem
from pfbench.base.state import Point
from pfbench.measures.catalogue import UserMeasure, protect_state
from pfbench.oracles import Ledger
from pfbench.runs.loop.drive import RunProgress, drive
from pfbench.runs.loop.isolated import isolate
from pfbench.runs.loop.resolved_run import resolve_run
from pfbench.runs.loop.run import Run, Stop


def solve(
    problem: Problem,
    algorithm: AlgorithmSpec | Algorithm,
    *,
    seed: int = 0,
    budget: Budget | None = None,
    stop: Stop | None = None,
    time_limit: float | None = None,
    measures: str | Sequence[str] | Mapping[str, Measure] = (),
    every: int = 1,
    start: Point = None,
    isolated: bool = False,
    strict: bool = False,
    watch: Callable[[RunProgress], object] | None = None,
) -> Run:
    """Run an algorithm on a problem.

    Parameters
    ----------
    problem, algorithm, seed, budget, stop, time_limit, measures, every, start
        As in `pfbench.solve`, after names, texts and classes are converted to objects.
    isolated
        Run the method in a separate process, without access to the problem: each oracle call is a
        message. Counts and iterates are the same, bit for bit, but each message takes one to six
        milliseconds. The algorithm's class must be a dataclass at the top of a module, which the
        other process imports. This process reads only plain data from the other.
    strict
        Raise if the method raises before its first oracle call, as `pfbench.solve` does.
    watch
        Called with the progress after each iteration; an exception that it raises ends the run.

    Raises
    ------
    InputError, RefusedError
        As for `pfbench.solve`.
    """
    seed = check_integer("seed", seed, minimum=0)
    check_integer("every", every, minimum=1)
    if time_limit is not None:
        check_real("time_limit", time_limit, above=0.0)
    if isinstance(measures, Mapping):
        measures = {name: _protect_run_from_measure(measure) for name, measure in measures.items()}
    made_ready = resolve_run(problem, algorithm, measures, stop=stop, start=start)
    made_ready.check_termination(budget, stop, time_limit)
    with ExitStack() as stack:
        if isolated:
            remote = stack.enter_context(closing(isolate(made_ready.algorithm)))
            made_ready = replace(made_ready, algorithm=remote)
        return drive(
            made_ready,
            Ledger(budget),
            seed=seed,
            every=every,
            stop=stop,
            time_limit=time_limit,
            strict=strict,
            watch=watch,
        )


def _protect_run_from_measure(measure: Measure) -> Measure:
    """Return a measure that cannot change the run; a measure that is no function is returned."""
    if not callable(measure) or isinstance(measure, UserMeasure):
        return measure
    return lambda problem, state: measure(problem, protect_state(state))
