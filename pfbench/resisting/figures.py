"""Figures: gaps against LO calls with the lower bound, and calls against epsilon."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pfbench.base.errors import InputError
from pfbench.base.files import check_writable, translate_os_errors
from pfbench.problems.chain_bounds import PAPER_SMOOTHNESS
from pfbench.problems.zero_chain import DEPTH, GAP, chain_smoothness
from pfbench.resisting.certificate import AdversaryOutcome
from pfbench.resisting.rescaled_family import FamilyRun, lower_bound_constant

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

EXTRA = 'pip install "pfbench[report]"'

_DATES: dict[str, Any] = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}, ".png": {}}
"""Metadata of each file type that suppress the date."""

# Okabe and Ito's colours, which colour-blind readers can tell apart; every line has a marker too.
_COLORS = ("#222222", "#e69f00", "#56b4e9", "#d55e00", "#0072b2", "#009e73", "#cc79a7", "#8a8a8a")
_MARKERS = ("o", "s", "^", "D", "v")

_BOUND = "#b00020"

_LOOK: Any = {
    "axes.spines.right": False,
    "axes.spines.top": False,
    "font.size": 9.0,
    "pdf.fonttype": 42,
    "svg.hashsalt": "pfbench",
}


def check_figure(path: Path) -> None:
    """Raise if a figure cannot be drawn, before anything runs.

    Raises
    ------
    InputError
        If its suffix is unknown, it cannot be written, or matplotlib is not installed.
    """
    if path.suffix not in _DATES:
        raise InputError(f"the figure {path} must end in {', '.join(_DATES)}.")
    check_writable(path, f"the figure {path}")
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise InputError(f"a figure needs matplotlib: {EXTRA}.") from None


def draw_gaps(outcomes: Sequence[tuple[str, AdversaryOutcome]], path: Path) -> None:
    """Draw the gap of each algorithm against its calls, with the lower bound and T marked.

    The curve is the smallest gap among the points reached with each number of calls. An algorithm
    that is certified for gradient queries only is drawn against those.

    Parameters
    ----------
    outcomes
        Labels and outcomes, all of one horizon.
    path
        The file, .svg, .pdf or .png.

    Raises
    ------
    InputError
        If the horizons differ, or the file cannot be drawn.
    StorageError
        If it cannot be written.
    """
    horizons = {outcome.certificate.horizon for _, outcome in outcomes}
    if len(horizons) != 1:
        raise InputError("a figure shows one horizon: draw other horizons in other figures.")
    T = horizons.pop()
    figure, axes = _canvas(path)
    for number, (label, outcome) in enumerate(outcomes):
        counted = outcome.certificate.certified_for or "lo"
        calls, gaps = _list_min_gaps(outcome, counted)
        note = " (gradient queries)" if counted == "gradient" else ""
        _line(axes, number, calls, gaps, f"{label}{note}", frequency=max(1, len(calls) // 8))
    axes.axhline(2.0 * GAP, color=_BOUND, linewidth=1.0)
    axes.axvline(T, color=_BOUND, linewidth=1.0, linestyle=(0, (4, 3)))
    axes.set_yscale("log")
    # What happens long after T, or far below the floor, says nothing about it.
    axes.set_xlim(-0.02 * T, min(2.0 * T, 1.02 * max(axes.dataLim.x1, 1.05 * T)))
    axes.set_ylim(0.2 * GAP, 2.0 * axes.dataLim.y1)
    axes.text(0.0, 2.0 * GAP, "floor 0.08 R", color=_BOUND, va="bottom")
    axes.text(T, 0.22 * GAP, " T", color=_BOUND, va="bottom")
    axes.yaxis.set_major_formatter(_format_tick)
    axes.yaxis.set_minor_formatter("")
    axes.set_xlabel("LO calls")
    axes.set_ylabel("Frank-Wolfe gap / R")
    axes.set_title(f"Against the resisting oracle, T = {T}")
    _save(figure, axes, path)


def _list_min_gaps(outcome: AdversaryOutcome, count_kind: str) -> tuple[list[int], list[float]]:
    """Return numbers of calls, and the smallest gap/R of the points reached with each."""
    radius = 230.0 * math.sqrt(outcome.certificate.horizon)
    results: dict[int, float] = {}
    for passed in outcome.answer_check.visited_points:
        calls = getattr(passed, count_kind)
        results[calls] = min(results.get(calls, math.inf), passed.gap / radius)
    return list(results), list(results.values())


def draw_calls(runs: Sequence[FamilyRun], path: Path) -> None:
    """Draw LO calls to V <= eps D against epsilon, between the lower and upper bounds.

    Below are the lower bounds T(eps), with the certified smoothness and with the paper's 3^15;
    above, what lacoste2016 (6), qu2018 and shen2019 guarantee on this family, where
    D^2 = 460^2 l delta/(12 L).

    Parameters
    ----------
    runs
        Runs with one L and delta; runs that did not reach their target are drawn hollow.
    path
        The file, .svg, .pdf or .png.

    Raises
    ------
    InputError
        If L or delta differ, or the file cannot be drawn.
    StorageError
        If it cannot be written.
    """
    if len({(run.L, run.delta) for run in runs}) != 1:
        raise InputError("a figure shows one L and one delta: draw others in other figures.")
    figure, axes = _canvas(path)
    unit = runs[0].L * runs[0].delta
    epsilons = sorted({run.epsilon for run in runs})
    for number, label in enumerate(dict.fromkeys(run.algorithm for run in runs)):
        some = sorted((r for r in runs if r.algorithm == label), key=lambda run: run.epsilon)
        _line(axes, number, [r.epsilon for r in some], [r.calls for r in some], label)
        for run in some:
            if run.censored:
                axes.plot(run.epsilon, run.calls, marker="o", markersize=9, mfc="none", mec="#222")
    ends = [epsilons[0] / 1.2, epsilons[-1] * 1.2]
    for constant, name, dashes in _list_bound_constants():
        calls = [constant * unit / epsilon**2 for epsilon in ends]
        axes.plot(ends, calls, color=_BOUND, linewidth=1.0, dashes=dashes, label=name)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.minorticks_off()
    axes.set_xticks(epsilons, [f"{epsilon:.2g}" for epsilon in epsilons])
    axes.yaxis.set_major_formatter(_format_tick)
    axes.set_xlabel("epsilon (target: gap ≤ epsilon D)")
    axes.set_ylabel("LO calls")
    axes.set_title("The rescaled chain; hollow rings: target not reached")
    _save(figure, axes, path)


def _list_bound_constants() -> list[tuple[float, str, tuple[int, ...]]]:
    """Return the constants c of bounds c L delta/eps^2, with labels and line dashes."""
    scale = chain_smoothness()
    square = 460.0**2 * scale / DEPTH  # L D^2/delta
    return [
        (square, "above: lacoste2016 (6), Frank-Wolfe", (1, 0)),
        (8.0, "above: qu2018 option I, eta = eps D", (6, 3)),
        (2.0, "above: shen2019, nfwu with exact gradients", (6, 2, 2, 2)),
        (lower_bound_constant(scale), "below: T(eps), certified l", (4, 2)),
        (lower_bound_constant(PAPER_SMOOTHNESS), "below: T(eps), l = 3^15", (1, 2)),
    ]


# --- what both share ------------------------------------------------------------------------------


def _canvas(path: Path) -> "tuple[Figure, Axes]":
    check_figure(path)
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    with rc_context(_LOOK):
        figure = Figure(figsize=(7.6, 5.2), layout="constrained")
        return figure, figure.subplots()


def _format_tick(number: float, _: object) -> str:
    """Return a tick's label, for powers of ten."""
    return f"{number:g}" if 1e-3 <= number < 1e5 else f"1e{math.log10(number):.0f}"


def _line(
    axes: "Axes",
    number: int,
    x: Sequence[float],
    y: Sequence[float],
    label: str,
    frequency: int = 1,
) -> None:
    axes.plot(
        x,
        y,
        color=_COLORS[number % len(_COLORS)],
        marker=_MARKERS[number % len(_MARKERS)],
        linestyle=("-", "--")[number // len(_COLORS) % 2],
        markersize=4,
        # Each line's markers begin elsewhere, so that they do not hide one another.
        markevery=(number % frequency, frequency),
        linewidth=1.2,
        label=label,
    )


def _save(figure: "Figure", axes: "Axes", path: Path) -> None:
    from matplotlib import rc_context

    axes.grid(color="#e4e4e0", linewidth=0.6)
    axes.set_axisbelow(True)
    figure.legend(loc="outside lower center", ncols=2, frameon=False, fontsize=8.0)
    with translate_os_errors(f"the figure {path}"), rc_context(_LOOK):
        figure.savefig(path, metadata=_DATES[path.suffix], dpi=120)
