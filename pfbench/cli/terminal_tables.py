"""Tables for the terminal: columns, fields, and facts shared with JSON."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from pfbench.base.escaping import escape_text
from pfbench.cli.formatting import format_count, format_number
from pfbench.cli.terminal import console, print_json

Cell = str | Text | int | float | None
"""Cell: counts with separators, other numbers with six digits, empty for None."""

Line = tuple[str, Cell]
"""Name with its text."""


READABLE = 100
"""Width in columns of running text; longer lines are folded."""


def print_parts(*parts: RenderableType | None, max_width: int | None = None) -> None:
    """Print parts to the standard output, with a maximum width; leave out parts that are None."""
    target = console()
    if max_width is not None:
        target.width = min(target.width, max_width)
    escape_texts = [
        escape_text(part, "\n") if isinstance(part, str) else part
        for part in parts
        if part is not None
    ]
    if target.is_terminal:
        target.print(*escape_texts, sep="\n")
        return
    with target.capture() as captured:
        target.print(*escape_texts, sep="\n")
    print("\n".join(line.rstrip() for line in captured.get().splitlines()))


def section_with_title(title: str, *parts: RenderableType) -> RenderableType:
    """Return parts under a title, with an empty line before it."""
    content = (escape_text(part, "\n") if isinstance(part, str) else part for part in parts)
    title = escape_text(title)
    return Group("", Text(title, style="bold"), *(Padding(part, (0, 0, 0, 2)) for part in content))


def multiline_cell(*texts: str) -> Text:
    """Return a cell of several lines; newlines inside one are escaped."""
    return Text("\n".join(map(escape_text, texts)))


@dataclass(frozen=True)
class ReportedFact:
    """Fact for JSON, for the terminal, or both.

    Attributes
    ----------
    name, value
        Key and value in JSON; without a name it is only for the terminal.
    title, text
        Title and text on the terminal; without a title it is only for JSON. The text defaults to
        the value.
    """

    name: str
    value: Any
    title: str = ""
    text: Cell = None

    @property
    def line(self) -> Line:
        """Title and text."""
        if self.text is not None:
            return self.title, self.text
        listed = isinstance(self.value, (list, tuple))
        return self.title, ", ".join(self.value) if listed else self.value


def show_facts(
    facts: Iterable[ReportedFact],
    *parts: RenderableType | None,
    as_json: bool,
    max_width: int | None = None,
) -> None:
    """Print facts as JSON, or on the terminal with further sections; see `print_parts`."""
    if as_json:
        print_json(fact_values(facts))
    else:
        print_parts(field_table(fact_lines(facts)), *parts, max_width=max_width)


def fact_values(facts: Iterable[ReportedFact]) -> dict[str, Any]:
    """Return facts as a JSON object."""
    return {fact.name: fact.value for fact in facts if fact.name}


def fact_lines(facts: Iterable[ReportedFact]) -> list[Line]:
    """Return facts as lines for the terminal."""
    return [fact.line for fact in facts if fact.title]


def make_table(
    names: Sequence[str],
    rows: Iterable[Sequence[Cell]],
    *,
    right: Sequence[str] = (),
    wrap: bool = True,
) -> Table:
    """Return a table; its first column, and right-aligned ones in `right`, never wrap."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for index, name in enumerate(names):
        table.add_column(
            escape_text(name),
            no_wrap=not wrap or index == 0 or name in right,
            justify="right" if name in right else "left",
            overflow="fold",
        )
    for row in rows:
        table.add_row(*map(_render_cell, row))
    return table


def fold_table(
    names: Sequence[str], rows: Sequence[Sequence[str | Text]], *, right: Sequence[str]
) -> RenderableType:
    """Return a table that never wraps cells; other columns go below, after the first again."""
    widths = [max(map(len, cells)) + 2 for cells in zip(names, *rows, strict=True)]
    blocks = [[0]]
    for k in range(1, len(names)):
        # A heading indents by two, and nothing stands behind the last column.
        if len(blocks[-1]) > 1 and sum(widths[j] for j in (*blocks[-1], k)) > console().width:
            blocks.append([0])
        blocks[-1].append(k)
    tables = [
        make_table(
            [names[k] for k in block],
            [[row[k] for k in block] for row in rows],
            right=right,
            wrap=False,
        )
        for block in blocks
    ]
    return Group(tables[0], *(part for table in tables[1:] for part in ("", table)))


def field_table(lines: Iterable[Line]) -> Table:
    """Return names and texts side by side; names without a text are left out."""
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True, style="dim")
    table.add_column(overflow="fold")
    for name, text in lines:
        if cell := _render_cell(text):
            table.add_row(escape_text(name), cell)
    return table


def _render_cell(cell: Cell) -> str | Text:
    if isinstance(cell, Text):
        return cell
    if isinstance(cell, str):
        return escape_text(cell)
    if cell is None:
        return ""
    return format_number(cell) if isinstance(cell, float) else format_count(cell)
