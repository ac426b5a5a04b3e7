"""Figures for publication, as SVG for the web and PDF for papers.

Equal data give files with equal bytes.
"""

import io
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import as_file, files
from itertools import product
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from pfbench.reporting.panels import AxisScale, FigureData, format_with_si_suffix, line_style
from pfbench.reporting.seed_curves import MedianBand
from pfbench.reporting.wording import AXES, measure_label

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

_POINTS, _MARKERS = 1600, 400
"""Maximum points and markers of all lines together, which keep a file below 300 kB."""

_LEGEND = 0.4
"""Height in inches that a figure reserves for its legend of two rows."""

LOOK = files("pfbench.reporting") / "print.mplstyle"
"""The matplotlib style sheet of printed figures."""


WIDTH, ROW_HEIGHT = 6.75, 1.6
"""Width of a page of text, and height of a row of panels, in inches."""

_COLUMNS, _LEGEND_COLUMNS = 5, 6
"""Maximum numbers of panels, and of legend entries, side by side."""


def panels_per_row(panels: int) -> int:
    """Return the number of panels in a row, chosen so that rows are about equally full."""
    return math.ceil(panels / math.ceil(panels / _COLUMNS))


@dataclass(frozen=True)
class DeferredDrawing:
    """Figure that is not drawn yet: its title, and the function that draws it.

    Attributes
    ----------
    title
        Title in the metadata of the file.
    canvas
        Function that draws the figure and returns it.
    """

    title: str
    canvas: "Callable[[], Canvas]"


_METADATA: Mapping[str, Mapping[str, None]] = MappingProxyType(
    {
        "svg": {"Date": None, "Creator": None},
        "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
    }
)


def render(drawing: DeferredDrawing, *forms: str) -> list[bytes]:
    """Draw a figure once, and return it as a file in each of the given formats, svg or pdf."""
    import matplotlib as mpl

    files = []
    with mpl.rc_context(), as_file(LOOK) as look:
        mpl.rcdefaults()
        mpl.rc_file(look, use_default_template=False)
        canvas = drawing.canvas()
        for form in forms:
            file = io.BytesIO()
            metadata: dict[str, Any] = {"Title": drawing.title, **_METADATA[form]}
            canvas.savefig(file, format=form, metadata=metadata)
            canvas.set_layout_engine("none")  # the next format has the same layout
            files.append(file.getvalue())
    return files


def curves_drawing(figure: FigureData, labels: Sequence[str]) -> DeferredDrawing:
    """Return the figure of a study's curves, with one or more rows of panels for each measure.

    Parameters
    ----------
    figure
        Contents of the figure.
    labels
        All algorithms of the report; the index of a label is the number of its line style.
    """
    study, panels = figure.results.study, figure.results.panels
    columns = panels_per_row(len(panels))
    deep = math.ceil(len(panels) / columns)  # rows of each measure
    lines = len(study.measures) * len(panels) * len(study.labels)
    max_count, markers = min(41, max(9, _POINTS // lines)), min(5, max(1, _MARKERS // lines))

    def draw() -> "Canvas":
        canvas, grid = new_figure(len(study.measures) * deep, columns)
        for (row, measure), (index, panel) in product(enumerate(study.measures), enumerate(panels)):
            axes = grid[row * deep + index // columns][index % columns]
            scale = figure.scales[measure, panel.problem]
            first = index % columns == 0 or panel.problem != panels[index - 1].problem
            left, right = figure.spans[index] if figure.log else (0.0, figure.spans[index][1])
            axes.set_visible(True)
            for line in figure.lines[measure, index]:
                number, band = labels.index(line.label), line.band.thin(max_count, log=figure.log)
                _draw_band(axes, band, number, scale, markers)
                for end in line.endings:
                    x, y = max(end.x, left), min(max(end.y, scale.low), scale.high)
                    cross = {"marker": "x", "markersize": 5, "zorder": 5, "clip_on": False}
                    axes.plot(x, y, color=line_style(number).color, **cross)
            _layout_y_axis(axes, scale, is_named=first)
            _set_x_limits_and_ticks(axes, left, right, log=figure.log)
            if row == 0 or deep > 1:
                axes.set_title(panel.title)
            if index % columns == 0:
                axes.set_ylabel(break_label(measure_label(measure)))
        canvas.supxlabel(AXES[figure.axis], fontsize=8.0)
        canvas.align_ylabels(grid[:, 0])
        add_legend(canvas, study.labels, labels)
        return canvas

    return DeferredDrawing(study.title, draw)


def new_figure(rows: int, columns: int) -> "tuple[Canvas, Any]":
    """Return an empty figure and the grid of its axes, each of which is invisible at first."""
    from matplotlib.figure import Figure as Canvas

    canvas = Canvas(figsize=(WIDTH, 0.7 + ROW_HEIGHT * rows), layout="constrained")
    grid = canvas.subplots(rows, columns, squeeze=False)
    for axes in grid.flat:
        axes.set_visible(False)
    return canvas, grid


def add_legend(canvas: "Canvas", displayed: Sequence[str], labels: Sequence[str]) -> None:
    """Add a legend above a figure, with as many entries in a row as fit."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.lines import Line2D

    handles = [
        Line2D([], [], **style | {"markersize": 3.5})
        for style in (plot_style(labels.index(label)) for label in displayed)
    ]
    FigureCanvasAgg(canvas)  # gives the figure what measures texts
    upper = WIDTH * canvas.dpi
    for side_by_side in range(min(len(handles), _LEGEND_COLUMNS), 0, -1):
        legend = canvas.legend(
            handles,
            displayed,
            loc="outside upper center",
            ncols=side_by_side,
            frameon=False,
            handlelength=3.2,
            columnspacing=1.2,
        )
        box = legend.get_window_extent()
        if box.width <= upper or side_by_side == 1:
            break
        legend.remove()
    # The panels keep their height, whatever the legend takes.
    canvas.set_figheight(canvas.get_figheight() + max(0.0, box.height / canvas.dpi - _LEGEND))


def _draw_band(axes: "Axes", band: MedianBand, number: int, scale: AxisScale, markers: int) -> None:
    edges = scale.line_clip_range
    floor = max(scale.low, edges[0]) if scale.log else edges[0]
    low, high = band.low.clip(floor, edges[1]), band.high.clip(floor, edges[1])
    color = line_style(number).color
    axes.fill_between(band.x, low, high, color=color, alpha=0.16, linewidth=0)
    frequency = max(1, band.x.size // markers)
    # Each algorithm's markers begin elsewhere, so that they do not hide one another.
    marked = number % 5 * frequency // 5, frequency
    axes.plot(
        band.x, band.median.clip(*edges), linewidth=1.2, **plot_style(number), markevery=marked
    )


def plot_style(algorithm_index: int) -> dict[str, Any]:
    """Return the line style of the algorithm with this index, as matplotlib keywords."""
    look = line_style(algorithm_index)
    return {
        "color": look.color,
        "dashes": look.dash or (1, 0),
        "marker": look.marker,
        "markersize": 3,
    }


def _layout_y_axis(axes: "Axes", scale: AxisScale, *, is_named: bool) -> None:
    axes.set_ylim(scale.low, scale.high)  # first, or the scale would seek limits of its own
    axes.set_yscale("log" if scale.log else "linear")
    axes.minorticks_off()
    texts = [text if is_named else "" for _, text in scale.ticks]
    axes.set_yticks([value for value, _ in scale.ticks], texts)
    axes.grid(axis="y")


def _set_x_limits_and_ticks(axes: "Axes", min_x: float, max_x: float, *, log: bool) -> None:
    """Set the limits and ticks of the x-axis.

    The axis is linear if no x is positive.
    """
    if log and min_x > 0.0:
        from matplotlib.ticker import LogLocator, NullLocator

        axes.set_xscale("log")
        axes.set_xlim(min_x / 1.1, 1.1 * max_x)
        axes.xaxis.set_major_locator(LogLocator(numticks=4))
        axes.xaxis.set_minor_locator(NullLocator())
    else:
        axes.set_xlim(0.0, 1.02 * max_x or 1.0)
        axes.locator_params(axis="x", nbins=3)
    axes.xaxis.set_major_formatter(lambda x, _: format_with_si_suffix(x))


def break_label(name: str) -> str:
    """Break a label of 22 characters or more into two lines, near its middle."""
    if len(name) < 22:
        return name
    spaces = [index for index, letter in enumerate(name) if letter == " "]
    middle = min(spaces, key=lambda index: abs(index - len(name) / 2), default=None)
    return name if middle is None else f"{name[:middle]}\n{name[middle + 1 :]}"
