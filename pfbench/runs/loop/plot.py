"""The trace of a run as a curve."""

import math
from typing import TYPE_CHECKING, Any

from pfbench.base.errors import InputError
from pfbench.base.names import unknown
from pfbench.runs.loop.run import TRACE_COLUMNS, Run

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot(
    run: Run, measure: str | None = None, against: str = "sfo", axes: "Axes | None" = None
) -> "Axes":
    """Draw a measure of a run's trace; see `Run.plot`."""
    lower_ends = {f"{name}_lower" for name in run.columns}
    measures = [name for name in run.columns if name not in lower_ends.union(TRACE_COLUMNS)]
    if not measures:
        raise InputError("the trace of this run has no measure: give solve() measures to record.")
    measure = measures[0] if measure is None else measure
    for kind, name, known in (("measure", measure, measures), ("count", against, TRACE_COLUMNS)):
        if name not in known:
            raise unknown(f"{kind} of the trace", name, known)
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise InputError('plot needs matplotlib: pip install "pfbench[report]".') from error
    axes = pyplot.subplots()[1] if axes is None else axes
    calls, upper = _column(run, against), _column(run, measure)
    (line,) = axes.plot(calls, upper, label=f"{run.algorithm}, seed {run.seed}")
    drawn = upper
    if f"{measure}_lower" in run.columns:
        lower = _column(run, f"{measure}_lower")
        axes.fill_between(calls, lower, upper, color=line.get_color(), alpha=0.3)
        drawn = upper + lower
    if all(value > 0 for value in drawn if math.isfinite(value)):
        axes.set_yscale("log")
    axes.set_xlabel(against)
    axes.set_ylabel(measure)
    axes.set_title(run.problem)
    axes.legend()
    return axes


def _column(run: Run, name: str) -> list[float]:
    """Return a column of the trace; what is not defined is not drawn."""
    at = run.columns.index(name)
    values: list[Any] = [row[at] for row in run.rows]
    return [math.nan if value is None else float(value) for value in values]
