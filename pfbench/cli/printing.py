"""What is printed: tables for people, JSON for programs, and sentences on the standard error."""

import json
import math
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any

import typer
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, and nothing else.")]

_UNBOUNDED = 10_000
"""Width of lines that go to a file or a program: nothing is wrapped."""


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


def print_json(value: Any) -> None:
    """Print a value as JSON; what is not a finite number becomes null."""
    print(json.dumps(_plain(value), indent=2, allow_nan=False))


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


def show(*parts: RenderableType) -> None:
    """Print to the standard output."""
    target = console()
    if target.is_terminal:
        target.print(*parts, sep="\n")
        return
    with target.capture() as captured:
        target.print(*parts, sep="\n")
    print("\n".join(line.rstrip() for line in captured.get().splitlines()))


def heading(title: str, *parts: RenderableType) -> RenderableType:
    """Return parts under a title, with an empty line before it."""
    return Group("", Text(title, style="bold"), *(Padding(part, (0, 0, 0, 2)) for part in parts))


def columns(
    names: Sequence[str], rows: Iterable[Sequence[str | Text]], *, right: Sequence[str] = ()
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
        table.add_row(*row)
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


def fields(pairs: Iterable[tuple[str, str]]) -> Table:
    """Return names and texts side by side."""
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True, style="dim")
    table.add_column(overflow="fold")
    for name, text in pairs:
        table.add_row(name, text)
    return table


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


def unmet_in_words(unmet: Sequence[str]) -> list[tuple[str, str]]:
    """Return the line on the assumptions that a problem is not known to meet, if there are any."""
    if not unmet:
        return []
    return [("not met", f"the theory assumes {', '.join(unmet)}: not known of this problem")]


def _value(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return str(value)
    return number(value) if isinstance(value, float) else whole(value).replace(",", "")
