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
from pfbench.reporting.comparison import at_equal_counts
from pfbench.reporting.figures.panels import Figure
from pfbench.reporting.figures.style import Style, style
from pfbench.reporting.findings.claims import rates_of
from pfbench.reporting.latex import latex_text
from pfbench.reporting.results import Group, Results
from pfbench.reporting.statistics.curves import LARGEST, QUARTILES_FROM
from pfbench.reporting.theory import Rate
from pfbench.reporting.words import AXES, measure_name
from pfbench.runs.loop.run import HOLDS, Run
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


def packed(text: str) -> str:
    """Return a text as gzip in base64, which can stand in a page; the same text, the same bytes."""
    return base64.b64encode(gzip.compress(text.encode("utf-8"), 9, mtime=0)).decode("ascii")


def as_json(
    spec: Spec,
    studies: Sequence[tuple[Results, Figure]],
    labels: Sequence[str],
    rates: Sequence[Rate] = (),
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
        "algorithms": [_look(label, style(number)) for number, label in enumerate(labels)],
        "axes": dict(AXES),
        "measures": {
            name: measure_name(name) for results, _ in studies for name in _measured(results)
        },
        "holds": sorted(HOLDS),
        "quartilesFrom": QUARTILES_FROM,
        "whole": _WHOLE,
        "studies": [_study(results, first, labels, rates) for results, first in studies],
    }
    text = _dumped(content)
    used = sorted({*text, *_WRITTEN})
    latex = _dumped({one: latex_text(one) for one in used if latex_text(one) != one})
    return f'{text[:-1]},"latex":{latex}}}'


def _dumped(content: Mapping[str, Any]) -> str:
    """Return it as JSON; what stands there as a function is made when its place is written.

    Of very many runs, what is written of one group after the other takes less memory than of all.
    """
    return json.dumps(
        content, ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=lambda f: f()
    )


def _look(label: str, look: Style) -> dict[str, str]:
    dash = ",".join(f"{length}px" for length in look.dash) or "solid"
    return {"label": label, "symbol": look.symbol, "dash": dash, "path": look.path}


def _measured(results: Results) -> list[str]:
    """Return the measures of a study and that of its targets, each once."""
    targets = (target.measure for target in results.study.targets)
    return list(dict.fromkeys((*results.study.measures, *targets)))


def _study(
    results: Results, first: Figure, labels: Sequence[str], rates: Sequence[Rate]
) -> dict[str, Any]:
    study, shown = results.study, first.results.study.labels
    counts = [kind for kind in AXES if kind in COUNTED and any(one.makes(kind) for one in results)]
    columns = ("iteration", *counts, "seconds", *_measured(results))
    several = len(results.panels) > 1
    return {
        "key": study.key or "study",
        "title": study.title,
        "problems": list(dict.fromkeys(panel.problem for panel in results.panels)),
        "settings": list(dict.fromkeys(panel.setting for panel in results.panels)),
        "algorithms": [labels.index(label) for label in study.labels],
        "hidden": [labels.index(label) for label in study.labels if label not in shown],
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
            for label, rate in rates_of(results, rates)
        ],
        "targets": [{"measure": one.measure, "value": one.target} for one in study.targets],
        "panels": [
            {
                "problem": panel.problem,
                "setting": panel.setting,
                "title": panel.title if several else "",
                "limits": dict(limits),
                "best": panel.best_known,
                "groups": [
                    {
                        "algorithm": labels.index(group.label),
                        "promised": promised_of(group),
                        "runs": partial(_runs, group, columns, study.targets),
                        **_to(group, columns, study.targets),
                    }
                    for group in panel.groups
                ],
            }
            for limits, panel in map(at_equal_counts, results.panels)
        ],
    }


def promised_of(group: Group) -> dict[str, Any] | None:
    """Return what theorems promise of a group: a bound on a measure, after how many calls.

    Both are medians over the runs. None unless all runs came to the end of a theorem's schedule.
    """
    known = [one for one in group.promised if one is not None]
    measures = {measure for measure, _ in known}
    if len(known) < len(group.runs) or len(measures) != 1:
        return None
    calls = [run.counts.as_dict() for run in group.runs]
    return {
        "measure": measures.pop(),
        "value": float(np.median([value for _, value in known])),
        "calls": {kind: float(np.median([one[kind] for one in calls])) for kind in calls[0]},
    }


def _to(group: Group, columns: Sequence[str], targets: Sequence[Stop]) -> dict[str, Any]:
    """Return the runs to each target where they differ, None where they are those of the group."""
    if not group.parts:
        return {}
    parts = [part if part.plans != group.plans else None for _, part in group.parts]
    return {"to": [part and partial(_runs, part, columns, targets) for part in parts]}


def _runs(group: Group, columns: Sequence[str], targets: Sequence[Stop]) -> list[dict[str, Any]]:
    kept = kept_iterations(group.runs, targets)
    return [_run(run, columns, kept) for run in group.runs]


def _run(run: Run, columns: Sequence[str], kept: frozenset[float]) -> dict[str, Any]:
    at = run.columns.index("iteration") if run.columns else 0
    rows = [row for row in run.rows if row[at] in kept]
    places = {name: run.columns.index(name) for name in columns if name in run.columns}
    trace = {name: _column([row[place] for row in rows], name) for name, place in places.items()}
    return {
        "seed": run.seed,
        "status": run.status,
        "counts": run.counts.as_dict(),
        "iterations": run.iterations,
        "seconds": _rounded(run.seconds, 4),
        "trace": trace if places else {"iteration": [], "seconds": []},
    }


def kept_iterations(runs: Sequence[Run], targets: Sequence[Stop]) -> frozenset[float]:
    """Return the recorded iterations that the page keeps, the same for all runs of a group.

    The last of each run are among them, and those at which one first reaches a target, so that its
    calls are exact.
    """
    recorded = [[row[run.columns.index("iteration")] for row in run.rows] for run in runs]
    every = np.unique(np.concatenate([np.asarray(one, dtype=float) for one in recorded]))
    if every.size <= ROWS:
        return frozenset(every.tolist())
    last = every.size - 1
    evenly = np.linspace(0, last, ROWS // 2)
    by_factors = np.geomspace(1, last + 1, ROWS // 2) - 1
    at = np.unique(np.concatenate([evenly, by_factors]).round().astype(int))
    kept = set(every[at].tolist()) | {iterations[-1] for iterations in recorded if iterations}
    for run, iterations in zip(runs, recorded, strict=True):
        firsts = (run.first(target.measure, target.target) for target in targets)
        kept |= {iterations[row] for row in firsts if row is not None}
    return frozenset(kept)


def _column(values: Sequence[Any], name: str) -> list[float | None]:
    if name in _WHOLE:
        return [int(step) for step in np.diff(np.asarray(values, dtype=np.int64), prepend=0)]
    return [_rounded(value, _DIGITS.get(name, 6)) for value in values]


def _rounded(value: float | None, digits: int) -> float | None:
    if value is None or not math.isfinite(value):
        return None
    number = float(f"{min(max(value, -LARGEST), LARGEST):.{digits}g}")
    return int(number) if number.is_integer() and abs(number) < 1e15 else number
