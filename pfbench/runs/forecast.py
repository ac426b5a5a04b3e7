"""Forecast of a run's iterations, time and memory from a short trial."""

import statistics
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from time import perf_counter
from typing import Any

from pfbench.base.counts import Budget
from pfbench.base.status import Status
from pfbench.oracles import Ledger
from pfbench.points.atoms import max_atoms
from pfbench.runs.loop.drive import drive
from pfbench.runs.loop.resolved_run import ResolvedRun
from pfbench.runs.loop.run import Run
from pfbench.runs.planning.plan import PlannedRun
from pfbench.runs.planning.resolve import resolve

TRIALS = (1.0, 8.0, 64.0)
"""Time limits of the trials in seconds; the next is tried after fewer than two iterations."""


@dataclass(frozen=True, eq=False)
class Forecast:
    """Forecast of a run.

    Attributes
    ----------
    trial
        The short run on which the forecast is based.
    iterations
        Maximum number of iterations; None if only a target or the time limit ends the run.
    seconds
        Estimated time without measures and compilation; None if unknown.
    bytes
        Estimated peak memory of this process; None if the system does not report it.
    """

    trial: Run
    iterations: int | None
    seconds: float | None
    bytes: int | None


def forecast(
    run: ResolvedRun, *, seed: int, budget: Budget | None, time_limit: float | None
) -> Forecast:
    """Estimate iterations, seconds and memory of a run from a short trial with its seed."""
    quiet = replace(run, measures={})
    trial, _ = _run_first_sufficient_trial(quiet, budget, TRIALS, seed=seed)
    is_complete = trial.status != Status.TIMEOUT
    iterations = trial.iterations if is_complete else _count_expected_iterations(run, budget, trial)
    seconds = trial.seconds if is_complete else _estimate_seconds(run.algorithm, iterations, trial)
    if time_limit is not None and seconds is not None:
        seconds = min(seconds, time_limit)
    return Forecast(trial, iterations, seconds, _estimate_memory(run.problem.shape, iterations))


def _run_first_sufficient_trial(
    run: ResolvedRun, budget: Budget | None, time_limits: Sequence[float], **overrides: Any
) -> tuple[Run, float]:
    """Return the first trial that ends or has two iterations, and its wall time in seconds."""
    for length in time_limits:
        began = perf_counter()
        trial = drive(run, Ledger(budget), time_limit=length, **overrides)
        wall = perf_counter() - began
        if trial.status != Status.TIMEOUT or trial.iterations > 1:
            break
    return trial, wall


def run_trial(plan: PlannedRun) -> dict[str, Any]:
    """Run a short trial of a planned run in a worker; return its forecast as JSON."""
    resolved = resolve(plan)
    if resolved.resolved_run_or_none is None:
        return {"refused": resolved.refusal, "seconds": 0.0}
    result = forecast(
        resolved.resolved_run_or_none,
        seed=plan.seed,
        budget=plan.budget,
        time_limit=plan.time_limit,
    )
    return {
        "iterations": result.iterations,
        "seconds": plan.time_limit if result.seconds is None else result.seconds,
        "bytes": result.bytes,
        "status": result.trial.status,
        "stop_reason": result.trial.stop_reason,
    }


def _count_expected_iterations(run: ResolvedRun, budget: Budget | None, trial: Run) -> int | None:
    """Return the iterations that schedule and budget allow; None if neither limits them."""
    limits: list[float] = []
    if run.iteration_count is not None:
        limits.append(run.iteration_count)
    if budget is not None and trial.iterations:
        # The last row, since the counts of the trial include those of an iteration cut short.
        row = dict(zip(trial.columns, trial.rows[-1], strict=True))
        limits += [
            limit * row["iteration"] // row[name]
            for name, limit in budget.limits.items()
            if row[name]
        ]
    return int(min(limits)) if limits else None


def _estimate_seconds(algorithm: Any, iterations: int | None, trial: Run) -> float | None:
    """Return the estimated seconds of all iterations; the first one of an epoch may be longer."""
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
    median = statistics.median(steps[1:]) if len(steps) > 1 else steps[0]
    return iterations * (median + (steps[0] - median) / period)


def _estimate_memory(shape: Sequence[int], iterations: int | None) -> int | None:
    """Return the peak memory of this process so far, plus that of the atoms of a matrix."""
    try:
        import resource
    except ModuleNotFoundError:
        return None
    unit = 1 if sys.platform == "darwin" else 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
    if len(shape) == 1:
        return peak
    atoms = min(max_atoms((shape[0], shape[1])), iterations or sys.maxsize)
    # The list of atoms doubles when it is full.
    return peak + 2 * 8 * atoms * sum(shape)
