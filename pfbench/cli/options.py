"""Options and arguments of the verbs; those that several verbs have."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from pfbench.base.errors import InputError

if TYPE_CHECKING:
    from pfbench.runs.engines.engine import Engine


def option(value: str, description: str, *names: str, default: Any = None, **overrides: Any) -> Any:
    """Return an option with a value, as the help writes it, and a line about it.

    It has the name of its parameter if none is given; more is what `typer.Option` takes.
    """
    return typer.Option(default, *names, metavar=value, help=description, **overrides)


def flag(description: str, name: str) -> Any:
    """Return an option without a value, and a line about it."""
    return typer.Option(False, name, help=description)


def argument(value: str, description: str = "", *, default: Any = None) -> Any:
    """Return an argument, as the help writes it; without a line the verb's own text tells of it."""
    return typer.Argument(default, metavar=value, help=description or None, hidden=not description)


AS_JSON = flag("Print JSON, and nothing else.", "--json")

DEFAULT_STORE, _STORE_VARIABLE = Path(".pfbench/store"), "PFBENCH_STORE"

STORE = option(
    "DIR",
    "Where all that is finished is kept and found.",
    "--store",
    default=DEFAULT_STORE,
    envvar=_STORE_VARIABLE,
)

JOBS = option(
    "N",
    "So many at a time, each in a process that can be killed; 0: in this process.",
    show_default="the number of CPUs",
)

SCHEDULER = option("ADDRESS", "Use a Dask cluster, as in tcp://HOST:8786.")

DRY_RUN = flag("Only show what would run, its memory and its time.", "--dry-run")


def default_store_folder() -> Path:
    """Return the store where no option names one."""
    return Path(os.environ.get(_STORE_VARIABLE) or DEFAULT_STORE)


def cpu_count() -> int:
    """Return the number of CPUs that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def check_engine_options(jobs: int | None, scheduler: str | None) -> None:
    """Refuse `--jobs` and `--scheduler` that cannot be, before any work."""
    from pfbench.base.checks import check_integer

    if jobs is not None:
        check_integer("--jobs", jobs, minimum=0)
    if jobs is not None and scheduler is not None:
        raise InputError("--jobs and --scheduler exclude each other: leave one of them out.")


def make_untrusted_engine(jobs: int | None) -> "Engine":
    """Return processes of this machine, never this one: a stranger's run may not end."""
    from pfbench.base.checks import check_integer
    from pfbench.runs.engines.engine import MultiProcessEngine

    return MultiProcessEngine(
        cpu_count() if jobs is None else check_integer("--jobs", jobs, minimum=1)
    )


def make_engine(jobs: int | None, scheduler: str | None) -> "Engine":
    """Return where work is done: in processes of this machine, in this one, or on a cluster."""
    from pfbench.runs.engines.engine import MultiProcessEngine, SingleProcessEngine

    if scheduler is not None:
        from pfbench.runs.engines.cluster import DaskEngine

        return DaskEngine(scheduler)
    slots = cpu_count() if jobs is None else jobs
    return MultiProcessEngine(slots, idle=[]) if slots else SingleProcessEngine()
