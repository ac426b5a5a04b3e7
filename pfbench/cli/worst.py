"""``pfbench verify --worst-case FILE.py:NAME``: worst cases of somebody's own, step by step."""

import math
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.text import Text

from pfbench.base.visible import visible
from pfbench.cli import printing
from pfbench.cli.tables import columns, heading, show
from pfbench.cli.words import plural

if TYPE_CHECKING:
    from pfbench.cli.work import Work
    from pfbench.verification.worst_case import Asked, Worst

_MOST_LINES = 16
"""Lines of the longest proof that is shown; JSON has all."""


def show_worst_cases(work: "Work", reference: str, within: str) -> None:
    """Compute them, write them as JSON if asked, and show them; exit if a bound is exceeded."""
    from pfbench.verification.worst_case import asked

    found = list(asked(reference, within, full=work.effort == "full"))
    work.write({"schema": 1, "name": reference, "worst_cases": [one.as_json() for one in found]})
    if not work.quiet:
        show(_shown(found, reference, str(work.target or "")))
    printing.exit_if(any(one.broken for one in found))


def _shown(found: "list[Asked]", reference: str, file: str) -> RenderableType:
    from pfbench.verification.worst_case.asked import QUICK

    worst = found[0].worst
    claimed = found[0].bound is not None
    head = ("steps", "worst case", *(("bound", "share") if claimed else ()), "a run on it")
    rows = []
    for one in found:
        value = one.worst.value
        bound = (f"{one.bound:.6g}", f"{value / one.bound:.4f}") if one.bound is not None else ()
        rows.append((str(one.worst.steps), f"{value:.6g}", *bound, f"{one.run:.6g}"))
    points = "x_N" if worst.over == "last" else "x_0 .. x_{N-1}"
    title = (
        f"{reference}: {worst.over} {worst.measure} at {points}, the largest over {_class(worst)}"
    )
    parts: list[RenderableType] = [Text(visible(title)), columns(head, rows)]
    if any(one.broken for one in found):
        parts.append(Text("the worst case exceeds the bound: the claim is violated", "bold red"))
    parts += _proof(found)
    if worst.steps < found[-1].worst.steps < QUICK:
        parts.append(Text("more steps have too many unknowns for a quick look: see --full"))
    if file:
        place = "pfbench.verification.worst_case.interpolated:WorstFunction"
        example = f'pfbench solve -p "{place}[file={file},steps={worst.steps}]" -a ...'
        parts.append(Text(visible(f"a worst function is a problem: {example}")))
    return Group(*parts)


def _proof(found: "list[Asked]") -> list[RenderableType]:
    """Return the longest proof that can be read."""
    short = [
        (one.worst.steps, lines)
        for one in found
        if one.worst.proof and len(lines := [*one.worst.proof.lines()]) <= _MOST_LINES
    ]
    if not short:
        return []
    steps, lines = short[-1]
    words = f"none is worse, as the multipliers of {plural(steps, 'step')} prove"
    return [heading(words, *map(visible, lines))]


def _class(worst: "Worst") -> str:
    """Return the functions and sets that are looked at, in words."""
    within = worst.within
    sums = f"means of {within.n} " if within.n > 1 else ""
    kind = "convex functions" if within.convex else "functions"
    of = [f"L = {within.L:g}"]
    if math.isfinite(within.delta):
        of.append(f"f(x_0) - min f <= {within.delta:g}")
    where = f"on sets of diameter {within.D:g}" if worst.constrained else "on the whole space"
    return f"{sums}{kind}, {', '.join(of)}, {where}"
