"""Data of a figure before it is drawn: bands, ends of runs, ranges and ticks of every panel."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from pfbench.base.status import Status
from pfbench.reporting.results import StudyResults, truncate_study
from pfbench.reporting.seed_curves import Array, MedianBand, SeedTraces, UnplannedRunEnding
from pfbench.reporting.wording import AXES, power_of_ten

WIDE = 30.0
"""The x-axis is logarithmic if the last x of two lines differ by more than this factor."""

BEYOND = 3.0, 0.5
"""Diverging runs extend a y-axis by at most 3 decades, or by half of its length if linear."""

GROWTH = 1e3
"""A line diverges if it ends above this multiple of its first and of its middle value."""

_LEAST, _DECADES = 1e-300, 307.0
"""Least positive number that an axis shows, and largest exponent of ten of its ends."""


@dataclass(frozen=True)
class PanelLine:
    """Line of one algorithm in one panel of a figure."""

    label: str
    band: MedianBand
    endings: tuple[UnplannedRunEnding, ...]

    @property
    def max_x(self) -> float:
        """Greatest x of the line; 0 if it has no points."""
        return max(map(float, (*self.band.x[-1:], *(end.x for end in self.endings))), default=0.0)

    @property
    def all_plotted_y_values(self) -> Array:
        """All y-values that are drawn: medians, edges of the band, and the ends of runs."""
        ends = np.array([end.y for end in self.endings])
        return np.concatenate([self.band.low, self.band.median, self.band.high, ends])

    @property
    def has_diverged(self) -> bool:
        """Whether a run diverged."""
        return any(end.status == Status.DIVERGED for end in self.endings)

    @property
    def has_diverged_or_still_grows(self) -> bool:
        """Whether a run diverged, or the median still grows steeply at its end.

        A measure that starts at the size of rounding errors, and grows to its usual size early,
        does not count.
        """
        sizes = np.abs(self.band.median)
        grows = len(sizes) > 1 and sizes[-1] > GROWTH * max(sizes[0], sizes[(len(sizes) - 1) // 2])
        return self.has_diverged or bool(grows)

    @property
    def values_for_axis_range(self) -> Array:
        """Values that the y-axis must show: all, or only the first one of a diverging line."""
        return (
            self.band.median[:1] if self.has_diverged_or_still_grows else self.all_plotted_y_values
        )


@dataclass(frozen=True)
class AxisScale:
    """Scale of an axis, linear or logarithmic, with its range and ticks."""

    log: bool
    low: float
    high: float
    ticks: tuple[tuple[float, str], ...]

    @property
    def line_clip_range(self) -> tuple[float, float]:
        """Range to which lines are clipped.

        The range is wider than the axis, so that the cut ends of lines are not visible.
        """
        if self.log:
            length = math.log10(self.high) - math.log10(self.low)
            return 0.0, 10.0 ** min(math.log10(self.high) + length, _DECADES)
        return 2.0 * self.low - self.high, 2.0 * self.high - self.low


@dataclass(frozen=True)
class FigureData:
    """Data of a study's figure: one row for each measure, one column for each panel.

    Attributes
    ----------
    axis
        Trace column on the x-axis. It is the unit that the paper states, if this is a single
        column. Otherwise, it is the first kind of oracle calls that any run makes, or the seconds.
    lines
        The lines by measure and index of the panel. An algorithm that never makes calls of the
        kind on the x-axis has no line.
    spans
        Least positive and greatest x by index of the panel.
    log
        Whether the x-axis is logarithmic, because lines of one panel end far from each other.
    scales
        The y-axis by measure and problem, as different problems have values of different size.
    """

    results: StudyResults
    axis: str
    lines: Mapping[tuple[str, int], tuple[PanelLine, ...]]
    spans: Sequence[tuple[float, float]]
    log: bool
    scales: Mapping[tuple[str, str], AxisScale]


def compute_figure(results: StudyResults) -> FigureData:
    """Return the data of a study's figure, with the runs truncated to a common budget."""
    results = truncate_study(results)
    study, panels = results.study, results.panels
    unit_columns = [unit.single_trace_column for unit in study.units[:1]]
    axes = [*(column for column in unit_columns if column in AXES), *AXES]
    axis = next(axis for axis in axes if any(group.makes_calls(axis) for group in results))
    lines = {
        (measure, index): tuple(
            make_panel_line(group.label, group.traces, axis, measure)
            for group in panel.groups
            if group.makes_calls(axis)
        )
        for measure in study.measures
        for index, panel in enumerate(panels)
    }
    scales = {
        (measure, problem): make_y_axis(
            [
                line
                for index, panel in enumerate(panels)
                if panel.problem == problem
                for line in lines[measure, index]
            ]
        )
        for measure in study.measures
        for problem in dict.fromkeys(panel.problem for panel in panels)
    }
    of_panels = [
        [line for measure in study.measures for line in lines[measure, index]]
        for index in range(len(panels))
    ]
    spans = list(map(_positive_x_range, of_panels))
    return FigureData(results, axis, lines, spans, any(map(_needs_log_x_axis, of_panels)), scales)


def make_panel_line(label: str, traces: SeedTraces, axis: str, measure: str) -> PanelLine:
    """Return the line of an algorithm in a panel, for one x-axis and one measure."""
    ends = tuple(traces.endings_not_planned(axis, measure))
    return PanelLine(label, traces.median_band(axis, measure), ends)


def _positive_x_range(lines: Sequence[PanelLine]) -> tuple[float, float]:
    """Return the smallest positive x and the largest x of the lines in a panel."""
    greatest = max((line.max_x for line in lines), default=0.0)
    first = [float(x) for line in lines for x in line.band.x[line.band.x > 0.0][:1]]
    return min(first, default=greatest), greatest


def _needs_log_x_axis(lines: Sequence[PanelLine]) -> bool:
    """Return whether lines end so far apart that a linear x-axis would hide the shortest."""
    ends = [line.max_x for line in lines if line.max_x > 0]
    return bool(ends) and max(ends) > WIDE * min(ends)


def make_y_axis(
    lines: Sequence[PanelLine], *, log: bool | None = None, levels: Sequence[float] = ()
) -> AxisScale:
    """Return the y-axis for lines; a line that diverges may leave the range of the axis.

    Parameters
    ----------
    log
        Whether the axis is logarithmic, if any value is positive; by default if none is negative.
    levels
        Further values that the axis must show.
    """
    values = np.concatenate([np.empty(0), *(line.all_plotted_y_values for line in lines)])
    bounded = np.concatenate([np.empty(0), *(line.values_for_axis_range for line in lines)])
    if all(line.has_diverged_or_still_grows and not line.has_diverged for line in lines):
        bounded = values
    values, bounded = (np.append(some, levels) for some in (values, bounded))
    decades, part = BEYOND
    log = bool((values > 0).any()) and (log is not False) and (log or not (values < 0).any())
    if log:
        values, bounded = (np.log10(v[v > 0].clip(_LEAST)) for v in (values, bounded))
    low, high = (float(values.min()), float(values.max())) if values.size else (0.0, 1.0)
    lower, upper = (float(bounded.min()), float(bounded.max())) if bounded.size else (low, high)
    if log:
        high = min(high, upper + decades)
        margin = max(0.04 * (high - low), 0.01)
        low, high = (
            10.0 ** min(max(end, -_DECADES), _DECADES) for end in (low - margin, high + margin)
        )
        return AxisScale(True, low, high, tuple(log_ticks(low, high)))
    if upper > lower:
        low = max(low, lower - part * (upper - lower))
        high = min(high, upper + part * (upper - lower))
    margin = max(0.04 * (high - low), 1e-6 * abs(high))
    margin = margin if margin > _LEAST else 1.0
    low, high = low - margin, high + margin
    return AxisScale(False, low, high, tuple(linear_ticks(low, high)))


def make_calls_axis(spent: Array, *, log: bool) -> AxisScale | None:
    """Return the x-axis for positive numbers of oracle calls; None if there are none."""
    if not spent.size:
        return None
    if not log:
        high = 1.03 * float(spent.max())
        return AxisScale(False, 0.0, high, tuple(_shorten(linear_ticks(0.0, high))))
    low, high = float(spent.min()) / 1.1, 1.1 * float(spent.max())
    return AxisScale(True, low, high, tuple(_shorten(log_ticks(low, high))))


def _shorten(ticks: Iterator[tuple[float, str]]) -> Iterator[tuple[float, str]]:
    return ((tick, format_with_si_suffix(tick) if tick >= 1e3 else text) for tick, text in ticks)


def format_with_si_suffix(number: float) -> str:
    """Return a number as text, with the suffix k, M or G for 1e3, 1e6 or 1e9."""
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(number) >= size:
            return f"{number / size:g}{unit}"
    return f"{number:g}"


def log_ticks(low: float, high: float) -> Iterator[tuple[float, str]]:
    """Yield the positions and labels of two to seven ticks of a logarithmic axis."""
    first, last = math.ceil(math.log10(low)), math.floor(math.log10(high))
    decades = math.log10(high) - math.log10(low)
    if decades >= 2.0:
        step = max(1, math.ceil(decades / 5))
        for power in range(first, last + 1):
            if power % step == 0:
                yield 10.0**power, power_of_ten(power) if abs(power) > 1 else f"{10.0**power:g}"
    elif decades >= 0.7:
        digits = (1, 2, 5) if decades < 1.5 else (1, 3)
        for power in range(first - 1, last + 1):
            for digit in digits:
                tick = digit * 10.0**power
                if low <= tick <= high:
                    yield tick, _format_tick(tick)
    else:
        yield from linear_ticks(low, high)


def linear_ticks(low: float, high: float) -> Iterator[tuple[float, str]]:
    """Yield the positions and labels of two to six ticks of a linear axis."""
    power = math.floor(math.log10((high - low) / 2))
    size = next(size for size in (1, 2, 5, 10) if (high - low) / (size * 10.0**power) <= 5.5)
    step, digits = size * 10.0**power, max(0, -power - (size == 10))
    for number in range(math.ceil(low / step), math.floor(high / step) + 1):
        tick = number * step
        yield tick, f"{tick:.{digits}f}" if 1e-4 < step < 1e5 else _format_tick(tick)


def _format_tick(tick: float) -> str:
    if tick and not 1e-4 < abs(tick) < 1e5:
        mantissa, exponent = f"{tick:.2e}".split("e")
        return f"{float(mantissa):g}·{power_of_ten(int(exponent))}"
    return f"{tick:.10g}"


_COLORS = ("#222222", "#e69f00", "#56b4e9", "#d55e00", "#0072b2", "#009e73", "#cc79a7", "#8a8a8a")
_ON_DARK = {"#222222": "#eceae6", "#0072b2": "#3a9ad9", "#d55e00": "#e8702a"}
"""Lighter colours of the same hues, for those that are too dark on a dark page."""

_DASHES: tuple[tuple[int, ...], ...] = ((), (6, 3), (2, 2), (8, 3, 2, 3), (), (6, 3), (2, 2))
_MARKERS = (
    # matplotlib, an SVG path around the origin
    ("o", "M-3,0a3,3 0 1,0 6,0a3,3 0 1,0 -6,0Z"),
    ("s", "M-2.7,-2.7H2.7V2.7H-2.7Z"),
    ("^", "M0,-3.4L3.3,2.5H-3.3Z"),
    ("D", "M0,-3.8L3.8,0L0,3.8L-3.8,0Z"),
    ("v", "M0,3.4L3.3,-2.5H-3.3Z"),
)


@dataclass(frozen=True)
class LineStyle:
    """Colour, dash pattern and marker of one line.

    The dash pattern has the lengths of dashes and gaps in pixels; it is empty for a solid line.
    """

    color: str
    on_dark: str
    dash: tuple[int, ...]
    marker: str
    path: str


def line_style(algorithm_index: int) -> LineStyle:
    """Return the colour, dash pattern and marker of the algorithm with this index."""
    color = _COLORS[algorithm_index % len(_COLORS)]
    marker, path = _MARKERS[algorithm_index % len(_MARKERS)]
    dash = _DASHES[algorithm_index % len(_DASHES)]
    return LineStyle(color, _ON_DARK.get(color, color), dash, marker, path)
