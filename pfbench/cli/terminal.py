"""Output of the commands: JSON for programs, tables for people, messages on standard error."""

import json
import math
import os
import shlex
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, redirect_stdout
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import typer
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from pfbench.base.errors import StorageError, end_sentence
from pfbench.base.escaping import escape_hidden
from pfbench.base.status import Status
from pfbench.cli.formatting import (
    format_bytes,
    format_count,
    format_duration,
    format_number,
    format_plural,
)

if TYPE_CHECKING:
    from pfbench.runs.execute import PlanOutcome
    from pfbench.runs.loop.run import Run


_UNBOUNDED = 10_000
"""Width of lines in files or pipes: nothing is wrapped."""

_NOTEBOOK = "JPY_PARENT_PID"
"""Environment variable that the kernel of a notebook sets for child processes."""

SCHEMA = 2
"""Schema version of all printed JSON."""

INTERRUPTED = 130
"""Exit status after Ctrl-C, as in shells."""

FAILURES = (Status.DIVERGED, Status.ERROR, Status.KILLED)
"""Statuses of a run that make the command exit with the status of a failure."""


def console(*, error: bool = False) -> Console:
    """Return the rich console for the standard output, or for the standard error."""
    # A cell of a notebook shows what a program prints, and asks it for colours.
    forced = False if _NOTEBOOK in os.environ else None
    console = Console(
        stderr=error, highlight=False, markup=False, emoji=False, force_terminal=forced
    )
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console.width = _UNBOUNDED
    return console


def print_error(message: str) -> None:
    """Print one sentence on the standard error."""
    print(f"pfbench: {escape_hidden(' '.join(message.split()))}", file=sys.stderr, flush=True)


def print_note(line: str) -> None:
    """Print a line of information on the standard error."""
    console(error=True).print(escape_hidden(line))


def current_command_line() -> str:
    """Return the command line of this process, quoted for a shell."""
    return shlex.join(["pfbench", *sys.argv[1:]])


def redirect_stdout_if_json(as_json: bool) -> AbstractContextManager[object]:
    """Return a context that sends the output of user code to standard error in JSON mode.

    Without JSON, nothing is redirected.
    """
    return redirect_stdout(sys.stderr) if as_json else nullcontext()


def announce_imports(selectors: Iterable[str], source: object = "") -> None:
    """Print which user-defined code the selectors will import, before it is imported.

    Raises
    ------
    InputError
        If a selector cannot be read.
    """
    from pfbench.runs.planning.plan import describe_user_imports

    for text in describe_user_imports(selectors):
        if source:
            print_error(f"importing {text}, which {source} names.")
        else:
            print_note(f"importing {text}")


@contextmanager
def exit_on_interrupt(subject: str, folder: Path) -> Iterator[None]:
    """Return a context that exits with a message if the user interrupts it.

    The message says that finished results are in the store in `folder`.
    """
    try:
        yield
    except KeyboardInterrupt:
        exit_with_error(
            f"interrupted; every finished {subject} is stored in {folder}; the same command "
            "continues.",
            INTERRUPTED,
        )


def exit_with_error(message: str, status: int = 1) -> NoReturn:
    """Print one sentence on the standard error, and exit with a status."""
    print_error(message)
    raise typer.Exit(status)


def exit_if(failed: object, status: int = 1) -> None:
    """Exit with the status of a failed command if `failed` is true."""
    if failed:
        raise typer.Exit(status)


def exit_if_failed(outcomes: "Iterable[PlanOutcome]", remark: str = "") -> None:
    """Exit with a message on the first failed run; do nothing if no run failed."""
    if failed := [outcome for outcome in outcomes if outcome.entry.run.status in FAILURES]:
        plan, run = failed[0].plan, failed[0].entry.run
        exit_with_error(
            f"{format_plural(len(failed), 'run')} failed{remark}; the first: {plan.algorithm}, seed "  # noqa: E501
            f"{plan.seed}: {run.status}: {end_sentence(run.stop_reason)}"
        )


def print_json(value: Mapping[str, Any] | Sequence[Mapping[str, Any]]) -> None:
    """Print one record or several as JSON, with null for numbers that are not finite."""
    print(json.dumps(_add_schema(value), indent=2, allow_nan=False))


def write_text(text: str, target: Path) -> None:
    """Write a text to a file.

    Raises
    ------
    StorageError
        If it cannot be written.
    """
    try:
        target.write_text(text, encoding="utf-8")
    except OSError as error:
        raise StorageError(f"{target} cannot be written ({error.strerror}).") from error


def brief_json(run: "Run") -> dict[str, Any]:
    """Return status, stop reason, iterations, counts and seconds of a run, as a dictionary."""
    json = run.as_json()
    names = "status", "stop_reason", "iterations", "counts", "seconds"
    return {name: json[name] for name in names}


def dataclass_as_dict(record: Any, **names: str) -> dict[str, Any]:
    """Return the fields of a dataclass instance as a dictionary, with the given fields renamed."""
    return rename_keys(asdict(record), **names)


def rename_keys(record: Mapping[str, Any], **names: str) -> dict[str, Any]:
    """Return a copy of a record in which the given keys are renamed."""
    return {names.get(name, name): value for name, value in record.items()}


def _add_schema(value: Mapping[str, Any] | Sequence[Mapping[str, Any]]) -> Any:
    """Return JSON records with the version of the schema added to each."""
    if isinstance(value, Mapping):
        return {"schema": SCHEMA, **_as_json_value(value)}
    return [_add_schema(record) for record in value]


def _as_json_value(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(name): _as_json_value(part) for name, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_as_json_value(part) for part in value]
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if hasattr(value, "item"):  # a NumPy number
        return _as_json_value(value.item())
    return str(value)


Cell = str | Text | int | float | None
"""Cell: counts with separators, other numbers with six digits, empty for None."""

Line = tuple[str, Cell]
"""Pair of a name and a text."""


def print_parts(*parts: RenderableType | None) -> None:
    """Print texts and tables to the standard output; parts that are None are left out."""
    target = console()
    escape_texts = [
        escape_hidden(part, "\n") if isinstance(part, str) else part
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
    """Return an empty line, a title, and the indented parts below the title."""
    content = (escape_hidden(part, "\n") if isinstance(part, str) else part for part in parts)
    title = escape_hidden(title)
    return Group("", Text(title, style="bold"), *(Padding.indent(part, 2) for part in content))


def multiline_cell(*texts: str) -> Text:
    """Return a table cell with one line for each given text; newlines inside a text are escaped."""
    return Text("\n".join(map(escape_hidden, texts)))


def show_record(record: Mapping[str, Any], title: str = "", *, as_json: bool) -> None:
    """Print a record as JSON, or on the terminal under a title."""
    if as_json:
        print_json(record)
    else:
        print_parts(title or None, *render_record(record))


def render_record(record: Mapping[str, Any]) -> Iterator[RenderableType]:
    """Yield a record as texts for the terminal: its values, then a section for each part.

    A mapping is a section with its own lines. A list of mappings is a table, or a section for each
    if they have parts. Values that are None or empty are left out.
    """
    lines, sections = list[Line](), list[RenderableType]()
    for name, value in record.items():
        if value is None or value in ({}, []):
            continue
        if isinstance(value, Mapping):
            sections.append(section_with_title(name, *render_record(value)))
        elif not (isinstance(value, list) and isinstance(value[0], Mapping)):
            lines.append((name, _format_value(name, value)))
        elif any(isinstance(part, Mapping) for part in value[0].values()):
            for row in value:
                title, *rest = row.items()
                sections.append(section_with_title(str(title[1]), *render_record(dict(rest))))
        else:
            heads = list(value[0])
            rows = [[_format_value(head, row[head]) for head in heads] for row in value]
            sections.append(section_with_title(name, make_table(heads, rows)))
    yield from [field_table(lines)] if lines else []
    yield from sections


_UNITS = {"bytes": format_bytes, "seconds": format_duration}
"""Formats of the values whose names are these units."""


def _format_value(name: str, value: Any) -> Cell:
    """Return a value of a record as a cell; numbers of a unit are formatted with the unit."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        return ", ".join(str(_format_value("", part)) for part in value)
    return value if value is None or name not in _UNITS else _UNITS[name](value)


def make_table(
    names: Sequence[str],
    rows: Iterable[Sequence[Cell]],
    *,
    right: Sequence[str] = (),
    wrap: bool = True,
) -> Table:
    """Return a table for the terminal; the columns named in `right` are right-aligned.

    Neither these columns nor the first one wrap their cells.
    """
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for index, name in enumerate(names):
        table.add_column(
            escape_hidden(name),
            no_wrap=not wrap or index == 0 or name in right,
            justify="right" if name in right else "left",
            overflow="fold",
        )
    for row in rows:
        table.add_row(*map(_render_cell, row))
    return table


def split_wide_table(
    names: Sequence[str], rows: Sequence[Sequence[str | Text]], *, right: Sequence[str]
) -> RenderableType:
    """Return a table, split into several narrower tables if it does not fit the terminal.

    Columns that do not fit the width of the terminal follow in further tables, each of which
    repeats the first column.
    """
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
    """Return a table of names and texts in two columns, without the names that have no text."""
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True, style="dim")
    table.add_column(overflow="fold")
    for name, text in lines:
        if cell := _render_cell(text):
            table.add_row(escape_hidden(name), cell)
    return table


def _render_cell(cell: Cell) -> str | Text:
    if isinstance(cell, Text):
        return cell
    if isinstance(cell, str):
        return escape_hidden(cell)
    if cell is None:
        return ""
    return format_number(cell) if isinstance(cell, float) else format_count(cell)
