"""Traces of the runs of one method over several seeds, and the statistics of these runs."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from pfbench.base.status import Status
from pfbench.reporting.wording import MISSING_MARK, format_significant
from pfbench.runs.loop.run import COMPLETED, Run, Stop
from pfbench.runs.loop.trace import TraceRows

Array = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

LARGEST = 1e300
"""Values are clipped to this modulus, so that no difference or mean of two overflows."""

QUARTILES_FROM = 5
"""Number of seeds from which a band shows quartiles; with fewer seeds it shows the range."""

AS_PLANNED = frozenset({Status.FINISHED, Status.TARGET, Status.BUDGET})
"""Statuses of a run that ended as planned: by its schedule, at its target, or by its budget."""


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
    runs: Integers

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
        columns: list[Any] = [self.x, self.median, self.low, self.high, self.runs]
        return MedianBand(*(column[indices] for column in columns))


@dataclass(frozen=True)
class UnplannedRunEnding:
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

    @classmethod
    def from_values(cls, median: float, values: Array, planned_runs: int) -> "FinalSummary":
        """Return a summary of the finite values; its numbers are NaN if there is none."""
        finite = values[np.isfinite(values)]
        if not finite.size:
            return cls(math.nan, math.nan, math.nan, 0, planned_runs)
        return cls(median, float(finite.min()), float(finite.max()), finite.size, planned_runs)

    def __str__(self) -> str:
        return " ".join([self.median_text, *self.range_and_count_texts])

    @property
    def median_text(self) -> str:
        """Median of the final values as text."""
        return format_significant(self.median) if math.isfinite(self.median) else MISSING_MARK

    @property
    def range_and_count_texts(self) -> list[str]:
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


@dataclass(frozen=True, eq=False)
class SeedTraces:
    """Traces of the runs of one method at one setting, as one array.

    Attributes
    ----------
    runs
        The runs, one for each seed.
    columns
        Names of the columns of any of the traces.
    numbers
        All rows, those of the first run first, shape (rows, columns); NaN for missing values.
    run_of_row
        Index of the run to which each row belongs.
    """

    runs: Sequence[Run]
    columns: tuple[str, ...]
    numbers: Array
    run_of_row: Integers

    @classmethod
    def from_runs(cls, runs: Sequence[Run]) -> "SeedTraces":
        """Return the traces of some runs."""
        columns = tuple(dict.fromkeys(name for run in runs for name in run.columns))
        run_of_row = np.repeat(np.arange(len(runs)), [len(run.rows) for run in runs])
        numbers = _find_traces_array([run.rows for run in runs])
        if numbers is None or any(run.columns != columns for run in runs):
            parts = [_complete_columns(run, columns) for run in runs]
            numbers = np.concatenate([np.empty((0, len(columns))), *parts])
        return cls(runs, columns, numbers, run_of_row)

    def stack_column(self, name: str) -> Array:
        """Return a column of all rows; all values are NaN if no trace has the column."""
        if name not in self.columns:
            return np.full(len(self.numbers), np.nan)
        return self.numbers[:, self.columns.index(name)]

    def with_column(self, name: str, values: Array) -> "SeedTraces":
        """Return the traces with one more column."""
        numbers = np.column_stack([self.numbers, values])
        return replace(self, columns=(*self.columns, name), numbers=numbers)

    def select_rows(self, rows: Mask) -> "SeedTraces":
        """Return the traces with only the rows for which `rows` is true."""
        return replace(self, numbers=self.numbers[rows], run_of_row=self.run_of_row[rows])

    def find_first_rows_or_minus_one(self, rows: Mask) -> Integers:
        """Return, for each run, the index of its first row for which `rows` is true, or -1."""
        indices = np.flatnonzero(rows)
        runs, first = np.unique(self.run_of_row[indices], return_index=True)
        result = np.full(len(self.runs), -1)
        result[runs] = indices[first]
        return result

    def find_first_rows_within(self, target: Stop) -> Integers:
        """Return, for each run, the index of its first row that reaches a target, or -1."""
        values = self.stack_column(target.measure)
        return self.find_first_rows_or_minus_one(
            (-np.inf < values) & (values <= target.target)
        )  # never if NaN

    def find_last_rows_or_minus_one(self, rows: Mask) -> Integers:
        """Return, for each run, the index of its last row for which `rows` is true, or -1."""
        indices = np.flatnonzero(rows)
        result = np.full(len(self.runs), -1)
        result[self.run_of_row[indices]] = indices  # the last assignment counts
        return result

    @cached_property
    def is_completed(self) -> Mask:
        """Whether each run completed (no larger budget changes its answer)."""
        return np.array([run.status in COMPLETED for run in self.runs], dtype=bool)

    @property
    def is_deterministic(self) -> bool:
        """Whether the runs differ in nothing but their seconds.

        False for a single run, and for runs without a recorded row.
        """
        first, *rest = self.runs
        if not rest or not first.rows:
            return False
        facts = first.columns, first.counts, first.status, len(first.rows)
        if any((r.columns, r.counts, r.status, len(r.rows)) != facts for r in rest):
            return False
        names = [index for index, name in enumerate(self.columns) if name != "seconds"]
        by_run = self.numbers[:, names].reshape(len(self.runs), -1)
        return all(np.array_equal(by_run[0], other, equal_nan=True) for other in by_run[1:])

    def final_values(self, measure: str) -> Array:
        """Return the last recorded value of each run; infinite if the run did not complete."""
        values = self.stack_column(measure)
        last = self.find_last_rows_or_minus_one(~np.isnan(values))
        return np.where(self.is_completed, np.append(values, np.inf)[last], np.inf)

    def final_summary(self, measure: str) -> FinalSummary:
        """Return statistics of the last finite values of the completed runs."""
        values = self.stack_column(measure)
        last = self.find_last_rows_or_minus_one(np.isfinite(values))
        ends = values[last[self.is_completed & (last >= 0)]].clip(-LARGEST, LARGEST)
        median = float(np.median(ends)) if ends.size else math.nan
        return FinalSummary.from_values(median, ends, len(self.runs))

    def start_values(self, measure: str) -> Array:
        """Return the values at the start of the runs that have a finite value there."""
        first = np.unique(self.run_of_row, return_index=True)[1]
        values = self.stack_column(measure)[first]
        return values[np.isfinite(values)]

    def median_band(self, axis: str, measure: str) -> MedianBand:
        """Return the median and band of a measure, as functions of a count or of seconds.

        If all runs have equal counts at each recorded iteration, the grid consists of the recorded
        iterations, and nothing is interpolated. The same grid is used for seconds; x is then the
        median over the runs at each iteration. Otherwise, the grid consists of all recorded counts,
        and the values of each run are interpolated linearly.

        After its end, a completed run has its last value, and a failed run has no value.

        Parameters
        ----------
        axis
            A count of `pfbench.base.counts.COUNTED`, or ``"seconds"``.
        measure
            A column of the traces.
        """
        common = self.iterations_and_common_calls(axis)
        x, y, run_of_point = self._points("iteration" if common else axis, measure)
        grid = np.unique(x)
        if not grid.size:
            return MedianBand(grid, grid, grid, grid, np.empty(0, dtype=np.int64))
        if x.size == grid.size * len(self.runs):
            values = y.reshape(len(self.runs), -1)  # nothing is interpolated
        else:
            ends = np.searchsorted(run_of_point, np.arange(1, len(self.runs)))
            curves = zip(np.split(x, ends), np.split(y, ends), self.is_completed, strict=True)
            values = np.stack([_interpolate_linearly(grid, *curve) for curve in curves])
        if common:
            iterations, calls = common
            grid = calls[np.searchsorted(iterations, grid)]
        number = np.isfinite(values).sum(axis=0)
        ends_of_band = (25, 75) if len(self.runs) >= QUARTILES_FROM else (0, 100)
        # The second is far slower.
        percentile = np.percentile if (number == len(self.runs)).all() else np.nanpercentile
        low, median, high = percentile(values, [ends_of_band[0], 50, ends_of_band[1]], axis=0)
        return MedianBand(np.maximum.accumulate(grid), median, low, high, number)

    def endings_not_planned(self, axis: str, measure: str) -> list[UnplannedRunEnding]:
        """Return the last points of the runs that did not end as planned."""
        early = [k for k, run in enumerate(self.runs) if run.status not in AS_PLANNED]
        if not early:
            return []
        x, y, run_of_point = self._points(axis, measure)
        last = np.full(len(self.runs), -1)
        last[run_of_point] = np.arange(x.size)
        return [
            UnplannedRunEnding(
                float(x[last[k]]), float(y[last[k]]), self.runs[k].seed, self.runs[k].status
            )
            for k in early
            if last[k] >= 0
        ]

    def iterations_and_common_calls(self, axis: str) -> tuple[Array, Array] | None:
        """Return all recorded iterations, and the number of calls at each, if equal in all runs.

        Return None if the runs differ, or have no row. As seconds always differ, their median over
        the runs is returned.
        """
        iterations, calls = self.stack_column("iteration"), self.stack_column(axis)
        order = np.argsort(iterations, kind="stable")
        recorded, first = np.unique(iterations[order], return_index=True)
        if not recorded.size:
            return None
        calls = calls[order]
        if axis == "seconds":
            if (np.diff(first) == calls.size // recorded.size).all():  # quicker than part by part
                return recorded, np.median(calls.reshape(recorded.size, -1), axis=1)
            return recorded, np.array([np.median(part) for part in np.split(calls, first[1:])])
        lowest, highest = np.minimum.reduceat(calls, first), np.maximum.reduceat(calls, first)
        return (recorded, lowest) if (lowest == highest).all() else None

    def _points(self, axis: str, measure: str) -> tuple[Array, Array, Integers]:
        """Return the x and y of the recorded points of all runs, and the index of the run of each.

        Of several rows of a run at one x, only the last is included. Values beyond `LARGEST` are
        clipped to it.
        """
        x, y = self.stack_column(axis), self.stack_column(measure)
        finite = np.isfinite(y)
        x, y, run_of_point = x[finite], y[finite], self.run_of_row[finite]
        last = np.ones(x.size, bool)
        last[:-1] = (np.diff(x) > 0) | (np.diff(run_of_point) > 0)
        return x[last], y[last].clip(-LARGEST, LARGEST), run_of_point[last]


Rows = Sequence[tuple[Any, ...]]


def _find_traces_array(traces: Sequence[Rows]) -> Array | None:
    """Return the array of which the traces are all parts, in this order, if there is one."""
    arrays = [rows.numbers for rows in traces if isinstance(rows, TraceRows) and len(rows)]
    stack = arrays[0].base if arrays else None
    if stack is None or not len(stack) == sum(map(len, arrays)) == sum(map(len, traces)):
        return None
    first, *addresses = (array.__array_interface__["data"][0] for array in (stack, *arrays))
    starts = np.cumsum([0, *map(len, arrays[:-1])]) * stack.strides[0] + first
    return stack if addresses == starts.tolist() else None


def _complete_columns(run: Run, columns: tuple[str, ...]) -> Array:
    """Return the trace of a run with the given columns; those that it lacks are NaN."""
    numbers = np.asarray(run.rows, dtype=float).reshape(len(run.rows), len(run.columns))
    if run.columns == columns:
        return numbers
    complete = np.full((len(numbers), len(columns)), np.nan)
    complete[:, [columns.index(name) for name in run.columns]] = numbers
    return complete


def _interpolate_linearly(grid: Array, x: Array, y: Array, is_completed: bool) -> Array:
    """Return the values of a run on a grid, by linear interpolation.

    Values are NaN before the first point, and after the last one of a run that did not complete.
    """
    if not x.size:
        return np.full(grid.size, np.nan)
    return np.interp(grid, x, y, left=np.nan, right=y[-1] if is_completed else np.nan)
