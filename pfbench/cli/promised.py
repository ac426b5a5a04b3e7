"""What the theorem of a schedule promises, beside what was measured."""

import statistics
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pfbench.cli.tables import Line
from pfbench.cli.words import number, plural

if TYPE_CHECKING:
    from pfbench.algorithms.promise import Promise
    from pfbench.base.protocols import Problem
    from pfbench.runs.loop.ready import Ready
    from pfbench.runs.loop.run import Run


def promised(ready: "Ready", runs: "Sequence[Run]") -> dict[str, Any] | None:
    """Return what is promised of a run, and what was measured at the outputs of runs.

    None where the parameters are not those of a theorem, or it has no number.
    """
    found = ready.promised
    if found is None:
        return None
    promise, bound = found
    values = [_measured(promise, ready.problem, run) for run in runs]
    known = [value for value in values if value is not None]
    return {
        "criterion": promise.criterion,
        "most": promise.most,
        "of": promise.where,
        "bound": bound,
        "measure": promise.measure or None,
        "measured": statistics.fmean(known) if known else None,
        "whole": all(run.status == "finished" for run in runs),
    }


def promised_lines(found: dict[str, Any] | None, runs: int) -> list[Line]:
    """Return the same as people read it."""
    if found is None:
        return []
    from pfbench.algorithms.promise import WHERE

    bound = f"{found['criterion']} <= {found['most']} = {number(found['bound'])}"
    told = "not known" if found["measured"] is None else number(found["measured"])
    at = "the output" if runs == 1 else f"the outputs, in the mean of {plural(runs, 'run')}"
    early = "" if found["whole"] else "; the promise is of the whole schedule, which was cut short"
    return [("promised", f"{bound}: {WHERE[found['of']]}"), ("measured", f"{told} at {at}{early}")]


def _measured(promise: "Promise", problem: "Problem", run: "Run") -> float | None:
    """Return the promised quantity at the output of a run."""
    value = run.final.get(promise.measure)
    if promise.measure == "excess":
        best, reached = problem.best_known, run.final.get("objective")
        value = None if best is None or reached is None else max(0.0, reached - best[0])
    return None if value is None else float(value) ** promise.power
