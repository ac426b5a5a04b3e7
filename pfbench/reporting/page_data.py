"""JSON data for the interactive figures of the HTML page: curves, axes, slopes and targets.

All statistics are computed here, for each option of the page. The script of the page only draws
them.
"""

import base64
import gzip
import json
from collections.abc import Container, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from pfbench.base.counts import COUNTED
from pfbench.reporting import panels
from pfbench.reporting.comparison import list_compared_measures
from pfbench.reporting.report import RateCurve, figure_rates
from pfbench.reporting.results import RunGroup, SettingResults, StudyResults
from pfbench.reporting.runtimes import Cost
from pfbench.reporting.seed_curves import (
    AS_PLANNED,
    LARGEST,
    Array,
    MedianBand,
    SeedTraces,
    band_legend,
)
from pfbench.reporting.wording import AXES, format_calls, format_significant, measure_label
from pfbench.runs.loop.run import Stop
from pfbench.runs.planning.study import Spec

ROWS = 200
"""Approximate number of displayed trace rows; half are evenly, half logarithmically spaced."""

MOST_LINES = 100
"""Number of single runs of an algorithm that the page draws; of more seeds it draws the first."""

PRICE = "price"
"""Name of the x-axis for the total cost of oracle calls, if the study states a price."""


def gzip_base64(text: str) -> str:
    """Return a text, compressed by gzip and encoded as base64; equal texts give equal results."""
    return base64.b64encode(gzip.compress(text.encode("utf-8"), mtime=0)).decode("ascii")


def figure_data_json(
    spec: Spec,
    studies: Sequence[tuple[StudyResults, panels.FigureData]],
    labels: Sequence[str],
    rates: Sequence[RateCurve] = (),
) -> str:
    """Return the data of all interactive figures of the page as JSON.

    Parameters
    ----------
    studies
        Results of each study, with the figure that the page shows at first.
    labels
        All algorithms of the report; the index of a label is the number of its line style.
    rates
        The rates that papers claim for the methods.
    """
    looks = [(label, panels.line_style(number)) for number, label in enumerate(labels)]
    content = {
        "name": spec.name,
        "spec": spec.text,
        "algorithms": [
            {"label": label, "dash": " ".join(map(str, look.dash)), "path": look.path}
            for label, look in looks
        ],
        "studies": [
            _StudyData(results, first, labels, rates).record() for results, first in studies
        ],
    }
    # A group is computed when its place is written, so that only one is kept at a time.
    return json.dumps(
        content,
        ensure_ascii=False,
        allow_nan=False,
        separators=(",", ":"),
        default=lambda group: group(),
    )


class _StudyData:
    """Builder of the JSON record for the interactive figures of one study."""

    def __init__(
        self,
        results: StudyResults,
        first: panels.FigureData,
        labels: Sequence[str],
        rates: Sequence[RateCurve],
    ) -> None:
        self._results, self._first, self._labels = results, first, labels
        study = results.study
        targets = (target.measure for target in study.targets)
        self._measures = list(dict.fromkeys([*study.measures, *targets]))
        self._measures += [m for m in list_compared_measures(results) if m not in self._measures]
        counts = [k for k in AXES if k in COUNTED and any(g.makes_calls(k) for g in results)]
        self._cost = Cost.from_weights(study.price) if any(study.price.values()) else None
        priced = {PRICE: f"price of all calls: {self._cost}"} if self._cost else {}
        named = {k: AXES[k] for k in counts} | {"iteration": "iterations", "seconds": "seconds"}
        self._axes = priced | named
        self._rates = figure_rates(results, rates)
        self._panels = [panel.results_at_common_budget for panel in results.panels]
        groups = [group for panel in self._panels for group in panel.groups]
        self._traces = {group: self._select_displayed_traces(group) for group in groups}
        self._lines = {
            (group, m): panels.make_panel_line(group.label, traces, "iteration", m)
            for group, traces in self._traces.items()
            for m in self._measures
        }

    def _select_displayed_traces(self, group: RunGroup) -> SeedTraces:
        """Return the displayed rows of an algorithm's traces, with their cost if there is a price.

        The runs are truncated to equal counts.
        """
        traces = group.traces
        if self._cost is not None:
            traces = traces.with_column(PRICE, self._cost.costs_by_row(traces))
        displayed = list_displayed_iterations(traces, self._results.study.targets)
        is_displayed = np.isin(traces.stack_column("iteration"), displayed)
        return traces if is_displayed.all() else traces.select_rows(is_displayed)

    def record(self) -> dict[str, Any]:
        """Return the JSON record of the study, in the form that the script of the page reads."""
        study, results = self._results.study, self._results
        displayed = self._first.results.study.labels
        return {
            "key": study.key or "study",
            "title": study.title,
            "problems": list(dict.fromkeys(panel.problem for panel in results.panels)),
            "settings": list(dict.fromkeys(panel.setting for panel in results.panels)),
            "algorithms": [self._labels.index(label) for label in study.labels],
            "hidden": [self._labels.index(x) for x in study.labels if x not in displayed],
            "axes": self._axes,
            "axis": PRICE if self._cost else self._first.axis,
            "measures": {name: measure_label(name) for name in self._measures},
            "logx": self._first.log,
            "logy": any(scale.log for scale in self._first.scales.values()),
            "legend": band_legend(len(study.seeds)),
            "rates": [
                {
                    "algorithm": self._labels.index(label),
                    "measure": rate.measure,
                    "axis": rate.count,
                    "power": rate.power,
                    "text": f"{label}: {rate.text}",
                }
                for label, rate in self._rates
            ],
            "targets": [
                {"measure": t.measure, "value": t.target, "text": _describe_target(t)}
                for t in study.targets
            ],
            "scales": self._y_axes_by_measure(),
            "panels": [
                {
                    "problem": panel.problem,
                    "setting": panel.setting,
                    "title": panel.title if len(results.panels) > 1 else "",
                    "budget": ", ".join(
                        f"{format_calls(limit)} {kind.upper()}"
                        for kind, limit in panel.limits.items()
                    ),
                    "spans": self._x_axes_by_quantity(panel.groups),
                    "constants": [
                        _rate_constant_from_guarantee(panel, *named) for named in self._rates
                    ],
                    "groups": [partial(self._group_record, group) for group in panel.groups],
                }
                for panel in self._panels
            ],
        }

    def _makes_calls_on_axis(self, group: RunGroup, axis: str) -> bool:
        """Return whether an algorithm makes oracle calls of the kind that an x-axis shows.

        An algorithm that makes none has no line on this axis.
        """
        if axis == PRICE and self._cost is not None:
            return bool(self._cost.costs_of_whole_runs(group.traces).any())
        return axis not in COUNTED or group.makes_calls(axis)

    def _y_axes_by_measure(self) -> dict[str, dict[str, list[Any]]]:
        """Return the linear and the logarithmic y-axis for each measure and problem.

        A logarithmic axis is None if no value is positive.
        """
        scales: dict[str, dict[str, list[Any]]] = {}
        for measure in self._measures:
            lines: dict[str, list[panels.PanelLine]] = {}
            for panel in self._panels:
                lines.setdefault(panel.problem, []).extend(
                    self._lines[group, measure] for group in panel.groups
                )
            levels = [t.target for t in self._results.study.targets if t.measure == measure]
            scales[measure] = {
                problem: [
                    _scale_record(scale) if scale.log == log else None
                    for log in (False, True)
                    for scale in [panels.make_y_axis(some, log=log, levels=levels)]
                ]
                for problem, some in lines.items()
            }
        return scales

    def _x_axes_by_quantity(self, groups: Sequence[RunGroup]) -> dict[str, list[Any]]:
        """Return, for each quantity, a linear and a logarithmic x-axis for some algorithms."""
        scales = {}
        for axis in self._axes:
            counted = (group for group in groups if self._makes_calls_on_axis(group, axis))
            columns = [self._traces[group].stack_column(axis) for group in counted]
            spent = np.concatenate([np.empty(0), *columns])
            both = (panels.make_calls_axis(spent[spent > 0.0], log=log) for log in (False, True))
            scales[axis] = [_scale_record(scale) for scale in both]
        return scales

    def _group_record(self, group: RunGroup) -> dict[str, Any]:
        """Return the JSON record of one algorithm on one problem: median bands and single runs.

        If all runs have made equal numbers of calls at each iteration, `bands` applies to all
        x-axes, and `x` has these numbers. Otherwise, `other` has separate bands for each x-axis.
        """
        traces = self._traces[group]
        grid = np.unique(traces.stack_column("iteration"))
        shared: dict[str, Any] = {}
        other: dict[str, Any] = {}
        for axis in self._axes:
            if not self._makes_calls_on_axis(group, axis):
                continue
            if common := traces.iterations_and_common_calls(axis):
                shared[axis] = _encode_deltas_or_rounded(
                    np.maximum.accumulate(common[1]), _digits(axis)
                )
            elif grid.size:
                bands = {m: traces.median_band(axis, m).thin(ROWS) for m in self._measures}
                other[axis] = {
                    m: {"x": _encode_deltas_or_rounded(band.x, 9), **_band_record(band, group)}
                    for m, band in bands.items()
                }
        bands = {
            m: _fill_band_gaps_with_nan(self._lines[group, m].band, grid) for m in self._measures
        }
        return {
            "algorithm": self._labels.index(group.label),
            "x": shared,
            "bands": {m: _band_record(band, group) for m, band in bands.items()},
            "other": other,
            "runs": list(self._records_of_first_and_early_runs(traces, shared)),
        }

    def _records_of_first_and_early_runs(
        self, traces: SeedTraces, shared_axes: Container[str]
    ) -> Iterator[dict[str, Any]]:
        """Yield the JSON records of the first runs, and of those that ended early."""
        own = [axis for axis in self._axes if axis == "seconds" or axis not in shared_axes]
        columns = {name: traces.stack_column(name) for name in (*own, *self._measures)}
        ends = np.searchsorted(traces.run_of_row, np.arange(len(traces.runs) + 1))
        for index, run in enumerate(traces.runs):
            is_early = run.status not in AS_PLANNED
            if not is_early and index >= MOST_LINES:
                continue
            rows = slice(*ends[index : index + 2])
            yield {
                "seed": run.seed,
                "status": run.status,
                "early": is_early,
                "x": {
                    axis: _encode_deltas_or_rounded(columns[axis][rows], _digits(axis))
                    for axis in own
                },
                "y": {m: _encode_deltas_or_rounded(columns[m][rows]) for m in self._measures},
            }


def _digits(axis: str) -> int:
    """Return the number of significant digits for numbers on an x-axis."""
    return 4 if axis == "seconds" else 9


def _describe_target(target: Stop) -> str:
    return f"{measure_label(target.measure)} ≤ {format_significant(target.target)}"


def _scale_record(scale: panels.AxisScale | None) -> list[Any] | None:
    return [scale.low, scale.high, [list(tick) for tick in scale.ticks]] if scale else None


def _fill_band_gaps_with_nan(band: MedianBand, grid: Array) -> MedianBand:
    """Return a median band on a finer grid, with NaN at the added grid points."""
    columns = np.full((4, len(grid)), np.nan)
    columns[:, np.searchsorted(grid, band.x)] = band.median, band.low, band.high, band.runs
    median, low, high, runs = columns
    return MedianBand(grid, median, low, high, np.nan_to_num(runs).astype(np.int64))


def _band_record(band: MedianBand, group: RunGroup) -> dict[str, Any]:
    """Return a median band as a JSON record: the median and, for several runs, the band's edges.

    The number of runs is included if it varies along the band.
    """
    record = {"y": _encode_deltas_or_rounded(band.median)}
    if len(group.runs) > 1:
        record |= {
            "low": _encode_deltas_or_rounded(band.low),
            "high": _encode_deltas_or_rounded(band.high),
        }
        record |= {"n": band.runs.tolist()} if (band.runs < len(group.runs)).any() else {}
    return record


def _rate_constant_from_guarantee(
    panel: SettingResults, label: str, rate: RateCurve
) -> float | None:
    """Return C such that the rate C / calls^power equals the theorem's bound at the schedule's end.

    The theorem bounds a measure at the end of its schedule. C is the median bound times the median
    number of calls to the given power. Return None unless all runs finished the schedule.
    """
    group = panel.find(label)
    guarantees = group.guarantees if group else ()
    values = [value for measure, value in filter(None, guarantees) if measure == rate.measure]
    if group is None or not values or len(values) < len(group.runs):
        return None
    calls = float(np.median([run.counts.as_dict()[rate.count] for run in group.runs]))
    return float(np.median(values)) * calls**rate.power if calls > 0 else None


def list_displayed_iterations(traces: SeedTraces, targets: Sequence[Stop]) -> Array:
    """Return the recorded iterations of one algorithm's runs that the page displays.

    They include the last iteration of each run, and the first at which a run reaches a target.
    """
    iterations = traces.stack_column("iteration")
    recorded = np.unique(iterations)
    if recorded.size <= ROWS:
        return recorded
    last = recorded.size - 1
    evenly = np.linspace(0, last, ROWS // 2)
    by_factors = np.geomspace(1, last + 1, ROWS // 2) - 1
    points = np.unique(np.concatenate([evenly, by_factors]).round().astype(int))
    hits = (traces.find_first_rows_within(target) for target in targets)
    rows = np.concatenate(
        [traces.find_last_rows_or_minus_one(np.ones(len(iterations), bool)), *hits]
    )
    return np.union1d(recorded[points], iterations[rows[rows >= 0]])


def _encode_deltas_or_rounded(values: Any, digits: int = 5) -> Any:
    """Encode numbers for JSON: integers as successive differences, others rounded, NaN as None."""
    array = np.asarray(values, dtype=float)
    if array.size and (np.abs(array) < 2.0**53).all() and (array == np.round(array)).all():
        return {"d": np.diff(array, prepend=0).astype(np.int64).tolist()}
    form = f"{{:.{digits}g}}".format
    rounded = map(float, map(form, array.clip(-LARGEST, LARGEST).tolist()))
    isfinite = np.isfinite(array)
    if isfinite.all():
        return [*rounded]
    return [value if finite else None for value, finite in zip(rounded, isfinite, strict=True)]
