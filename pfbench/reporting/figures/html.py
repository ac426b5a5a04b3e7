"""What the page's script draws from: every run with its trace, and the drawing library, packed.

The script computes bands, prices and calls to targets itself, by the definitions of
`pfbench.reporting.statistics`; so a reader can choose what no table of this package foresaw.
"""

import base64
import gzip
import json
import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from pfbench.base.counts import COUNTED
from pfbench.reporting.comparison import truncate_to_equal_counts
from pfbench.reporting.figures.panels import FigureData
from pfbench.reporting.figures.style import LineStyle, line_style
from pfbench.reporting.findings.claimed_rates import figure_rates
from pfbench.reporting.latex import escape_latex
from pfbench.reporting.results import RunGroup, StudyResults
from pfbench.reporting.statistics.seed_curves import LARGEST, QUARTILES_FROM
from pfbench.reporting.theory import RateLine
from pfbench.reporting.wording import AXES, measure_name
from pfbench.runs.loop.run import COMPLETED, Run
from pfbench.runs.loop.stop import Stop
from pfbench.runs.planning.study import Spec

ROWS = 200
"""About so many rows of a trace are kept: half of them evenly, half evenly in their logarithm."""

_WRITTEN = "⁻⁰¹²³⁴⁵⁶⁷⁸⁹·∞≤−–\u202f%"
"""What the script writes in numbers and captions."""

_WHOLE = ("iteration", *COUNTED)
_DIGITS = {"seconds": 4}
"""Significant digits of a column; all others have six, and whole numbers every digit."""


def plotly_js() -> str:
    """Return the source of plotly.js, for a page that must open without a network."""
    from plotly.offline import get_plotlyjs

    return str(get_plotlyjs())


def gzip_base64(text: str) -> str:
    """Return a text as gzip in base64, which can stand in a page; the same text, the same bytes."""
    return base64.b64encode(gzip.compress(text.encode("utf-8"), 9, mtime=0)).decode("ascii")


def figure_data_json(
    spec: Spec,
    studies: Sequence[tuple[StudyResults, FigureData]],
    labels: Sequence[str],
    rates: Sequence[RateLine] = (),
) -> str:
    """Return all that the script needs.

    Parameters
    ----------
    studies
        Each with the figure that is shown at first.
    labels
        All algorithms of the report; the position of one is the number of its style.
    rates
        What is claimed of the methods.
    """
    content = {
        "name": spec.name,
        "spec": spec.text,
        "algorithms": [
            _style_record(label, line_style(number)) for number, label in enumerate(labels)
        ],
        "axes": dict(AXES),
        "measures": {
            name: measure_name(name)
            for results, _ in studies
            for name in _list_recorded_measures(results)
        },
        "holds": sorted(COMPLETED),
        "quartilesFrom": QUARTILES_FROM,
        "whole": _WHOLE,
        "studies": [_study_record(results, first, labels, rates) for results, first in studies],
    }
    text = _encode_json(content)
    used = sorted({*text, *_WRITTEN})
    latex = _encode_json({item: escape_latex(item) for item in used if escape_latex(item) != item})
    return f'{text[:-1]},"latex":{latex}}}'


def _encode_json(content: Mapping[str, Any]) -> str:
    """Return it as JSON; what stands there as a function is made when its place is written.

    Of very many runs, what is written of one group after the other takes less memory than of all.
    """
    return json.dumps(
        content, ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=lambda f: f()
    )


def _style_record(label: str, look: LineStyle) -> dict[str, str]:
    dash = ",".join(f"{length}px" for length in look.dash) or "solid"
    return {"label": label, "symbol": look.symbol, "dash": dash, "path": look.path}


def _list_recorded_measures(results: StudyResults) -> list[str]:
    """Return the measures of a study and that of its targets, each once."""
    targets = (target.measure for target in results.study.targets)
    return list(dict.fromkeys((*results.study.measures, *targets)))


def _study_record(
    results: StudyResults, first: FigureData, labels: Sequence[str], rates: Sequence[RateLine]
) -> dict[str, Any]:
    study, displayed = results.study, first.results.study.labels
    counts = [
        kind
        for kind in AXES
        if kind in COUNTED and any(group.makes_calls(kind) for group in results)
    ]
    columns = ("iteration", *counts, "seconds", *_list_recorded_measures(results))
    is_plural = len(results.panels) > 1
    return {
        "key": study.key or "study",
        "title": study.title,
        "problems": list(dict.fromkeys(panel.problem for panel in results.panels)),
        "settings": list(dict.fromkeys(panel.setting for panel in results.panels)),
        "algorithms": [labels.index(label) for label in study.labels],
        "hidden": [labels.index(label) for label in study.labels if label not in displayed],
        "logx": first.log,
        "logy": any(scale.log for scale in first.scales.values()),
        "measures": study.measures,
        "counts": counts,
        "price": {kind: study.price.get(kind, 0) for kind in counts}
        if any(map(study.price.get, counts))
        else None,
        "rates": [
            {
                "algorithm": labels.index(label),
                "measure": rate.measure,
                "axis": rate.count,
                "power": rate.power,
                "text": f"{label}: {rate.text}",
            }
            for label, rate in figure_rates(results, rates)
        ],
        "targets": [{"measure": stop.measure, "value": stop.target} for stop in study.targets],
        "panels": [
            {
                "problem": panel.problem,
                "setting": panel.setting,
                "title": panel.title if is_plural else "",
                "limits": dict(limits),
                "best": panel.best_known,
                "groups": [
                    {
                        "algorithm": labels.index(group.label),
                        "promised": group_guarantee(group),
                        "runs": partial(_run_records, group, columns, study.targets),
                        **_run_records_by_target(group, columns, study.targets),
                    }
                    for group in panel.groups
                ],
            }
            for limits, panel in map(truncate_to_equal_counts, results.panels)
        ],
    }


def group_guarantee(group: RunGroup) -> dict[str, Any] | None:
    """Return what theorems promise of a group: a bound on a measure, after how many calls.

    Both are medians over the runs. None unless all runs came to the end of a theorem's schedule.
    """
    guarantees = [guarantee for guarantee in group.guarantees if guarantee is not None]
    measures = {measure for measure, _ in guarantees}
    if len(guarantees) < len(group.runs) or len(measures) != 1:
        return None
    calls = [run.counts.as_dict() for run in group.runs]
    return {
        "measure": measures.pop(),
        "value": float(np.median([value for _, value in guarantees])),
        "calls": {kind: float(np.median([call[kind] for call in calls])) for kind in calls[0]},
    }


def _run_records_by_target(
    group: RunGroup, columns: Sequence[str], targets: Sequence[Stop]
) -> dict[str, Any]:
    """Return the runs to each target where they differ, None where they are those of the group."""
    if not group.parts:
        return {}
    parts = [part if part.plans != group.plans else None for _, part in group.parts]
    return {"to": [part and partial(_run_records, part, columns, targets) for part in parts]}


def _run_records(
    group: RunGroup, columns: Sequence[str], targets: Sequence[Stop]
) -> list[dict[str, Any]]:
    displayed_iterations = list_displayed_iterations(group.runs, targets)
    return [_run_record(run, columns, displayed_iterations) for run in group.runs]


def _run_record(run: Run, columns: Sequence[str], retained: frozenset[float]) -> dict[str, Any]:
    index = run.columns.index("iteration") if run.columns else 0
    rows = [row for row in run.rows if row[index] in retained]
    indices = {name: run.columns.index(name) for name in columns if name in run.columns}
    trace = {
        name: _round_column([row[index] for row in rows], name) for name, index in indices.items()
    }
    return {
        "seed": run.seed,
        "status": run.status,
        "counts": run.counts.as_dict(),
        "iterations": run.iterations,
        "seconds": _round(run.seconds, 4),
        "trace": trace if indices else {"iteration": [], "seconds": []},
    }


def list_displayed_iterations(runs: Sequence[Run], targets: Sequence[Stop]) -> frozenset[float]:
    """Return the recorded iterations that the page keeps, the same for all runs of a group.

    The last of each run are among them, and those at which one first reaches a target, so that its
    calls are exact.
    """
    recorded = [[row[run.columns.index("iteration")] for row in run.rows] for run in runs]
    full_list = np.unique(np.concatenate([np.asarray(item, dtype=float) for item in recorded]))
    if full_list.size <= ROWS:
        return frozenset(full_list.tolist())
    last = full_list.size - 1
    evenly = np.linspace(0, last, ROWS // 2)
    by_factors = np.geomspace(1, last + 1, ROWS // 2) - 1
    point = np.unique(np.concatenate([evenly, by_factors]).round().astype(int))
    retained = set(full_list[point].tolist()) | {
        iterations[-1] for iterations in recorded if iterations
    }
    for run, iterations in zip(runs, recorded, strict=True):
        firsts = (run.first_value(target.measure, target.target) for target in targets)
        retained |= {iterations[row] for row in firsts if row is not None}
    return frozenset(retained)


def _round_column(values: Sequence[Any], name: str) -> list[float | None]:
    if name in _WHOLE:
        return [int(step) for step in np.diff(np.asarray(values, dtype=np.int64), prepend=0)]
    return [_round(value, _DIGITS.get(name, 6)) for value in values]


def _round(value: float | None, digits: int) -> float | None:
    if value is None or not math.isfinite(value):
        return None
    number = float(f"{min(max(value, -LARGEST), LARGEST):.{digits}g}")
    return int(number) if number.is_integer() and abs(number) < 1e15 else number
