"""One run, as `pfbench.solve` makes it."""

from collections.abc import Mapping, Sequence

from pfbench.base.checks import integer, real
from pfbench.base.counts import Budget
from pfbench.base.protocols import Algorithm, Choice, Measure, Problem
from pfbench.base.state import Point
from pfbench.oracles import Ledger
from pfbench.runs.loop.drive import drive
from pfbench.runs.loop.ready import ready
from pfbench.runs.loop.run import Run
from pfbench.runs.loop.stop import Stop


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
    isolated: bool = False,
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
        Names, or functions of (problem, state) by name, to record in the trace. A function is
        called once for each row, so that it can also tell how far the run has come.
    every
        Record a row each `every` iterations (and the first and the last).
    start
        Start point in the set; the problem's own if not given.
    isolated
        Run the method in a process of its own, which has nothing of the problem: each call is a
        message. Counts and iterates are the same, bit for bit; seconds are not, as a message takes
        one to six milliseconds. The algorithm must be one that another process can import.

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
    made_ready = ready(problem, algorithm, measures, stop=stop, start=start)
    made_ready.check_ends(budget, stop, time_limit)
    return drive(
        made_ready,
        Ledger(budget),
        seed=seed,
        every=every,
        stop=stop,
        time_limit=time_limit,
        isolated=isolated,
    )
