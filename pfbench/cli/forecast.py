"""``pfbench solve --dry-run``: what would run, its memory and its time, from a short trial."""

import math
import statistics
import sys
from collections.abc import Collection
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from pfbench.cli.printing import (
    FAILURES,
    duration,
    fields,
    parameters_in_words,
    plural,
    show,
    size,
    unmet_in_words,
    whole,
)

if TYPE_CHECKING:
    from pfbench.algorithms import AlgorithmChoice
    from pfbench.base.counts import Budget
    from pfbench.base.protocols import Algorithm, Problem
    from pfbench.runs.loop.run import Run
    from pfbench.runs.loop.stop import Stop

TRIALS = (1.0, 8.0, 64.0)
"""Seconds of the trial; the next is taken if not even two iterations were made."""


def forecast(
    problem: "Problem",
    choice: "AlgorithmChoice | Algorithm",
    selector: str,
    *,
    seeds: range,
    budget: "Budget | None",
    stop: "Stop | None",
    time_limit: float | None,
    measures: Collection[str],
) -> dict[str, Any]:
    """Return what would run, as ``--dry-run --json`` prints it; nothing is stored.

    Parameters
    ----------
    selector
        The algorithm's, as it is shown.
    measures
        Names of what is recorded.

    Raises
    ------
    PfbenchError
        If the run would be refused.
    """
    from pfbench.algorithms import parameters_of
    from pfbench.base.assumptions import unmet
    from pfbench.base.selectors import Selector
    from pfbench.measures import named
    from pfbench.runs.loop.solve import check_ends, resolved

    if stop is not None and stop.measure not in measures:
        named(problem, [stop.measure])
    algorithm, schedule = resolved(problem, choice, problem.start())
    check_ends(algorithm, budget, stop, time_limit)
    trial, iterations, seconds = tried(
        problem, algorithm, seed=seeds[0], budget=budget, time_limit=time_limit
    )
    return {
        "schema": 1,
        "problem": str(Selector(problem.name, problem.parameters)),
        "algorithm": selector,
        "parameters": parameters_of(algorithm),
        "schedule": schedule,
        "unmet": list(unmet(getattr(algorithm, "assumes", ()), problem)),
        "seeds": list(seeds),
        "n": problem.n,
        "shape": list(problem.shape),
        "counts": getattr(algorithm, "counts", "not stated"),
        "iterations": iterations,
        "bytes": memory(list(problem.shape), iterations),
        "seconds": seconds,
        "trial": {
            "status": trial.status,
            "stop_reason": trial.stop_reason,
            "iterations": trial.iterations,
            "counts": trial.counts.as_dict(),
            "seconds": trial.seconds,
        },
    }


def tried(
    problem: "Problem",
    algorithm: Any,
    *,
    seed: int,
    budget: "Budget | None",
    time_limit: float | None,
) -> "tuple[Run, int | None, float | None]":
    """Return a short trial of a run, and the iterations and seconds that it lets expect.

    Either is None where it is not known: a target or the time limit alone ends the run.
    """
    from pfbench.runs.loop.solve import solve

    for length in TRIALS:
        trial = solve(problem, algorithm, seed=seed, budget=budget, time_limit=length)
        if trial.status != "timeout" or trial.iterations > 1:
            break
    whole = trial.status != "timeout"
    iterations = trial.iterations if whole else _iterations(algorithm, budget, trial)
    seconds = trial.seconds if whole else _seconds(algorithm, iterations, trial)
    if time_limit is not None and seconds is not None:
        seconds = min(seconds, time_limit)
    return trial, iterations, seconds


def length_of(algorithm: Any) -> int | None:
    """Return how many iterations a schedule has, None where that is not one of its parameters."""
    iterations: int | None = getattr(algorithm, "iterations", None)
    return None if iterations is None else iterations * getattr(algorithm, "runs", 1)


def _iterations(algorithm: Any, budget: "Budget | None", trial: "Run") -> int | None:
    """Return how many iterations schedule and budget allow; None if a target must end the run."""
    limits: list[float] = []
    length = length_of(algorithm)
    if length is not None:
        limits.append(length)
    if budget is not None and trial.iterations:
        # The last row, since the counts of the trial include those of an iteration cut short.
        row = dict(zip(trial.columns, trial.rows[-1], strict=True))
        for name in trial.counts.as_dict():
            limit = getattr(budget, name)
            if row[name] and limit != math.inf:
                limits.append(limit * row["iteration"] // row[name])
    return int(min(limits)) if limits else None


def _seconds(algorithm: Any, iterations: int | None, trial: "Run") -> float | None:
    """Return the time of so many iterations; an epoch's first one may take longer than others."""
    if iterations is None:
        return None
    clock: list[float] = [row[trial.columns.index("seconds")] for row in trial.rows]
    steps = [after - before for before, after in pairwise(clock)]
    if not steps:
        return trial.seconds * iterations
    period: int = getattr(algorithm, "period", 1)
    if len(steps) >= period:
        some = steps[: len(steps) - len(steps) % period]
        return iterations * sum(some) / len(some)
    others = statistics.median(steps[1:]) if len(steps) > 1 else steps[0]
    return iterations * (others + (steps[0] - others) / period)


def memory(shape: list[int], iterations: int | None) -> int | None:
    """Return the peak of this process so far, and what the atoms of a matrix will add to it."""
    try:
        import resource
    except ModuleNotFoundError:
        return None
    unit = 1 if sys.platform == "darwin" else 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
    if len(shape) == 1:
        return peak
    from pfbench.points.factored import most_atoms

    atoms = min(most_atoms((shape[0], shape[1])), iterations or sys.maxsize)
    # The list of atoms doubles when it is full.
    return peak + 2 * 8 * atoms * sum(shape)


def show_forecast(expected: dict[str, Any]) -> None:
    """Print what would run."""
    from pfbench.cli.info import in_words

    seeds, trial = expected["seeds"], expected["trial"]
    ended = ""
    if trial["status"] in FAILURES:
        ended = f", which ended: {trial['status']}, {trial['stop_reason']}"
    iterations, seconds = expected["iterations"], expected["seconds"]
    show(
        fields(
            [
                ("problem", expected["problem"]),
                (
                    "size",
                    f"{in_words(expected['shape'])}, {expected['n']:,} components",
                ),
                ("algorithm", expected["algorithm"]),
                (
                    "schedule",
                    f"{expected['schedule']}: {parameters_in_words(expected['parameters'])}",
                ),
                *unmet_in_words(expected["unmet"]),
                ("counts", expected["counts"]),
                (
                    "runs",
                    f"1, seed {seeds[0]}"
                    if len(seeds) == 1
                    else f"{len(seeds):,}, seeds {seeds[0]} to {seeds[-1]}",
                ),
                ("iterations", _known(iterations, lambda count: f"at most {whole(count)}")),
                ("memory", _known(expected["bytes"], lambda count: f"about {size(count)}")),
                ("time", _known(seconds, lambda number: _time(number, len(seeds)))),
                (
                    "from",
                    f"a trial of {plural(trial['iterations'], 'iteration')} in "
                    f"{duration(trial['seconds'])}{ended}; measures and compilation not included",
                ),
            ]
        )
    )


def _known(value: Any, words: Any) -> str:
    return "not known" if value is None else str(words(value))


def _time(seconds: float, runs: int) -> str:
    each = f"about {duration(seconds)}"
    return each if runs == 1 else f"{each} a run, {duration(seconds * runs)} for all"
