"""Guarantee of a schedule's theorem, with the measured values."""

import statistics
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pfbench.base.status import Status
from pfbench.cli.formatting import format_number, format_plural
from pfbench.cli.terminal_tables import Line

if TYPE_CHECKING:
    from pfbench.algorithms.guarantee import Guarantee
    from pfbench.base.protocols import Problem
    from pfbench.runs.loop.resolved_run import ResolvedRun
    from pfbench.runs.loop.run import Run


def guarantee_record(resolved_run: "ResolvedRun", runs: "Sequence[Run]") -> dict[str, Any] | None:
    """Return the guarantee of a run, and the values measured at the outputs of runs.

    Return None unless the parameters follow from epsilon by a theorem with a guarantee.
    """
    guarantee = resolved_run.guarantee
    if guarantee is None:
        return None
    promise, bound = guarantee
    values = [_measure_guarantee(promise, resolved_run.problem, run) for run in runs]
    existing = [value for value in values if value is not None]
    return {
        "criterion": promise.criterion,
        "bound_formula": promise.bound_text,
        "iterate": promise.location,
        "bound": bound,
        "measure": promise.measure or None,
        "measured": statistics.fmean(existing) if existing else None,
        "full_schedule": all(run.status == Status.FINISHED for run in runs),
    }


def guarantee_lines(results: dict[str, Any] | None, runs: int) -> list[Line]:
    """Return the guarantee as lines for the terminal."""
    if results is None:
        return []
    from pfbench.algorithms.guarantee import WHERE

    bound = (
        f"{results['criterion']} <= {results['bound_formula']} = {format_number(results['bound'])}"
    )
    text = "not known" if results["measured"] is None else format_number(results["measured"])
    location = (
        "the output" if runs == 1 else f"the outputs, in the mean of {format_plural(runs, 'run')}"
    )
    early = (
        ""
        if results["full_schedule"]
        else "; the guarantee is for the full schedule, which was cut short"
    )
    return [
        ("promised", f"{bound}: {WHERE[results['iterate']]}"),
        ("measured", f"{text} at {location}{early}"),
    ]


def _measure_guarantee(promise: "Guarantee", problem: "Problem", run: "Run") -> float | None:
    """Return the guaranteed quantity at the output of a run; None if it was not measured."""
    value = run.final.get(promise.measure)
    if promise.measure == "excess":
        best, reached = problem.best_known, run.final.get("objective")
        value = None if best is None or reached is None else max(0.0, reached - best[0])
    return None if value is None else float(value) ** promise.power
