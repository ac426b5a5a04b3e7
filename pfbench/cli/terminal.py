"""Output: JSON for programs, and sentences on the standard error."""

import json
import math
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, redirect_stdout
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import typer
from rich.console import Console

from pfbench.base.errors import StorageError
from pfbench.base.escaping import escape_text
from pfbench.base.failures import end_sentence
from pfbench.base.status import Status
from pfbench.cli.formatting import format_plural

if TYPE_CHECKING:
    from pfbench.runs.execute import PlanOutcome
    from pfbench.runs.loop.run import Run

_UNBOUNDED = 10_000
"""Width of lines in files or pipes: nothing is wrapped."""

_NOTEBOOK = "JPY_PARENT_PID"
"""Environment variable that the kernel of a notebook sets for child processes."""

SCHEMA = 2
"""Schema version of all printed JSON."""

STANDARD_OUTPUT = Path("-")
"""Value of a file option for the standard output."""

INTERRUPTED = 130
"""Exit status after Ctrl-C, as in shells."""

FAILURES = (Status.DIVERGED, Status.ERROR, Status.KILLED)
"""Statuses of a run with which the command fails."""


def console(*, error: bool = False) -> Console:
    """Return the console of the standard output, or of the standard error."""
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
    print(f"pfbench: {escape_text(' '.join(message.split()))}", file=sys.stderr, flush=True)


def print_note(line: str) -> None:
    """Print a line on the standard error."""
    console(error=True).print(escape_text(line))


def redirect_stdout_if_json(as_json: bool) -> AbstractContextManager[object]:
    """Redirect the output of user code to the standard error if only JSON is printed.

    Without JSON it is not redirected.
    """
    return redirect_stdout(sys.stderr) if as_json else nullcontext()


def announce_imports(selectors: Iterable[str], source: object = "") -> None:
    """Print the selectors MODULE:NAME[...] and their source, before they are imported.

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
    """Exit with a message if the user interrupts the block; finished results are stored."""
    try:
        yield
    except KeyboardInterrupt:
        exit_with_error(
            f"interrupted; every finished {subject} is stored in {folder}; the same command "
            "continues.",
            INTERRUPTED,
        )


def exit_with_error(message: str, status: int = 1) -> NoReturn:
    """Print one sentence on the standard error, and end the command with a status."""
    print_error(message)
    raise typer.Exit(status)


def exit_if(failed: object, status: int = 1) -> None:
    """End the command with the exit status of a failure if `failed`."""
    if failed:
        raise typer.Exit(status)


def exit_if_failed(outcomes: "Iterable[PlanOutcome]", remark: str = "") -> None:
    """Print the first failed run, and exit; if none failed, do nothing."""
    if failed := [outcome for outcome in outcomes if outcome.entry.run.status in FAILURES]:
        plan, run = failed[0].plan, failed[0].entry.run
        exit_with_error(
            f"{format_plural(len(failed), 'run')} failed{remark}; the first: {plan.algorithm}, seed "  # noqa: E501
            f"{plan.seed}: {run.status}: {end_sentence(run.stop_reason)}"
        )


def print_json(value: Mapping[str, Any] | Sequence[Mapping[str, Any]]) -> None:
    """Print a record, or records, as JSON; numbers that are not finite become null."""
    print(json.dumps(_add_schema(value), indent=2, allow_nan=False))


def write_json(value: Mapping[str, Any], target: Path) -> None:
    """Write a record as JSON to a file, or print it for ``-``."""
    if target == STANDARD_OUTPUT:
        print_json(value)
    else:
        text = json.dumps(_add_schema(value), indent=2, ensure_ascii=False, allow_nan=False)
        write_text(text + "\n", target)


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
    """Return the main part of ``run.as_json()``."""
    json = run.as_json()
    names = "status", "stop_reason", "iterations", "counts", "seconds"
    return {name: json[name] for name in names}


def dataclass_as_dict(record: Any, **names: str) -> dict[str, Any]:
    """Return the fields of a dataclass instance, with those in `names` renamed."""
    return rename_keys(asdict(record), **names)


def rename_keys(record: Mapping[str, Any], **names: str) -> dict[str, Any]:
    """Return a record with the keys in `names` renamed."""
    return {names.get(name, name): value for name, value in record.items()}


def _add_schema(value: Mapping[str, Any] | Sequence[Mapping[str, Any]]) -> Any:
    """Return records with the schema version added to each."""
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
