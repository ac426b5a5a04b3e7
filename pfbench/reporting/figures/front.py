"""The profile of one method among others: the share of pairs reached by so many calls."""

import math
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from pfbench.reporting.figures.reached import decades, frame
from pfbench.reporting.figures.style import style
from pfbench.reporting.figures.svg import COLUMN, Drawing, Width, add_legend, begun, short
from pfbench.reporting.findings.front import Front
from pfbench.reporting.words import AXES

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

_GREY = "#c9c9c4"


class Line(NamedTuple):
    """A line of the profile on the page: points in a box of 1000 times 400, and how it looks."""

    label: str
    points: str
    number: int | None
    """Its style; None for one that is grey."""
    mine: bool


class Profile(NamedTuple):
    """The profile on the page."""

    lines: list[Line]
    ticks: list[tuple[float, str]]
    axis: str


def profile(front: Front) -> Profile:
    """Return the profile as the page draws it, grey lines first, and the method itself last."""
    steps = front.steps()
    low, high = _ends(steps)
    wide = math.log(high / low)

    def at(calls: float) -> float:
        return 1000.0 * math.log(min(max(calls, low), high) / low) / wide

    def line(label: str, number: int | None) -> Line:
        points, share = [(0.0, 0.0)], 0.0
        for calls in steps.get(label, ()):
            points.append((at(calls), share))
            share += 1.0 / front.pairs
            points.append((at(calls), share))
        points.append((1000.0, share))
        text = " ".join(f"{x:.1f},{400.0 * (1.0 - y):.1f}" for x, y in points)
        return Line(label, text, number, label in front.mine)

    shown = front.shown
    grey = [line(label, None) for label in steps if label not in shown]
    coloured = [line(label, number) for number, label in enumerate(shown)]
    ticks = [(at(tick), short(tick)) for tick in decades(low, high)]
    return Profile([*grey, *reversed(coloured)], ticks, _axis(front))


def drawn(front: Front, width: Width = COLUMN) -> Drawing:
    """Return the profile for a paper; the grey lines of the others have no names there."""
    return Drawing(f"{front.label}: profile", partial(_drawn, front, width))


def _drawn(front: Front, width: Width) -> "Canvas":
    canvas, grid = begun(width, 1, 1)
    axes, steps = grid[0][0], front.steps()
    axes.set_visible(True)
    low, high = _ends(steps)
    for label in [*(one for one in steps if one not in front.shown), *reversed(front.shown)]:
        number = front.shown.index(label) if label in front.shown else None
        look = style(number or 0)
        calls = [low, *steps.get(label, ()), high]
        share = [k / front.pairs for k in range(len(calls) - 1)]
        axes.step(
            calls,
            [*share, share[-1]],
            where="post",
            color=_GREY if number is None else look.color,
            dashes=(1, 0) if number is None else look.dash or (1, 0),
            linewidth=0.5 if number is None else 2.2 if label in front.mine else 1.1,
        )
    frame(axes, low, high, _axis(front))
    axes.set_ylabel("share of pairs reached")
    add_legend(canvas, front.shown, front.shown, width, markers=False)
    return canvas


def _axis(front: Front) -> str:
    return f"expected {AXES.get(str(front.price).lower(), str(front.price))}"


def _ends(steps: dict[str, list[float]]) -> tuple[float, float]:
    known = [calls for of in steps.values() for calls in of]
    low, high = (min(known), max(known)) if known else (1.0, 10.0)
    return 0.8 * low, max(high, 2.0 * low) / 0.8
