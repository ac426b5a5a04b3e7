"""What is printed: tables for people, JSON for programs, and sentences on the standard error."""

import json
import math
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from pfbench.base.errors import StorageError

if TYPE_CHECKING:
    from pfbench.runs.execute import Outcome
    from pfbench.runs.loop.run import Run

Cell = str | Text | int | float | None
"""What a table shows: counts with separators, other numbers to six digits, nothing for None."""

Line = tuple[str, Cell]
"""A name with its text."""

_UNBOUNDED = 10_000
"""Width of lines that go to a file or a program: nothing is wrapped."""

STANDARD_OUTPUT = Path("-")
"""What an option that takes a file takes for the standard output."""

FAILURES = ("diverged", "error", "killed")
"""Statuses of a run with which the command fails."""


def console(*, error: bool = False) -> Console:
    """Return the console of the standard output, or of the standard error."""
    found = Console(stderr=error, highlight=False, markup=False, emoji=False)
    if not found.is_terminal and "COLUMNS" not in os.environ:
        found.width = _UNBOUNDED
    return found


def complain(message: str) -> None:
    """Print one sentence on the standard error."""
    print(f"pfbench: {' '.join(message.split())}", file=sys.stderr, flush=True)


def note(line: str) -> None:
    """Print a line on the standard error."""
    console(error=True).print(line)


def announce(selectors: Iterable[str], source: object = "") -> None:
    """Print the names MODULE:NAME of selectors before they are imported, and what names them."""
    from pfbench.runs.planning.plan import own_names

    for name in own_names(selectors):
        if source:
            complain(f"importing {name}, which {source} names.")
        else:
            note(f"importing {name}")


@contextmanager
def keeping(what: str, folder: Path) -> Iterator[None]:
    """If the user interrupts the block, say that what is finished is kept, and exit."""
    try:
        yield
    except KeyboardInterrupt:
        complain(
            f"interrupted; every finished {what} is kept in {folder}, and the same command goes on "
            "from there."
        )
        raise typer.Exit(1) from None


def exit_if(failed: object) -> None:
    """End the command with the exit status of a failure, if there is one."""
    if failed:
        raise typer.Exit(1)


def exit_if_failed(failed: "Sequence[Outcome]", remark: str = "") -> None:
    """Say which run failed first, and exit; if none failed, do nothing."""
    if failed:
        plan, run = failed[0].plan, failed[0].entry.run
        complain(
            f"{plural(len(failed), 'run')} failed{remark}; the first: {plan.algorithm}, seed "
            f"{plan.seed}: {run.status}: {run.stop_reason}."
        )
    exit_if(failed)


def print_json(value: Any) -> None:
    """Print a value as JSON; what is not a finite number becomes null."""
    print(json.dumps(_plain(value), indent=2, allow_nan=False))


def write_json(value: Any, target: Path) -> None:
    """Write a value as JSON to a file, or print it for ``-``."""
    if target == STANDARD_OUTPUT:
        print_json(value)
    else:
        text = json.dumps(_plain(value), indent=2, ensure_ascii=False, allow_nan=False)
        write(text + "\n", target)


def write(text: str, target: Path) -> None:
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


def in_brief(run: "Run") -> dict[str, Any]:
    """Return the main part of ``run.as_json()``."""
    whole = run.as_json()
    names = "status", "stop_reason", "iterations", "counts", "seconds"
    return {name: whole[name] for name in names}


def fields_of(record: Any, **names: str) -> dict[str, Any]:
    """Return the fields of a dataclass's object, those in `names` under other names."""
    return {names.get(name, name): value for name, value in asdict(record).items()}


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(name): _plain(part) for name, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(part) for part in value]
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if hasattr(value, "item"):  # a NumPy number
        return _plain(value.item())
    return str(value)


def show(*parts: RenderableType | None) -> None:
    """Print to the standard output; None is nothing."""
    target = console()
    shown = [part for part in parts if part is not None]
    if target.is_terminal:
        target.print(*shown, sep="\n")
        return
    with target.capture() as captured:
        target.print(*shown, sep="\n")
    print("\n".join(line.rstrip() for line in captured.get().splitlines()))


def heading(title: str, *parts: RenderableType) -> RenderableType:
    """Return parts under a title, with an empty line before it."""
    return Group("", Text(title, style="bold"), *(Padding(part, (0, 0, 0, 2)) for part in parts))


@dataclass(frozen=True)
class Fact:
    """Something that programs read, or people, or both.

    Attributes
    ----------
    name, value
        As JSON has it; without a name only people see it.
    title, text
        As people read it; without a title only programs see it. The text is the value if not given.
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


def show_facts(facts: Iterable[Fact], *parts: RenderableType | None, as_json: bool) -> None:
    """Print facts as JSON (schema 1), or for people with parts below them."""
    if as_json:
        print_json({"schema": 1, **values_of(facts)})
    else:
        show(fields(lines_of(facts)), *parts)


def values_of(facts: Iterable[Fact]) -> dict[str, Any]:
    """Return facts as programs read them."""
    return {fact.name: fact.value for fact in facts if fact.name}


def lines_of(facts: Iterable[Fact]) -> list[Line]:
    """Return facts as people read them."""
    return [fact.line for fact in facts if fact.title]


def columns(
    names: Sequence[str], rows: Iterable[Sequence[Cell]], *, right: Sequence[str] = ()
) -> Table:
    """Return a table with a line of names; the first column and those in `right` never wrap."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for number, name in enumerate(names):
        table.add_column(
            name,
            no_wrap=number == 0 or name in right,
            justify="right" if name in right else "left",
            overflow="fold",
        )
    for row in rows:
        table.add_row(*map(_shown, row))
    return table


def numbers(names: Sequence[str], rows: Sequence[Sequence[str]]) -> RenderableType:
    """Return a table of numbers; what does not fit beside comes below, behind the first column."""
    widths = [max(map(len, cells)) + 2 for cells in zip(names, *rows, strict=True)]
    blocks = [[0]]
    for k in range(1, len(names)):
        # A heading indents by two, and nothing stands behind the last column.
        if len(blocks[-1]) > 1 and sum(widths[j] for j in (*blocks[-1], k)) > console().width:
            blocks.append([0])
        blocks[-1].append(k)
    tables = [
        columns([names[k] for k in block], [[row[k] for k in block] for row in rows], right=names)
        for block in blocks
    ]
    return Group(tables[0], *(part for table in tables[1:] for part in ("", table)))


def fields(lines: Iterable[Line]) -> Table:
    """Return names and texts side by side; a name without a text is left out."""
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True, style="dim")
    table.add_column(overflow="fold")
    for name, text in lines:
        if shown := _shown(text):
            table.add_row(name, shown)
    return table


def _shown(cell: Cell) -> str | Text:
    if isinstance(cell, (str, Text)):
        return cell
    if cell is None:
        return ""
    return number(cell) if isinstance(cell, float) else whole(cell)


def number(value: float | None) -> str:
    """Return a number to six digits."""
    return "not defined" if value is None else f"{value:.6g}"


def whole(count: int) -> str:
    """Return a count with separators; one beyond all reason to three digits."""
    return f"{count:,}" if abs(count) < 1e18 else f"{count:.3g}"


def plural(count: int, noun: str) -> str:
    """Return e.g. "1 run", "2,000 runs"."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def duration(seconds: float) -> str:
    """Return a time in the unit that suits it."""
    for unit, length in (("years", 365.25 * 86400), ("days", 86400), ("h", 3600), ("min", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:.3g} {unit}"
    return f"{seconds:.3g} s" if seconds >= 1e-3 else f"{seconds * 1e3:.2g} ms"


def size(count: float) -> str:
    """Return a number of bytes in the unit that suits it."""
    for unit, length in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= length:
            return f"{count / length:.3g} {unit}"
    return f"{count:.0f} bytes"


def parameters_in_words(parameters: Any) -> str:
    """Return parameters that are set, as the command line writes them."""
    given = {name: value for name, value in parameters.items() if value is not None}
    return ", ".join(f"{name}={_value(value)}" for name, value in given.items())


def unmet_in_words(unmet: Sequence[str]) -> str:
    """Return what the theory assumes and the problem is not known to meet; empty if nothing."""
    return f"the theory assumes {', '.join(unmet)}: not known of this problem" if unmet else ""


def known(value: Any, words: Callable[[Any], str]) -> str:
    """Return a value in words, or that it is not known."""
    return "not known" if value is None else words(value)


def in_words(shape: Sequence[int]) -> str:
    """Return e.g. "200 x 200 matrix", "vector of length 30"."""
    if len(shape) == 1:
        return f"vector of length {shape[0]:,}"
    return " x ".join(f"{side:,}" for side in shape) + " matrix"


def _value(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return str(value)
    return number(value) if isinstance(value, float) else whole(value).replace(",", "")
