"""Profiles: the share of targets that methods reach, against the number of oracle calls."""

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from pfbench.reporting import svg
from pfbench.reporting.comparison import Comparison
from pfbench.reporting.panels import format_with_si_suffix, line_style, log_ticks
from pfbench.reporting.runtimes import CumulativeShare, ecdf
from pfbench.reporting.wording import AXES

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas


_LEFT = 0.7
"""The x-axis begins at this fraction of the fewest calls that reach any target."""


def draw_target_profiles(
    comparisons: Sequence[Comparison], labels: Sequence[str]
) -> svg.DeferredDrawing | None:
    """Return a figure of the shares of targets reached, with a panel for each way to count costs.

    Every problem and setting has equal weight, and so has every target. A line that ends at 0.6
    never reaches the other 40 % of the targets. The band is the 95 % interval over seeds, from a
    bootstrap stratified by problem. Return None if the study has no targets.

    Parameters
    ----------
    labels
        All algorithms of the report; the index of a label is the number of its line style.
    """
    study = comparisons[0].results.study
    if not study.targets:
        return None
    columns = svg.panels_per_row(len(comparisons))

    def draw() -> "Canvas":
        canvas, grid = svg.new_figure(math.ceil(len(comparisons) / columns), columns)
        for index, comparison in enumerate(comparisons):
            axes, price = grid[index // columns][index % columns], str(comparison.price)
            title = AXES.get(price.lower(), price)
            _draw_shares(axes, target_shares(comparison), labels, title)
            if index % columns == 0:
                axes.set_ylabel("targets reached")
        svg.add_legend(canvas, study.labels, labels)
        return canvas

    return svg.DeferredDrawing(f"{study.title}: targets reached", draw)


def target_shares(comparison: Comparison) -> dict[str, CumulativeShare]:
    """Return, for each algorithm, the share of targets reached against the number of calls.

    An algorithm that reaches its targets without any calls of this kind is left out.
    """
    shares = {}
    for label in comparison.results.study.labels:
        calls = [scored.calls for panel in comparison.panels if (scored := panel.find(label))]
        flat = [runtimes for by_target in calls for runtimes in by_target]
        if any(runtimes.calls_charged.any() or not runtimes.hits for runtimes in flat):
            shares[label] = ecdf(calls)
    return shares


def _draw_shares(
    axes: "Axes", results: Mapping[str, CumulativeShare], labels: Sequence[str], title: str
) -> None:
    axes.set_visible(True)
    x = np.concatenate([np.empty(0), *(share.x[share.x > 0] for share in results.values())])
    low, high = (float(x.min()), float(x.max())) if x.size else (1.0, 10.0)
    left, right = _LEFT * low, high / _LEFT
    for label, share in results.items():
        number = labels.index(label)
        # A step at each point, from the left edge to the right one.
        x = np.concatenate([[left], np.maximum(share.x, left), [right]])
        middle, lower, upper = (
            np.concatenate([[0.0], line, line[-1:] if line.size else [0.0]])
            for line in (share.share, share.low, share.high)
        )
        color, marked = line_style(number).color, (number % 5, max(1, x.size // 4))
        axes.fill_between(x, lower, upper, step="post", color=color, alpha=0.14, linewidth=0)
        axes.step(
            x, middle, where="post", linewidth=1.2, **svg.plot_style(number), markevery=marked
        )
    _layout_share_axes(axes, left, right, title)


def _layout_share_axes(axes: "Axes", low: float, high: float, title: str) -> None:
    """Set up axes for shares from 0 to 1 against the number of calls, on a logarithmic scale."""
    axes.set_xscale("log")
    axes.set_xlim(low, high)
    axes.set_ylim(-0.02, 1.02)
    axes.set_yticks([0, 0.5, 1], ["0", "0.5", "1"])
    axes.grid(axis="y")
    axes.set_xlabel(title)
    axes.minorticks_off()
    ticks = [tick for tick, _ in log_ticks(low, high)]
    axes.set_xticks(ticks, [format_with_si_suffix(tick) for tick in ticks])
