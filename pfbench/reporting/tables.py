"""Tables of a report, independent of the format, and their Markdown form.

A cell is a value, and not a text that is formatted for one of the formats.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, groupby
from operator import attrgetter

from pfbench.base.counts import COUNTED, MEANING
from pfbench.base.escaping import html_table
from pfbench.base.status import Status
from pfbench.reporting.comparison import ExpectedCalls
from pfbench.reporting.results import StudyResults
from pfbench.reporting.runtimes import BootstrapInterval, is_equivalent
from pfbench.reporting.seed_curves import AS_PLANNED, FinalSummary
from pfbench.reporting.wording import (
    MISSING_MARK,
    NEVER_REACHED,
    NOTES,
    WORDS,
    format_integer,
    format_significant,
)
from pfbench.runs.loop.run import COMPLETED, Run, trace_name
from pfbench.runs.planning.plan import PlannedRun

EQUAL_MARK = "≈"
"""Mark of a ratio whose interval shows that two methods are equivalent."""


@dataclass(frozen=True)
class ShellCommand:
    """Command line for the shell."""

    text: str

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class CallRatio:
    """Ratio of two expected numbers of calls, with its 95 % interval or None."""

    value: float
    interval: BootstrapInterval | None

    def __str__(self) -> str:
        """Return the ratio and its interval, with a mark if the two methods are equivalent."""
        text = format_significant(self.value)
        if self.interval is None:
            return text
        ends = [NEVER_REACHED if math.isinf(x) else format_significant(x) for x in self.interval]
        mark = f" {EQUAL_MARK}" if is_equivalent(self.interval) else ""
        return f"{text} ({' to '.join(ends)}){mark}"


Cell = int | float | str | FinalSummary | ExpectedCalls | ShellCommand | CallRatio | None


@dataclass(frozen=True)
class TableRow:
    """Row of a table.

    Attributes
    ----------
    group, name, cells
        Group of the row, its name, and its values.
    best
        Indices of the bold cells; the table's note says what bold means.
    """

    group: str
    name: str
    cells: Sequence[Cell]
    best: frozenset[int] = frozenset()


@dataclass(frozen=True)
class Table:
    """Table with caption, note, column headings and rows.

    Attributes
    ----------
    caption, note
        Title of the table, and how to read it (may be empty).
    head
        Headings of the group, of the row names, and of the columns.
    rows
        Rows, those of one group adjacent; without groups, each row's group is ''.
    """

    caption: str
    note: str
    head: tuple[str, ...]
    rows: Sequence[TableRow]

    @classmethod
    def from_study(
        cls,
        results: StudyResults,
        caption: str,
        note: str,
        columns: Sequence[str],
        rows: Sequence[TableRow],
    ) -> "Table":
        """Return a table whose rows are the algorithms of a study, grouped by panel."""
        head = (results.panel_column_heading, "algorithm", *columns)
        return cls(f"{results.study.title}: {caption}", note, head, rows)

    def groups(self) -> list[tuple[str, list[TableRow]]]:
        """Return (group, rows) pairs, one for each series of adjacent rows with the same group."""
        return [(name, list(rows)) for name, rows in groupby(self.rows, attrgetter("group"))]

    def _repr_html_(self) -> str:
        """Return the table as HTML, for Jupyter."""
        return html_table(self.head, (texts for _, _, texts in self.lines()), self.caption)

    def lines(self) -> Iterator[tuple[int, TableRow, list[str]]]:
        """Yield, for each row, its position within its group, the row itself, and its cell texts.

        The first text is the name of the group, which is empty except in the first row of the
        group.
        """
        for group, rows in self.groups():
            for number, row in enumerate(rows):
                cells = map(format_cell, row.cells)
                yield number, row, [group if number == 0 else "", row.name, *cells]


# --- counts ---------------------------------------------------------------------------------------


def exact_counts_table(results: StudyResults) -> Table:
    """Return a table of the exact counts of every algorithm at every setting."""
    rows = []
    for panel, group in results.iterate_groups():
        cells = [_count_or_range([*map(attrgetter(f"counts.{k}"), group.runs)]) for k in COUNTED]
        rows.append(TableRow(panel.title, group.label, cells))
    note = "Oracle calls of one whole run, least to greatest over the seeds if they differ."
    return Table.from_study(results, "exact counts", note, [*map(str.upper, COUNTED)], rows)


def column_meaning(head: str) -> str:
    """Return the explanation of a column heading; empty if there is none."""
    return MEANING.get(head.lower(), WORDS.get(head.lower(), ""))


def _count_or_range(values: Sequence[int]) -> Cell:
    low, high = min(values), max(values)
    return low if low == high else f"{format_integer(low)}–{format_integer(high)}"


# --- runs -----------------------------------------------------------------------------------------


def rerun_command(plan: PlannedRun) -> str:
    """Return the shell command that repeats a run."""
    problem, algorithm = (_quote_csv(text) for text in (plan.problem, plan.algorithm))
    parts = [f"pfbench solve -p {problem} -a {algorithm} --seed {plan.seed}"]
    if plan.budget is not None:
        limits = plan.budget.limits.items()
        words = (f"{kind}={int(upper) if upper == int(upper) else upper}" for kind, upper in limits)
        parts.append(f"--budget {','.join(words)}")
    if plan.stop is not None:
        own = (name for name in plan.measures if trace_name(name) == plan.stop.measure)
        target = f"{next(own, plan.stop.measure)}={plan.stop.target!r}"
        parts.append(f"--stop {_quote_csv(target)} --every {plan.every}")
    if plan.time_limit is not None:
        parts.append(f"--time-limit {plan.time_limit!r}")
    return " ".join(parts)


def _quote_csv(text: str) -> str:
    escaped = text.translate({ord(special): f"\\{special}" for special in '\\"$`'})
    return f'"{escaped}"'


MANY = 2_000
"""Of more runs than this, the table has only the first seed of each method, and incomplete runs."""


def run_table(results: StudyResults) -> Table:
    """Return a table of all runs with status, time, and the command that repeats the run."""
    rows: list[TableRow] = []
    total = len(results.runs)
    for panel, group in results.iterate_groups():
        pairs = (zip(part.plans, part.runs, strict=True) for part in group.groups_by_tuning_target)
        for index, (plan, run) in enumerate(chain.from_iterable(pairs)):
            if total > MANY and index and has_ended_as_planned(plan, run):
                continue
            share = f"{100 * run.oracle_seconds / run.seconds:.0f} %" if run.seconds else None
            command = ShellCommand(rerun_command(plan))
            cells = run.seed, run.status, run.iterations, run.seconds, share, command
            rows.append(TableRow(panel.title, group.label, cells))
    head = "seed", "status", "iterations", "seconds", "in oracles", "command"
    few = NOTES["many_runs"].format(runs=format_integer(total)) if total > MANY else ""
    note = " ".join(filter(None, [NOTES["runs"], few, *unmet_assumption_sentences(results)]))
    return Table.from_study(results, "every run", note, head, rows)


def unmet_assumption_sentences(results: StudyResults) -> list[str]:
    """Return a sentence for each algorithm with assumptions that are not known to hold."""
    unmet_assumptions = {
        group.label: run.unmet_assumptions for group, run in results.runs if run.unmet_assumptions
    }
    return [
        f"The theory of {label} assumes {', '.join(unmet)}, not known to hold on the problem."
        for label, unmet in unmet_assumptions.items()
    ]


def has_ended_as_planned(plan: PlannedRun, run: Run) -> bool:
    """Return whether a run ended by its schedule, at its target or by its planned budget."""
    return run.status in AS_PLANNED and (run.status != Status.BUDGET or plan.budget is not None)


def early_endings_table(results: StudyResults) -> Table | None:
    """Return a table of the runs that did not end as planned; None if all did."""
    rows = []
    for panel, group in results.iterate_groups():
        for plan, run in zip(group.plans, group.runs, strict=True):
            if not has_ended_as_planned(plan, run):
                completed = run.status in COMPLETED
                then = "keeps its last value" if completed else "has no value afterwards"
                cells = run.seed, run.status, run.stop_reason, run.iterations, then
                rows.append(TableRow(panel.title, group.label, cells))
    head = "seed", "status", "reason", "iterations", "in the figure it"
    note = "In the figure, a cross marks the end of each of these runs."
    return Table.from_study(results, "incomplete runs", note, head, rows) if rows else None


# --- formats --------------------------------------------------------------------------------------


def format_cell(cell: Cell) -> str:
    """Return a table cell as text."""
    if cell is None:
        return MISSING_MARK
    if isinstance(cell, int):
        return format_integer(cell)
    return format_significant(cell) if isinstance(cell, float) else str(cell)


def is_numeric(cell: Cell) -> bool:
    """Return whether a table cell is aligned like a number, not like a text."""
    return not isinstance(cell, str | ShellCommand)
