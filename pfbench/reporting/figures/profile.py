"""Profile of one method among others: share of (problem, target) pairs against calls."""

import math
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from pfbench.reporting.figures.panels import format_short
from pfbench.reporting.figures.style import line_style
from pfbench.reporting.figures.svg import (
    COLUMN,
    DeferredDrawing,
    PrintWidth,
    add_legend,
    new_figure,
)
from pfbench.reporting.figures.target_profiles import layout_share_axes, powers_of_ten
from pfbench.reporting.findings.candidate_front import CandidateAgainstRivals
from pfbench.reporting.wording import AXES

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

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
