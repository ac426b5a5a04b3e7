"""Profiles of the share of targets reached against the number of calls."""

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pfbench.reporting.candidate_front import CandidateAgainstRivals
from pfbench.reporting.comparison import Comparison
from pfbench.reporting.panels import format_short, line_style
from pfbench.reporting.runtimes import CumulativeShare, ecdf
from pfbench.reporting.svg import COLUMN, PAGE, DeferredDrawing, PrintWidth, add_legend, new_figure
from pfbench.reporting.wording import AXES

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas


_LEFT = 0.7
"""The x-axis begins at this fraction of the fewest calls that reach any target."""


def draw_target_profiles(
    comparisons: Sequence[Comparison], labels: Sequence[str], width: PrintWidth = PAGE
) -> DeferredDrawing | None:
    """Return the drawing of a study, one panel for each price; None if it has no targets.

    Every problem (and setting) has equal weight, and so has every target. A line that ends at 0.6
    has never reached the other 40 %. The band is the 95 % interval over seeds (bootstrap,
    stratified by problem).

    Parameters
    ----------
    labels
        All algorithms of the report; the index of a label is the number of its line style.
    """
    if not comparisons[0].targets:
        return None
    title = f"{comparisons[0].results.study.title}: targets reached"
    return DeferredDrawing(title, partial(_draw_target_profiles, comparisons, labels, width))


def target_shares(comparison: Comparison) -> dict[str, CumulativeShare]:
    """Return the share of targets reached against the number of calls, for each algorithm.

    An algorithm that reaches its targets without any calls of this kind is left out.
    """
    shares = {}
    for label in comparison.results.study.labels:
        calls = [scored.calls for panel in comparison.panels if (scored := panel.find(label))]
        flat = [runtimes for by_target in calls for runtimes in by_target]
        if any(runtimes.calls_charged.any() or not runtimes.hits for runtimes in flat):
            shares[label] = ecdf(calls)
    return shares


def _draw_target_profiles(
    comparisons: Sequence[Comparison], labels: Sequence[str], width: PrintWidth
) -> "Canvas":
    columns = width.panels_per_row(len(comparisons))
    canvas, grid = new_figure(width, math.ceil(len(comparisons) / columns), columns)
    for index, comparison in enumerate(comparisons):
        axes, price = grid[index // columns][index % columns], str(comparison.price)
        _draw_shares(axes, target_shares(comparison), labels, AXES.get(price.lower(), price))
        if index % columns == 0:
            axes.set_ylabel("targets reached")
    add_legend(canvas, comparisons[0].results.study.labels, labels, width)
    return canvas


def _draw_shares(
    axes: "Axes", results: Mapping[str, CumulativeShare], labels: Sequence[str], title: str
) -> None:
    axes.set_visible(True)
    existing = [distribution.x[distribution.x > 0] for distribution in results.values()]
    x = np.concatenate(existing) if existing else np.empty(0)
    low, high = (float(x.min()), float(x.max())) if x.size else (1.0, 10.0)
    for label, share in results.items():
        _draw_distribution(axes, share, labels.index(label), _LEFT * low, high / _LEFT)
    layout_share_axes(axes, _LEFT * low, high / _LEFT, title)


def _draw_distribution(
    axes: "Axes", share: CumulativeShare, number: int, low: float, high: float
) -> None:
    look = line_style(number)
    # A step at each point, from the left edge to the right one.
    x = np.concatenate([[low], np.maximum(share.x, low), [high]])
    lines = share.share, share.low, share.high
    ends = (np.concatenate([[0.0], line, line[-1:] if line.size else [0.0]]) for line in lines)
    middle, lower, upper = ends
    axes.fill_between(x, lower, upper, step="post", color=look.color, alpha=0.14, linewidth=0)
    axes.step(
        x,
        middle,
        where="post",
        color=look.color,
        dashes=look.dash or (1, 0),
        linewidth=1.2,
        marker=look.marker,
        markersize=3,
        markevery=(number % 5, max(1, x.size // 4)),
    )


def layout_share_axes(axes: "Axes", low: float, high: float, title: str) -> None:
    """Set up axes that show shares from 0 to 1 against calls on a logarithmic scale."""
    axes.set_xscale("log")
    axes.set_xlim(low, high)
    axes.set_ylim(-0.02, 1.02)
    axes.set_yticks([0, 0.5, 1], ["0", "0.5", "1"])
    axes.grid(axis="y")
    axes.set_xlabel(title)
    axes.minorticks_off()
    ticks = powers_of_ten(low, high)
    if len(ticks) < 2:
        powers = range(math.ceil(math.log10(low)) - 1, math.floor(math.log10(high)) + 1)
        ticks = [digit * 10.0**power for power in powers for digit in (1, 2, 5)]
    ticks = [tick for tick in ticks if low <= tick <= high]
    axes.set_xticks(ticks, [format_short(tick) for tick in ticks])


def powers_of_ten(low: float, high: float) -> list[float]:
    """Return the powers of ten between two numbers."""
    first, last = math.ceil(math.log10(low)), math.floor(math.log10(high))
    return [10.0**power for power in range(first, last + 1)]


_GREY = "#c9c9c4"


class ProfileLine(NamedTuple):
    """A line of the profile on the page: its points, in a box of 1000 x 400, and its style."""

    label: str
    points: str
    number: int | None
    """Number of its line style; None for a grey line."""
    is_candidate: bool


class ProfileGraphic(NamedTuple):
    """The profile on the page."""

    lines: list[ProfileLine]
    ticks: list[tuple[float, str]]
    axis: str


def page_profile(front: CandidateAgainstRivals) -> ProfileGraphic:
    """Return the profile as the page draws it: grey lines first, the candidate last."""
    steps = front.calls_by_method()
    low, high = _calls_range(steps)
    wide = math.log(high / low)

    def y_position(calls: float) -> float:
        return 1000.0 * math.log(min(max(calls, low), high) / low) / wide

    def line(label: str, number: int | None) -> ProfileLine:
        points, share = [(0.0, 0.0)], 0.0
        for calls in steps.get(label, ()):
            points.append((y_position(calls), share))
            share += 1.0 / front.pair_count
            points.append((y_position(calls), share))
        points.append((1000.0, share))
        text = " ".join(f"{x:.1f},{400.0 * (1.0 - y):.1f}" for x, y in points)
        return ProfileLine(label, text, number, label in front.candidate_labels)

    highlights = front.methods_in_colour
    grey = [line(label, None) for label in steps if label not in highlights]
    coloured = [line(label, number) for number, label in enumerate(highlights)]
    ticks = [(y_position(tick), format_short(tick)) for tick in powers_of_ten(low, high)]
    return ProfileGraphic([*grey, *reversed(coloured)], ticks, _axis_title(front))


def draw_profile(front: CandidateAgainstRivals, width: PrintWidth = COLUMN) -> DeferredDrawing:
    """Return the profile for a paper, in which the grey lines have no names."""
    return DeferredDrawing(f"{front.label}: profile", partial(_draw_print_profile, front, width))


def _draw_print_profile(front: CandidateAgainstRivals, width: PrintWidth) -> "Canvas":
    canvas, grid = new_figure(width, 1, 1)
    axes, steps = grid[0][0], front.calls_by_method()
    axes.set_visible(True)
    low, high = _calls_range(steps)
    for label in [
        *(step for step in steps if step not in front.methods_in_colour),
        *reversed(front.methods_in_colour),
    ]:
        number = front.methods_in_colour.index(label) if label in front.methods_in_colour else None
        look = line_style(number or 0)
        calls = [low, *steps.get(label, ()), high]
        share = [k / front.pair_count for k in range(len(calls) - 1)]
        axes.step(
            calls,
            [*share, share[-1]],
            where="post",
            color=_GREY if number is None else look.color,
            dashes=(1, 0) if number is None else look.dash or (1, 0),
            linewidth=0.5 if number is None else 2.2 if label in front.candidate_labels else 1.1,
        )
    layout_share_axes(axes, low, high, _axis_title(front))
    axes.set_ylabel("share of pairs reached")
    add_legend(canvas, front.methods_in_colour, front.methods_in_colour, width, markers=False)
    return canvas


def _axis_title(front: CandidateAgainstRivals) -> str:
    return f"expected {AXES.get(str(front.price).lower(), str(front.price))}"


def _calls_range(steps: dict[str, list[float]]) -> tuple[float, float]:
    existing = [calls for step in steps.values() for calls in step]
    low, high = (min(existing), max(existing)) if existing else (1.0, 10.0)
    return 0.8 * low, max(high, 2.0 * low) / 0.8
