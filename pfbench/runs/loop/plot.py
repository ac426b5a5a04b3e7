"""The trace of a run as a curve."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pfbench.base.errors import InputError
from pfbench.base.names import told, unknown

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot(
    columns: Sequence[str],
    rows: Sequence[Sequence[Any]],
    counts: Sequence[str],
    *,
    measure: str | None,
    against: str,
    label: str,
    axes: "Axes | None",
) -> "Axes":
    """Draw a measure of a trace, whose columns that are not `counts` are measures; see `Run.plot`.

    Raises
    ------
    InputError
        If a name is unknown, nothing was recorded, or matplotlib is not installed.
    """
    lower_ends = {f"{name}_lower" for name in columns}
    measures = [name for name in columns if name not in lower_ends.union(counts)]
    if not measures:
        raise InputError("the trace of this run has no measure: give solve() measures to record.")
    measure = measures[0] if measure is None else measure
    for kind, name, known in (("measure", measure, measures), ("count", against, counts)):
        if not isinstance(name, str) or name not in known:
            raise unknown(f"{kind} of the trace", name, known)
    if axes is not None and not hasattr(axes, "fill_between"):
        raise InputError(f"axes must be matplotlib's, not {told(axes)}.")
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise InputError('plot needs matplotlib: pip install "pfbench[report]".') from error

    def column(name: str) -> list[float]:
        """Return a column of the trace; what is not defined is not drawn."""
        values = (row[columns.index(name)] for row in rows)
        return [math.nan if value is None else float(value) for value in values]

    axes = pyplot.subplots()[1] if axes is None else axes
    calls, upper = column(against), column(measure)
    (line,) = axes.plot(calls, upper, label=label)
    drawn = upper
    if f"{measure}_lower" in columns:
        lower = column(f"{measure}_lower")
        axes.fill_between(calls, lower, upper, color=line.get_color(), alpha=0.3)
        drawn = upper + lower
    if all(value > 0 for value in drawn if math.isfinite(value)):
        axes.set_yscale("log")
    axes.set_xlabel(against)
    axes.set_ylabel(measure)
    axes.legend()
    return axes
