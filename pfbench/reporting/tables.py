"""Every table of a report, once, and how Markdown and CSV write it; `latex` has LaTeX.

A cell is a value, never a text that was formatted for one of them.
"""

import csv
import io
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter

from pfbench.base.counts import COUNTED, MEANING
from pfbench.base.notebook import html_table
from pfbench.base.visible import spreadsheet_text, visible
from pfbench.reporting.comparison import Expected
from pfbench.reporting.results import Group, Results
from pfbench.reporting.statistics.bootstrap import Interval, even
from pfbench.reporting.statistics.curves import Final
from pfbench.reporting.words import ABSENT, WORDS, as_printed, significant, whole
from pfbench.runs.loop.run import HOLDS, Run
from pfbench.runs.loop.stop import in_trace
from pfbench.runs.planning.plan import PlannedRun

NEVER = "∞"
SAME = "≈"
"""The mark of a ratio whose interval is so narrow about 1 that two methods are equal."""


@dataclass(frozen=True)
class Span:
    """Exact integers that differ between runs: the least and the greatest."""

    low: int
    high: int


@dataclass(frozen=True)
class Command:
    """A line for the shell."""

    text: str


@dataclass(frozen=True)
class Share:
    """A part of a whole, between 0 and 1."""

    value: float


@dataclass(frozen=True)
class Ratio:
    """A ratio of expected calls, and its 95 % interval; None where there is none."""

    value: float
    interval: Interval | None


Cell = int | float | str | Span | Final | Expected | Command | Share | Ratio | None


@dataclass(frozen=True)
class Row:
    """One line of a table.

    Attributes
    ----------
    group, name, cells
        The group it belongs to, its name, and what stands in it.
    best
        The cells that are bold: see the table's note.
    """

    group: str
    name: str
    cells: Sequence[Cell]
    best: frozenset[int] = frozenset()


@dataclass(frozen=True)
class Table:
    """A table.

    Attributes
    ----------
    caption, note
        What it shows; how to read it (may be empty).
    head
        Names of the group, of the rows, and of the columns.
    rows
        Rows of the same group stand together; a table without groups has empty ones.
    """

    caption: str
    note: str
    head: tuple[str, ...]
    rows: Sequence[Row]

    def groups(self) -> list[tuple[str, list[Row]]]:
        """Return the rows by group."""
        return [(name, list(rows)) for name, rows in groupby(self.rows, attrgetter("group"))]

    def _repr_html_(self) -> str:
        """Return the table as Jupyter shows it."""
        return html_table(self.head, (texts for _, _, texts in self.lines()), self.caption)

    def lines(self) -> Iterator[tuple[int, Row, list[str]]]:
        """Yield the number in its group, the row, and its texts: group (if first), name, cells."""
        for group, rows in self.groups():
            for number, row in enumerate(rows):
                cells = map(plain, row.cells)
                yield number, row, [group if number == 0 else "", row.name, *cells]


# --- counts ---------------------------------------------------------------------------------------

_SHEN2019 = frozenset({"nfwu-svrg", "nfwu-spiderg", "nfwu-casvrg", "nfwu-caspiderg"})

PAPERS_SFO = "SFO as the paper counts: |S| + n/p per iteration"

_PAPERS_NOTE = (
    "SFO is exact: 2|S| for a difference at two points, and n for a full gradient. The column "
    "beside it is the convention of Shen et al. 2019, where it differs."
)


def papers_sfo(group: Group, run: Run) -> int | None:
    """Return the SFO of a run as its paper counts them, or None where that does not differ.

    shen2019 charges |S| + n/p for each iteration of the estimators with epochs. The number of
    components n follows from the exact count: E full gradients in T iterations make
    n E + 2 |S| (T - E).
    """
    batch, period = run.parameters.get("batch"), run.parameters.get("period")
    several = run.parameters.get("restarts") or run.parameters.get("probability")
    if group.algorithm not in _SHEN2019 or run.status != "finished" or several:
        return None
    if not isinstance(batch, int) or not isinstance(period, int) or not run.counts.fo:
        return None
    iterations, epochs = run.iterations, run.counts.fo
    n, rest = divmod(run.counts.sfo - 2 * batch * (iterations - epochs), epochs)
    if rest or n < 1:
        return None
    return round(iterations * (batch + n / period))


def counts(results: Results) -> Table:
    """Return the exact counts of every algorithm at every setting."""
    several = [{papers_sfo(group, run) for run in group.runs} - {None} for group in results]
    papers = [found.pop() if len(found) == 1 else None for found in several]
    shown = any(value is not None for value in papers)
    rows = []
    for (panel, group), paper in zip(results.rows(), papers, strict=True):
        cells = [_span([getattr(run.counts, kind) for run in group.runs]) for kind in COUNTED]
        if shown:
            cells.insert(COUNTED.index("sfo") + 1, paper)
        rows.append(Row(panel.title, group.label, cells))
    names = [kind.upper() for kind in COUNTED]
    if shown:
        names.insert(COUNTED.index("sfo") + 1, PAPERS_SFO)
    varies = any(isinstance(cell, Span) for row in rows for cell in row.cells)
    note = "Oracle calls of one whole run"
    note += ", least to greatest over the seeds." if varies else ", the same for every seed."
    return Table(
        f"{results.study.title}: exact counts",
        f"{note} {_PAPERS_NOTE}" if shown else note,
        (results.head, "algorithm", *names),
        rows,
    )


def counts_csv(results: Results) -> str:
    """Return the exact counts of every run, one line for each, as CSV."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    named = "problem", "setting", "algorithm"
    writer.writerow([*named, "seed", "status", "iterations", *COUNTED, "sfo_by_the_paper"])
    for group, run in results.runs:
        names = map(spreadsheet_text, (group.problem, group.setting, group.label))
        known = *names, run.seed, run.status, run.iterations
        # None is written as an empty field.
        writer.writerow([*known, *run.counts.as_dict().values(), papers_sfo(group, run)])
    return file.getvalue()


def meaning(head: str) -> str:
    """Return what an oracle, or a word of ours, means by the head of its column; or nothing."""
    return MEANING.get(head.lower(), WORDS.get(head.lower(), ""))


def _span(values: Sequence[int]) -> Cell:
    low, high = min(values), max(values)
    return low if low == high else Span(low, high)


# --- runs -----------------------------------------------------------------------------------------


def command(plan: PlannedRun) -> str:
    """Return the command that makes a run again."""
    problem, algorithm = (_quoted(text) for text in (plan.problem, plan.algorithm))
    parts = [f"pfbench solve -p {problem} -a {algorithm} --seed {plan.seed}"]
    if plan.budget is not None:
        limits = plan.budget.limits.items()
        words = (f"{kind}={int(most) if most == int(most) else most}" for kind, most in limits)
        parts.append(f"--budget {','.join(words)}")
    if plan.stop is not None:
        own = (name for name in plan.measures if in_trace(name) == plan.stop.measure)
        target = f"{next(own, plan.stop.measure)}={plan.stop.target!r}"
        parts.append(f"--stop {_quoted(target)} --every {plan.every}")
    if plan.time_limit is not None:
        parts.append(f"--time-limit {plan.time_limit!r}")
    return " ".join(parts)


def _quoted(text: str) -> str:
    escaped = text.translate({ord(special): f"\\{special}" for special in '\\"$`'})
    return f'"{escaped}"'


MANY = 1000
"""Of more runs the command of each first seed is shown: those of the others differ in the seed."""


def runs(results: Results) -> Table:
    """Return every run with its status, its time and the command behind it."""
    note = (
        "Seconds are those of the method, without measures and compilation; then the share of them "
        "that was spent inside oracles."
    )
    rows: list[Row] = []
    many = len(results.runs) > MANY
    for panel, group in results.rows():
        each = (pair for one in group.each for pair in zip(one.plans, one.runs, strict=True))
        for place, (plan, run) in enumerate(each):
            share = Share(run.oracle_seconds / run.seconds) if run.seconds else None
            named = not many or place % len(group.runs) == 0
            again = Command(command(plan)) if named else f"the same, seed {run.seed}"
            known = run.seed, run.status, run.iterations, run.seconds, share, again
            rows.append(Row(panel.title, group.label, known))
    head = "seed", "status", "iterations", "seconds", "in oracles", "command"
    return Table(
        f"{results.study.title}: every run",
        " ".join([note, *not_met(results)]),
        (results.head, "algorithm", *head),
        rows,
    )


def not_met(results: Results) -> list[str]:
    """Return a sentence for each algorithm whose theory assumes what is not known to hold."""
    found = {group.label: run.unmet for group, run in results.runs if run.unmet}
    return [
        f"The theory of {label} assumes {', '.join(unmet)}, which is not known of the problem."
        for label, unmet in found.items()
    ]


def ended_as_planned(plan: PlannedRun, run: Run) -> bool:
    """Return whether a run ended with its schedule, at its target, or with its own budget."""
    return run.status in {"finished", "target"} or (
        run.status == "budget" and plan.budget is not None
    )


def ended_early(results: Results) -> Table | None:
    """Return the runs that did not end as planned, or None if all did."""
    rows = []
    for panel, group in results.rows():
        for plan, run in zip(group.plans, group.runs, strict=True):
            if ended_as_planned(plan, run):
                continue
            then = "keeps its last value" if run.status in HOLDS else "has no value from there on"
            known = run.seed, run.status, run.stop_reason, run.iterations, then
            rows.append(Row(panel.title, group.label, known))
    if not rows:
        return None
    return Table(
        f"{results.study.title}: runs that did not finish",
        "A cross marks in the figure where the record of each ends.",
        (results.head, "algorithm", "seed", "status", "reason", "iterations", "in the figure it"),
        rows,
    )


# --- formats --------------------------------------------------------------------------------------


def plain(cell: Cell) -> str:
    """Return a cell as text."""
    match cell:
        case None:
            return ABSENT
        case int():
            return whole(cell)
        case float():
            return significant(cell)
        case Span():
            return f"{whole(cell.low)}–{whole(cell.high)}"
        case Share():
            return f"{100 * cell.value:.0f} %"
        case Expected():
            return expected(cell)
        case Final():
            return " ".join(part for part in (middle(cell), extent(cell), survivors(cell)) if part)
        case Ratio():
            return ratio(cell)
        case Command():
            return cell.text
        case str():
            return cell


def expected(cell: Expected) -> str:
    """Return expected calls, their interval, and how many runs reached the target."""
    interval = ""
    if cell.interval is not None and cell.interval.low < cell.interval.high:
        interval = f" ({' to '.join(map(calls, cell.interval))})"
    return f"{calls(cell.value)}{interval} {cell.hits}/{cell.planned}"


def ratio(cell: Ratio) -> str:
    """Return a ratio with its interval, and the mark where that says that two are equal."""
    if cell.interval is None:
        return significant(cell.value)
    low, high = (NEVER if math.isinf(end) else significant(end) for end in cell.interval)
    return f"{significant(cell.value)} ({low} to {high}){f' {SAME}' if even(cell.interval) else ''}"


def calls(number: float) -> str:
    """Return a number of calls, of a mean too: every digit before the point, three if not whole."""
    if math.isinf(number):
        return NEVER
    printed = as_printed(number)
    return whole(int(printed)) if printed.is_integer() else significant(number)


def middle(cell: Final) -> str:
    """Return the median of what runs end with."""
    return significant(cell.median) if math.isfinite(cell.median) else ABSENT


def extent(cell: Final) -> str:
    """Return the least and the greatest of what runs end with, if there are several."""
    if cell.runs < 2:
        return ""
    return f"({significant(cell.low)} to {significant(cell.high)})"


def survivors(cell: Final) -> str:
    """Return how many runs have an end, if not all."""
    return "" if cell.runs == cell.planned else f"[{cell.runs} of {cell.planned} runs]"


def is_numeric(cell: Cell) -> bool:
    """Return whether a cell is aligned like a number."""
    return not isinstance(cell, str | Command)


def markdown(table: Table) -> str:
    """Return a table as GitHub's Markdown."""
    unnamed = 0 if any(row.group for row in table.rows) else 1
    first = table.rows[0].cells if table.rows else ()
    numeric = [False, False, *map(is_numeric, first)]
    lines = [
        _pipes(map(markdown_text, table.head[unnamed:])),
        _pipes("--:" if one else "---" for one in numeric[unnamed:]),
    ]
    for _, row, cells in table.lines():
        texts = [markdown_text(text) for text in cells]
        for at in row.best:
            texts[2 + at] = f"**{texts[2 + at]}**"
        lines.append(_pipes(texts[unnamed:]))
    return "\n".join(lines)


def section(table: Table) -> str:
    """Return a table as Markdown below its caption, with its note."""
    parts = [f"**{markdown_text(table.caption)}**", markdown(table)]
    return "\n\n".join([*parts, markdown_text(table.note)] if table.note else parts)


def _pipes(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def markdown_text(text: str) -> str:
    """Return text for Markdown, where nothing of it is markup."""
    return visible(text, "\n").translate(_MARKDOWN)


_MARKDOWN = str.maketrans(
    {**{special: f"\\{special}" for special in "\\`*_|$"}, "<": "&lt;", "\n": " "}
)
