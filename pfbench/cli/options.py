"""Options and arguments that several commands share."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from pfbench.base.errors import InputError

if TYPE_CHECKING:
    from pfbench.runs.engines.engine import Engine


def option(
    value: str,
    description: str,
    *names: str,
    default: Any = None,
    minimum: int | None = None,
    above: float | None = None,
    **overrides: Any,
) -> Any:
    """Return a command-line option with a value placeholder and a help text.

    The option is named after its parameter unless `names` are given; `overrides` are passed to
    `typer.Option`. The option accepts only integers from `minimum` on, or numbers greater than
    `above`.
    """

    def check(parameter: typer.CallbackParam, number: Any) -> Any:
        from pfbench.base.checks import check_integer, check_real

        name = f"--{str(parameter.name).replace('_', '-')}"
        if number is not None and minimum is not None:
            check_integer(name, number, minimum=minimum)
        if number is not None and above is not None:
            check_real(name, number, above=above)
        return number

    if minimum is not None or above is not None:
        overrides["callback"] = check
    return typer.Option(default, *names, metavar=value, help=description, **overrides)


def flag(description: str, name: str) -> Any:
    """Return a command-line option that takes no value, with a help text."""
    return typer.Option(False, name, help=description)


def argument(value: str, description: str = "", *, default: Any = None) -> Any:
    """Return a command-line argument with a placeholder and an optional help text."""
    return typer.Argument(default, metavar=value, help=description or None, hidden=not description)


AS_JSON = flag("Print JSON, and nothing else.", "--json")

DEFAULT_STORE, _STORE_VARIABLE = Path(".pfbench/store"), "PFBENCH_STORE"

STORE = option("DIR", "Result store.", "--store", default=DEFAULT_STORE, envvar=_STORE_VARIABLE)

JOBS = option(
    "N",
    "Number of parallel worker processes (0: run in this process).",
    show_default="the number of CPUs",
)

SCHEDULER = option("ADDRESS", "Use a Dask cluster, as in tcp://HOST:8786.")

FULL = flag("Test all claims, with full effort.", "--full")

SEED = option("N", "Seed of every random stream.", default=0)

TABLE = option("FILE.md", "Write the report as Markdown.")


def default_store_folder() -> Path:
    """Return the path of the default result store."""
    return Path(os.environ.get(_STORE_VARIABLE) or DEFAULT_STORE)


def cpu_count() -> int:
    """Return the number of CPUs that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def check_engine_options(jobs: int | None, scheduler: str | None) -> None:
    """Raise an error if `--jobs` or `--scheduler` is invalid."""
    from pfbench.base.checks import check_integer

    if jobs is not None:
        check_integer("--jobs", jobs, minimum=0)
    if jobs is not None and scheduler is not None:
        raise InputError("--jobs and --scheduler cannot be combined: leave out one of the two.")


def make_untrusted_engine(jobs: int | None) -> "Engine":
    """Return an engine that runs code in worker processes, which can be killed if it hangs."""
    from pfbench.base.checks import check_integer
    from pfbench.runs.engines.engine import MultiProcessEngine

    return MultiProcessEngine(
        cpu_count() if jobs is None else check_integer("--jobs", jobs, minimum=1)
    )


def make_engine(jobs: int | None, scheduler: str | None) -> "Engine":
    """Return the engine that executes tasks: worker processes, this process, or a Dask cluster."""
    from pfbench.runs.engines.engine import MultiProcessEngine, SingleProcessEngine

    if scheduler is not None:
        from pfbench.runs.engines.cluster import DaskEngine

        return DaskEngine(scheduler)
    slots = cpu_count() if jobs is None else jobs
    return MultiProcessEngine(slots, idle=[]) if slots else SingleProcessEngine()
