"""The figures of the page: the data that its script hands to plotly.js."""

import json
import math
from collections.abc import Sequence
from typing import Any

from pfbench.reporting.panels import Figure, Line
from pfbench.reporting.statistics import Final, final
from pfbench.reporting.style import style
from pfbench.reporting.tables import middle
from pfbench.reporting.words import AXES, listed, measure_name

_POINTS = 120


def plotly_js() -> str:
    """Return the source of plotly.js, for a page that must open without a network."""
    from plotly.offline import get_plotlyjs

    source: str = get_plotlyjs()
    return source.replace("</script", "<\\/script")


def as_json(figures: Sequence[Figure], labels: Sequence[str]) -> str:
    """Return all figures as JSON that can stand inside a script element.

    Parameters
    ----------
    figures
        One for each study.
    labels
        All algorithms of the report; the position of one is the number of its style.
    """
    styles = [style(number) for number in range(len(labels))]
    content = {
        "algorithms": [
            {"label": label, "symbol": look.symbol, "dash": _dash(look.dash)}
            for label, look in zip(labels, styles, strict=True)
        ],
        "axes": {axis: AXES[axis] for axis in offered(figures)},
        "studies": [_study(drawn, labels) for drawn in figures],
    }
    text = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    # Inside a script element only these could end it or start a comment.
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def offered(figures: Sequence[Figure]) -> list[str]:
    """Return what the figures of a page can have on their x-axis."""
    return [axis for axis in AXES if any(axis in drawn.axes for drawn in figures)]


def description(drawn: Figure, measure: str, at: int) -> str:
    """Return what a panel shows, for those who cannot see it."""
    panel = drawn.results.panels[at]
    ends = [
        f"{group.label} ends at {_spoken(final(group.runs, measure))}" for group in panel.groups
    ]
    return f"{measure_name(measure)} at {panel.title}: {listed(ends)}."


def _spoken(value: Final) -> str:
    return "no value" if math.isnan(value.median) else middle(value)


def _study(drawn: Figure, labels: Sequence[str]) -> dict[str, Any]:
    study, panels = drawn.results.study, len(drawn.results.panels)
    return {
        "measures": [
            {
                "name": measure_name(measure),
                "log": scale.log,
                "range": [_axis_end(scale.log, scale.low), _axis_end(scale.log, scale.high)],
                "ticks": [value for value, _ in scale.ticks],
                "texts": [text for _, text in scale.ticks],
            }
            for measure, scale in drawn.scales.items()
        ],
        "axes": {
            axis: {
                "without": drawn.without[axis],
                "widths": [_round(drawn.widths[axis, at]) for at in range(panels)],
                "panels": [
                    [
                        [
                            _line(line, labels, len(study.seeds), drawn.scales[measure].low)
                            for line in drawn.lines[axis, measure, at]
                        ]
                        for at in range(panels)
                    ]
                    for measure in study.measures
                ],
            }
            for axis in drawn.axes
        },
        "columns": panels,
        "seeds": len(study.seeds),
    }


def _line(line: Line, labels: Sequence[str], seeds: int, floor: float) -> dict[str, Any]:
    band = line.band.thinned(_POINTS)
    found: dict[str, Any] = {
        "algorithm": labels.index(line.label),
        "x": _rounded(band.x),
        "median": _rounded(band.median),
        # A band may reach down to zero, which a logarithmic axis does not.
        "low": _rounded(max(low, floor) for low in band.low),
        "high": _rounded(max(high, floor) for high in band.high),
    }
    if any(number != seeds for number in band.runs):
        found["runs"] = [int(number) for number in band.runs]
    if line.endings:
        found["ends"] = [
            {"x": _round(end.x), "y": _round(end.y), "text": f"seed {end.seed}: {end.status}"}
            for end in line.endings
        ]
    return found


def _axis_end(log: bool, value: float) -> float:
    return _round(math.log10(value) if log else value)


def _rounded(values: Any) -> list[float]:
    return [_round(value) for value in values]


def _round(value: float) -> float:
    number = float(f"{value:.6g}")
    return int(number) if number.is_integer() else number


def _dash(lengths: tuple[int, ...]) -> str:
    return ",".join(f"{length}px" for length in lengths) or "solid"
