"""The objective less the least that is known: how far a run is from the best."""

from dataclasses import replace

from pfbench.runs.loop.run import Run

OBJECTIVE, SUBOPTIMALITY = "objective", "suboptimality"
"""The column that it is computed from, and the one that it becomes."""


def add_suboptimality(run: Run, best_known: float | None) -> Run:
    """Return a run with its suboptimality as a further column, at each row and at the output.

    It is negative where a run has found a better point than was known: that is no error, and is
    shown. Without a known value, or an objective in the trace, the run stays as it is.
    """
    if best_known is None or OBJECTIVE not in run.columns or SUBOPTIMALITY in run.columns:
        return run
    index = run.columns.index(OBJECTIVE)
    rows = [(*row, None if row[index] is None else row[index] - best_known) for row in run.rows]
    last = run.final.get(OBJECTIVE)
    final = {**run.final, SUBOPTIMALITY: None if last is None else last - best_known}
    return replace(run, columns=(*run.columns, SUBOPTIMALITY), rows=rows, final=final)
