"""Curves over several seeds: median and band on a common grid, and final values of runs."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pfbench.base.status import Status
from pfbench.reporting.wording import MISSING_MARK, format_significant
from pfbench.runs.loop.run import COMPLETED, Run
from pfbench.runs.loop.trace import TraceRows

Array = npt.NDArray[np.float64]

LARGEST = 1e300
"""Values are clipped to this modulus, so that no difference or mean of two overflows."""

QUARTILES_FROM = 5
"""Number of seeds from which a band shows quartiles; with fewer seeds it shows the range."""


@dataclass(frozen=True)
class MedianBand:
    """Median of a measure over runs, with a band between quartiles or, for few seeds, extremes.

    Attributes
    ----------
    x
        Counts or seconds, non-decreasing.
    median, low, high
        Median, and the ends of the band, of the measure at x.
    runs
        Number of runs with a value at x.
    """

    x: Array
    median: Array
    low: Array
    high: Array
    runs: npt.NDArray[np.int64]

    def thin(self, limit: int, *, log: bool = False) -> "MedianBand":
        """Return a band with at most `limit` points, which are chosen from those of this band.

        For a logarithmic axis, the points are evenly spaced in the logarithm of x, from the first
        positive x on.
        """
        first = int(np.searchsorted(self.x, 0.0, side="right")) if log else 0
        indices = np.arange(first, self.x.size)
        if log and indices.size > limit:
            even = np.searchsorted(self.x, np.geomspace(self.x[first], self.x[-1], limit))
            indices = np.unique(even.clip(first, self.x.size - 1))
        elif indices.size > limit:
            indices = np.unique(np.linspace(0, self.x.size - 1, limit).round().astype(int))
        return MedianBand(
            self.x[indices],
            self.median[indices],
            self.low[indices],
            self.high[indices],
            self.runs[indices],
        )


@dataclass(frozen=True)
class RunEnding:
    """Last point of a run that did not end as planned, with its seed and status."""

    x: float
    y: float
    seed: int
    status: str


@dataclass(frozen=True)
class FinalSummary:
    """Median, minimum and maximum of the final values of runs, and the number of runs."""

    median: float
    low: float
    high: float
    runs: int
    planned_runs: int

    def __str__(self) -> str:
        return " ".join([self.median_text, *self.extent_texts])

    @property
    def median_text(self) -> str:
        """Median of the final values as text."""
        return format_significant(self.median) if math.isfinite(self.median) else MISSING_MARK

    @property
    def extent_texts(self) -> list[str]:
        """Range of the final values and, if some are missing, the number of values, as texts."""
        texts = []
        if self.runs > 1:
            texts = [f"({format_significant(self.low)} to {format_significant(self.high)})"]
        if self.runs < self.planned_runs:
            texts.append(f"[{self.runs} of {self.planned_runs} runs]")
        return texts


def band_legend(seeds: int) -> str:
    """Return the legend text that explains the median line and the band around it."""
    if seeds == 1:
        return "Line: the only seed."
    if seeds < QUARTILES_FROM:
        return f"Line: median of {seeds} seeds; band: from the least to the greatest."
    return f"Line: median of {seeds} seeds; band: the middle half of them (quartiles)."


def trace_column(run: Run, name: str) -> Array:
    """Return a column of the trace as an array, with NaN for missing values.

    The array is empty if the trace lacks the column.
    """
    if name not in run.columns:
        return np.empty(0)
    index, rows = run.columns.index(name), run.rows
    if isinstance(rows, TraceRows):
        return rows.numbers[:, index]
    return np.array([row[index] for row in rows], dtype=float)  # of None it makes NaN


def final_value(run: Run, measure: str) -> float:
    """Return the last recorded value of a measure; infinite if the run did not complete."""
    if run.status not in COMPLETED:
        return math.inf
    values = trace_column(run, measure)
    recorded = values[~np.isnan(values)]
    return float(recorded[-1]) if recorded.size else math.inf


def trace_array(run: Run) -> Array:
    """Return the trace of a run as an array of shape (rows, columns)."""
    return np.asarray(run.rows, dtype=float).reshape(len(run.rows), len(run.columns))


def median_band(runs: Sequence[Run], axis: str, measure: str) -> MedianBand:
    """Return the median and band of a measure over runs, as functions of a count or of seconds.

    If all runs have equal counts at each recorded iteration, the grid consists of the recorded
    iterations, and nothing is interpolated. The same grid is used for seconds; x is then the
    median over the runs at each iteration. Otherwise, the grid consists of all recorded counts,
    and the values of each run are interpolated linearly.

    After its end, a completed run has its last value, and a failed run has no value.

    Parameters
    ----------
    runs
        Runs of one algorithm at one setting.
    axis
        A count of `pfbench.base.counts.COUNTED`, or ``"seconds"``.
    measure
        A column of the traces.
    """
    spent = find_common_calls_by_iteration(runs, axis)
    curves = _run_curves(runs, "iteration" if spent else axis, measure)
    grid = np.unique(np.concatenate([np.empty(0), *(point for point, _ in curves)]))
    if grid.size == 0:
        empty = np.empty(0)
        return MedianBand(empty, empty, empty, empty, np.empty(0, dtype=np.int64))
    if all(point.size == grid.size for point, _ in curves):
        y = np.stack([values for _, values in curves])  # nothing is interpolated
    else:
        y = np.stack(
            [
                _interpolate_linearly_on_grid(grid, *curve, run)
                for run, curve in zip(runs, curves, strict=True)
            ]
        )
    x = np.array([spent[point] for point in grid]) if spent else grid
    ends = (25, 75) if len(runs) >= QUARTILES_FROM else (0, 100)
    number = np.isfinite(y).sum(axis=0)
    percentile = np.percentile if (number == len(runs)).all() else np.nanpercentile  # far slower
    low, median, high = percentile(y, [ends[0], 50, ends[1]], axis=0)
    return MedianBand(np.maximum.accumulate(x), median, low, high, number)


AS_PLANNED = frozenset({Status.FINISHED, Status.TARGET, Status.BUDGET})
"""Statuses of a run that ended as planned."""


def early_endings(runs: Sequence[Run], axis: str, measure: str) -> list[RunEnding]:
    """Return the last points of the runs that did not end as planned.

    A run ends as planned if it ends by its schedule, at its target, or by its budget.
    """
    early = [run for run in runs if run.status not in AS_PLANNED]
    return [
        RunEnding(float(x[-1]), float(y[-1]), run.seed, run.status)
        for run, (x, y) in zip(early, _run_curves(early, axis, measure), strict=True)
        if x.size
    ]


def final_summary(runs: Sequence[Run], measure: str) -> FinalSummary:
    """Return statistics of the last recorded values of the completed runs."""
    completed = [run for run in runs if run.status in COMPLETED]
    curves = _run_curves(completed, "iteration", measure)
    last = [values[-1] for _, values in curves if values.size]
    if not last:
        return FinalSummary(math.nan, math.nan, math.nan, 0, len(runs))
    return FinalSummary(float(np.median(last)), min(last), max(last), len(last), len(runs))


def median_start_value(runs: Sequence[Run], measure: str) -> float:
    """Return the median over runs of a measure at the start; NaN if no run has a value there."""
    values = [trace_column(run, measure)[:1] for run in runs]
    existing = [value[0] for value in values if value.size and math.isfinite(value[0])]
    return float(np.median(existing)) if existing else math.nan


def is_deterministic(runs: Sequence[Run]) -> bool:
    """Return whether several runs of one method differ in nothing but their seconds.

    Return False for a single run, and for runs without a recorded row.
    """
    first, *rest = runs
    return bool(rest and first.rows) and all(_runs_equal(first, other) for other in rest)


def _runs_equal(first: Run, other: Run) -> bool:
    reported = [(run.columns, run.counts, run.status, len(run.rows)) for run in (first, other)]
    names = [name for name in first.columns if name != "seconds"]
    return reported[0] == reported[1] and all(
        np.array_equal(trace_column(first, name), trace_column(other, name), equal_nan=True)
        for name in names
    )


def _run_curves(runs: Sequence[Run], axis: str, measure: str) -> list[tuple[Array, Array]]:
    """Return the x and y of each run's recorded rows, with only the last row at each x.

    Values beyond `LARGEST` are clipped to it.
    """
    if not runs:
        return []
    pairs = [(trace_column(run, axis), trace_column(run, measure)) for run in runs]
    sizes = [x.size if x.size == y.size else 0 for x, y in pairs]
    point, values = (
        np.concatenate([column[:size] for column, size in zip(columns, sizes, strict=True)])
        for columns in zip(*pairs, strict=True)
    )
    number = np.repeat(np.arange(len(runs)), sizes)
    isfinite = np.isfinite(values)
    point, values, number = point[isfinite], values[isfinite], number[isfinite]
    last = np.ones(point.size, bool)
    last[:-1] = (np.diff(point) > 0) | (np.diff(number) > 0)
    ends = np.searchsorted(number[last], np.arange(1, len(runs)))
    columns = point[last], values[last].clip(-LARGEST, LARGEST)
    return list(zip(*(np.split(column, ends) for column in columns), strict=True))


def _interpolate_linearly_on_grid(grid: Array, recorded_x: Array, values: Array, run: Run) -> Array:
    """Return the values of a run on a grid, by linear interpolation.

    Values are NaN before the first recorded row, and after the last row of a run that did not
    complete.
    """
    if not recorded_x.size:
        return np.full(grid.size, np.nan)
    after = values[-1] if run.status in COMPLETED else np.nan
    return np.interp(grid, recorded_x, values, left=np.nan, right=after)


def find_common_calls_by_iteration(runs: Sequence[Run], axis: str) -> dict[float, float]:
    """Return the number of calls at each recorded iteration, if it is the same in all runs.

    The result is empty if the runs differ. As seconds always differ, their median over the runs is
    returned.
    """
    iterations, spent = (
        np.concatenate([np.empty(0), *(trace_column(run, name) for run in runs)])
        for name in ("iteration", axis)
    )
    recorded, number = np.unique(iterations, return_counts=True)
    ordered = spent[np.argsort(iterations, kind="stable")]
    by_iteration = np.split(ordered, np.cumsum(number)[:-1]) if recorded.size else []
    if axis != "seconds" and any(
        part[0] != part.max() or part[0] != part.min() for part in by_iteration
    ):
        return {}
    medians = (float(np.median(part)) for part in by_iteration)
    return dict(zip(recorded.tolist(), medians, strict=True))
