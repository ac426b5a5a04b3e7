"""What is printed: JSON for programs, and sentences on the standard error."""

import json
import math
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext, redirect_stdout
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import typer
from rich.console import Console

from pfbench.base.errors import StorageError
from pfbench.base.failures import ended
from pfbench.base.visible import visible
from pfbench.cli.words import plural

if TYPE_CHECKING:
    from pfbench.runs.execute import Outcome
    from pfbench.runs.loop.run import Run

_UNBOUNDED = 10_000
"""Width of lines that go to a file or a program: nothing is wrapped."""

_NOTEBOOK = "JPY_PARENT_PID"
"""What the kernel of a notebook says to the programs that it starts."""

STANDARD_OUTPUT = Path("-")
"""What an option that takes a file takes for the standard output."""

INTERRUPTED = 130
"""The exit status after Ctrl-C, as shells have it."""

FAILURES = ("diverged", "error", "killed")
"""Statuses of a run with which the command fails."""


def console(*, error: bool = False) -> Console:
    """Return the console of the standard output, or of the standard error."""
    # A cell of a notebook shows what a program prints, and asks it for colours.
    forced = False if _NOTEBOOK in os.environ else None
    found = Console(stderr=error, highlight=False, markup=False, emoji=False, force_terminal=forced)
    if not found.is_terminal and "COLUMNS" not in os.environ:
        found.width = _UNBOUNDED
    return found


def complain(message: str) -> None:
    """Print one sentence on the standard error."""
    print(f"pfbench: {visible(' '.join(message.split()))}", file=sys.stderr, flush=True)


def note(line: str) -> None:
    """Print a line on the standard error."""
    console(error=True).print(visible(line))


def again(*, quiet: bool) -> Callable[[str], None]:
    """Return what says on the standard error which run is made again."""
    return lambda text: None if quiet else note(f"again: {text}")


def alone(as_json: bool) -> AbstractContextManager[object]:
    """Let what somebody's own code prints go to the standard error, if JSON is all that is printed.

    Where it is not, his lines stand among those of the command.
    """
    return redirect_stdout(sys.stderr) if as_json else nullcontext()


def announce(selectors: Iterable[str], source: object = "") -> None:
    """Print the selectors MODULE:NAME[...] before they are imported and called, and what has them.

    Raises
    ------
    InputError
        If one cannot be read.
    """
    from pfbench.runs.planning.plan import own_in_full

    for text in own_in_full(selectors):
        if source:
            complain(f"importing {text}, which {source} names.")
        else:
            note(f"importing {text}")


@contextmanager
def keeping(what: str, folder: Path) -> Iterator[None]:
    """If the user interrupts the block, say that what is finished is kept, and exit."""
    try:
        yield
    except KeyboardInterrupt:
        fail(
            f"interrupted; every finished {what} is kept in {folder}, and the same command goes on "
            "from there.",
            INTERRUPTED,
        )


def fail(message: str, status: int = 1) -> NoReturn:
    """Print one sentence on the standard error, and end the command with a status."""
    complain(message)
    raise typer.Exit(status)


def exit_if(failed: object, status: int = 1) -> None:
    """End the command with the exit status of a failure, if there is one."""
    if failed:
        raise typer.Exit(status)


def exit_if_failed(outcomes: "Iterable[Outcome]", remark: str = "") -> None:
    """Say which run failed first, and exit; if none failed, do nothing."""
    if failed := [one for one in outcomes if one.entry.run.status in FAILURES]:
        plan, run = failed[0].plan, failed[0].entry.run
        fail(
            f"{plural(len(failed), 'run')} failed{remark}; the first: {plan.algorithm}, seed "
            f"{plan.seed}: {run.status}: {ended(run.stop_reason)}"
        )


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
