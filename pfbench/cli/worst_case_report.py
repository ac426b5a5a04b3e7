"""``pfbench worst-case FILE.py:NAME``: worst cases of user-defined methods."""

import math
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.text import Text

from pfbench.base.escaping import escape_text
from pfbench.cli import terminal
from pfbench.cli.terminal_tables import make_table, print_parts

if TYPE_CHECKING:
    from pfbench.cli.verification_job import VerificationJob
    from pfbench.verification.worst_case import ComputedWorstCase, WorstCaseCheck


def show_worst_cases(work: "VerificationJob", reference: str, function_class: str) -> None:
    """Compute and show worst cases, with JSON if requested; exit if a bound is exceeded."""
    from pfbench.verification.worst_case import check_worst_cases

    checks = list(check_worst_cases(reference, function_class, full=work.effort == "full"))
    work.write_json({"name": reference, "worst_cases": [check.as_json() for check in checks]})
    if not work.is_quiet:
        print_parts(_render_worst_cases(checks, reference, str(work.target or "")))
    terminal.exit_if(any(check.is_violated for check in checks))


def _render_worst_cases(
    results: "list[WorstCaseCheck]", reference: str, file: str
) -> RenderableType:
    from pfbench.verification.worst_case.requests import QUICK

    worst = results[0].worst_case
    claimed = results[0].bound is not None
    head = ("steps", "worst case", *(("bound", "share") if claimed else ()), "a run on it")
    rows = []
    for check in results:
        value = check.worst_case.value
        bound = (
            (f"{check.bound:.6g}", f"{value / check.bound:.4f}") if check.bound is not None else ()
        )
        rows.append((str(check.worst_case.steps), f"{value:.6g}", *bound, f"{check.run_value:.6g}"))
    points = "x_N" if worst.statistic == "last" else "x_0 .. x_{N-1}"
    title = f"{reference}: {worst.statistic} {worst.measure} at {points}, the largest over {_describe_function_class(worst)}"  # noqa: E501
    parts: list[RenderableType] = [Text(escape_text(title)), make_table(head, rows)]
    if any(result.is_violated for result in results):
        parts.append(Text("the worst case exceeds the bound: the claim is violated", "bold red"))
    if worst.steps < results[-1].worst_case.steps < QUICK:
        parts.append(Text("more steps are left out: they have too many unknowns"))
    if file:
        location = "pfbench.verification.worst_case.worst_function:WorstFunction"
        example = f'pfbench solve -p "{location}[file={file},steps={worst.steps}]" -a ...'
        parts.append(Text(escape_text(f"to run a method on a worst function: {example}")))
    return Group(*parts)


def _describe_function_class(worst: "ComputedWorstCase") -> str:
    """Return the function class and the sets, in words."""
    function_class = worst.function_class
    sums = f"means of {function_class.n} " if function_class.n > 1 else ""
    kind = "convex functions" if function_class.convex else "functions"
    source = [f"L = {function_class.L:g}"]
    if math.isfinite(function_class.delta):
        source.append(f"f(x_0) - min f <= {function_class.delta:g}")
    location = (
        f"on sets of diameter {function_class.D:g}"
        if worst.is_constrained
        else "on the whole space"
    )
    return f"{sums}{kind}, {', '.join(source)}, {location}"
