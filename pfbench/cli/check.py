"""``pfbench check``: conformance checks of user-defined or built-in components."""

from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.text import Text

from pfbench.base.escaping import escape_hidden
from pfbench.cli import terminal
from pfbench.cli.formatting import format_duration, format_plural
from pfbench.cli.options import AS_JSON, argument, option
from pfbench.cli.terminal import make_table

if TYPE_CHECKING:
    from pfbench.checking import CheckReport

_COLOURS = {"passed": "green", "failed": "bold red", "skipped": "dim"}


def check(
    name: str = argument("NAME", default=...),
    problem: str | None = option(
        "PROBLEM",
        "Problem for an algorithm or estimator (default: a small built-in one).",
        "--problem",
        "-p",
    ),
    kind: str | None = option(
        "KIND", "algorithm, estimator, set, problem or penalty, if it cannot be inferred."
    ),
    as_json: bool = AS_JSON,
) -> None:
    """Check an algorithm, set, problem, estimator or penalty.

    NAME is your own algorithm, estimator, set, problem or penalty, FILE.py:NAME[...] or
    MODULE:NAME[...], or a built-in one; KIND:NAME distinguishes equal names, as in "penalty:l1".
    The checks cover exact counts, feasibility, seeds, budgets and declarations; linear
    minimisation, projection and proximal map against their definitions; gradients and Hessians
    against differences; means over all draws; and a search for a counterexample to every stated
    constant. Exit status 1 if a check failed.
    """
    from pfbench.base.checks import check_choice
    from pfbench.base.files import record_opened_files
    from pfbench.checking import KINDS
    from pfbench.checking import check as look
    from pfbench.checking.resolver import refers_to_user_code
    from pfbench.runs.planning.name_resolution import unquote_selector

    problem = problem and unquote_selector(problem)
    if kind is not None:
        check_choice("--kind", kind, KINDS)
    if not as_json:
        terminal.announce_imports(
            [text for text in (name, problem) if text is not None and refers_to_user_code(text)]
        )
    with terminal.redirect_stdout_if_json(as_json), record_opened_files() as files:
        report = look(name, problem=problem, kind=kind)
    if as_json:
        terminal.print_json(report.as_json())
    else:
        terminal.print_parts(render_report(report))
        if files:
            statement = ", ".join(map(str, files))
            terminal.print_note(f"reads {statement}: stored runs are reused only for this content.")
    terminal.exit_if(not report.is_passed)


def render_report(report: "CheckReport") -> RenderableType:
    """Return a table with one row for each check, followed by each failure in full."""
    on = f", on {report.problem}" if report.problem else ""
    rows = []
    for result in report.findings:
        observed = result.observed if result.status != "failed" else "see below"
        rows.append((result.check, Text(result.status, _COLOURS[result.status]), observed))
    table = make_table(("check", "result", "what was seen"), rows)
    sentences = [
        part for failure in report.failures for part in ("", Text(escape_hidden(failure.sentence)))
    ]
    skipped = sum(finding.status == "skipped" for finding in report.findings)
    number = format_plural(len(report.findings) - skipped, "check")
    failed = f"{len(report.failures)} failed{f', {skipped} skipped' if skipped else ''}"
    end = f"{number}, {failed}, in {format_duration(report.seconds)}"
    title = Text(escape_hidden(f"{report.kind} {report.name}{on}"))
    return Group(title, table, *sentences, "", Text(end))
