"""``pfbench check``: what somebody brings, or ours, held to its own definition."""

from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.text import Text

from pfbench.base.visible import visible
from pfbench.cli import printing
from pfbench.cli.options import AS_JSON, argument, option
from pfbench.cli.tables import columns, show
from pfbench.cli.words import duration, plural

if TYPE_CHECKING:
    from pfbench.checking import Findings

_COLOURS = {"passed": "green", "failed": "bold red", "skipped": "dim"}


def check(
    name: str = argument("NAME", default=...),
    problem: str | None = option(
        "PROBLEM",
        "What an algorithm or estimator is tried on; a small one of ours if not given.",
        "--problem",
        "-p",
    ),
    kind: str | None = option(
        "KIND", "algorithm, estimator, set, problem or penalty, where that cannot be seen."
    ),
    as_json: bool = AS_JSON,
) -> None:
    """Check an algorithm, set, problem and the like.

    NAME is your own algorithm, estimator, set, problem or penalty, FILE.py:NAME[...] or
    MODULE:NAME[...], or one of ours; KIND:NAME tells namesakes apart, as in "penalty:l1". Exact
    ledger, feasibility, seeds, budgets, declarations; linear minimisation, projection and proximal
    map against their definitions; gradients and Hessians against differences; means over all
    draws; every stated constant searched for a counter-example. Exit status 1 if a check failed.
    """
    from pfbench.base.checks import choice
    from pfbench.base.file_watch import reading
    from pfbench.checking import KINDS
    from pfbench.checking import check as look
    from pfbench.checking.door import is_imported
    from pfbench.runs.planning.plugged import spelled_out, whatever_spelled_out

    name = whatever_spelled_out(name)
    problem = problem and spelled_out("problem", problem)
    if kind is not None:
        choice("--kind", kind, KINDS)
    if not as_json:
        printing.announce(
            [text for text in (name, problem) if text is not None and is_imported(text)]
        )
    with printing.alone(as_json), reading() as files:
        found = look(name, problem=problem, kind=kind)
    if as_json:
        printing.print_json(found.as_json())
    else:
        show(shown(found))
        if files:
            said = ", ".join(map(str, files))
            printing.note(f"reads {said}: a stored run belongs to this content, not to another.")
    printing.exit_if(not found.passed)


def shown(found: "Findings") -> RenderableType:
    """Return a line for each check, then each failure in full."""
    on = f", on {found.problem}" if found.problem else ""
    rows = []
    for one in found.findings:
        seen = one.seen if one.status != "failed" else "see below"
        rows.append((one.check, Text(one.status, _COLOURS[one.status]), seen))
    table = columns(("check", "result", "what was seen"), rows)
    sentences = [part for one in found.failures for part in ("", Text(visible(one.sentence)))]
    number = len(found.findings) - sum(one.status == "skipped" for one in found.findings)
    end = f"{plural(number, 'check')}, {len(found.failures)} failed, in {duration(found.seconds)}"
    title = Text(visible(f"{found.kind} {found.name}{on}"))
    return Group(title, table, *sentences, "", Text(end))
