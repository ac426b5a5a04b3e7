"""Colours, dashes and markers of a figure's lines, the same on the page and in print.

Colours are those of Okabe and Ito, which colour-blind readers can tell apart; every line also has
a dash and a marker of its own. The first is the ink of the page, dark or light.
"""

from dataclasses import dataclass

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
    """Colour, dash (lengths of dashes and gaps in px, empty: solid) and marker of one line."""

    color: str
    on_dark: str
    dash: tuple[int, ...]
    marker: str
    path: str


def line_style(number: int) -> LineStyle:
    """Return the colour, dash and marker of the algorithm with this number."""
    color = _COLORS[number % len(_COLORS)]
    marker, path = _MARKERS[number % len(_MARKERS)]
    dash = _DASHES[number % len(_DASHES)]
    return LineStyle(color, _ON_DARK.get(color, color), dash, marker, path)
