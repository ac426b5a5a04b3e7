"""Command ``pfbench``: its subcommands, errors and exit statuses.

Exit status: 0 done; 1 ran, and something failed; 2 bad input. Every error is one sentence on the
standard error, or one for each error of a file; ``PFBENCH_TRACEBACK=1`` prints the traceback
before it.
"""

import gc
import io
import os
import select
import sys
import traceback
import warnings
from contextlib import suppress
from typing import Any

import typer
from typer.core import TyperGroup

from pfbench import __version__
from pfbench.base.errors import DivergedError, InputErrors, PfbenchError, StalePoint, WorkerDied
from pfbench.cli import (
    adversary,
    archive_command,
    catalogue,
    check,
    claim_verbs,
    compare,
    data,
    falsify,
    faults,
    info,
    new,
    report_command,
    run_command,
    solve_command,
    store_command,
    terminal,
    verify,
)
from pfbench.cli.options import flag

FAILED, BAD_INPUT = 1, 2

_RAN_AND_FAILED = (DivergedError, StalePoint, WorkerDied)


class ReportingGroup(TyperGroup):
    """Group of subcommands that reports each error as one sentence and an exit status."""

    def main(self, *args: Any, **keywords: Any) -> Any:
        """Run the command line, and exit with its status."""
        sys.exit(self._run(*args, **keywords))

    def invoke(self, ctx: Any) -> Any:
        """Run a subcommand; if Ctrl-C interrupts it, print one sentence and exit."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            terminal.exit_with_error("interrupted.", terminal.INTERRUPTED)

    def _run(self, *args: Any, **keywords: Any) -> int:
        """Run the command line, and return its exit status."""
        try:
            keywords = {"prog_name": "pfbench"} | keywords | {"standalone_mode": False}
            status = super().main(*args, **keywords)
            sys.stdout.flush()
            return status if isinstance(status, int) else 0
        except BrokenPipeError:
            if not _is_output_closed():
                terminal.print_error(
                    "another program ended a worker process: run the command again."
                )
            _discard_unwritten_output()
            return FAILED
        except Exception as error:
            if os.environ.get("PFBENCH_TRACEBACK"):
                traceback.print_exc()
            message, status = _error_message_and_status(error)
            for sentence in error.messages if isinstance(error, InputErrors) else (message,):
                terminal.print_error(sentence)
            if isinstance(error, OSError):
                _discard_unwritten_output()
            return status


def _is_output_closed() -> bool:
    """Return whether the reading end of the output is closed, as in `pfbench list | head -1`."""
    with suppress(OSError, ValueError, AttributeError):
        look = select.poll()
        look.register(sys.stdout.fileno(), 0)
        return any(event & select.POLLERR for _, event in look.poll(0))
    return True


def _discard_unwritten_output() -> None:
    """Discard buffered output that could not be written, so that Python does not retry at exit."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _error_message_and_status(error: Exception) -> tuple[str, int]:
    """Return the sentence to print for an error, and the exit status."""
    if isinstance(error, PfbenchError):
        return str(error), FAILED if isinstance(error, _RAN_AND_FAILED) else BAD_INPUT
    if isinstance(error, typer.TyperException):
        message = error.format_message().rstrip(".")
        context = getattr(error, "ctx", None)
        hint = f"; see `{context.command_path} --help`." if context else "."
        end = "" if message.endswith("?") else hint
        return f"{message[:1].lower()}{message[1:]}{end}", error.exit_code
    if isinstance(error, MemoryError):
        return f"not enough memory ({error!r}): choose a smaller problem.", BAD_INPUT
    if isinstance(error, OSError):
        return f"the operating system reports: {error}.", FAILED
    return (
        f"{type(error).__name__}: {error} (this is a bug in pfbench: please report it, with what "
        "PFBENCH_TRACEBACK=1 prints).",
        FAILED,
    )


app = typer.Typer(
    cls=ReportingGroup,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("list")(catalogue.list_all)
app.command("info")(info.info)
app.command("solve")(solve_command.solve)
app.add_typer(data.app, name="data")
app.command("run")(run_command.run)
app.command("report")(report_command.report)
app.command("compare")(compare.compare)
app.command("adversary")(adversary.adversary)
app.command("verify")(verify.verify)
app.command("falsify")(falsify.falsify)
app.command("explain")(claim_verbs.explain)
app.command("faults")(faults.faults)
app.command("power")(claim_verbs.power)
app.command("worst-case")(claim_verbs.compute_worst_cases)
app.command("units")(claim_verbs.units)
app.command("new")(new.create_files)
app.command("check")(check.check)
app.add_typer(store_command.app, name="store")
app.add_typer(archive_command.app, name="archive")


@app.callback(invoke_without_command=True)
def pfbench(
    context: typer.Context, version: bool = flag("Print the version.", "--version")
) -> None:
    """Test published convergence claims of projection-free and variance-reduced methods.

    Start with `pfbench list`, then `pfbench info NAME` and `pfbench solve --help`.
    """
    if version:
        print(f"pfbench {__version__}")
    elif context.invoked_subcommand is None:
        print(context.get_help())


def main() -> None:
    """Run the command ``pfbench``."""
    # Almost all that imports create stays: by default, collections take a tenth of a command.
    gc.set_threshold(10_000)
    if not sys.warnoptions:
        warnings.simplefilter("ignore")
    # A closed stream (`>&-`) is no stream at all.
    sys.stdout = sys.stdout or open(os.devnull, "w")  # noqa: SIM115
    sys.stderr = sys.stderr or open(os.devnull, "w")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    app()
