"""``pfbench data``: list, download and check the real data sets."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import typer

from pfbench.base.errors import DataError, InputError
from pfbench.cli import terminal
from pfbench.cli.formatting import format_bytes
from pfbench.cli.options import AS_JSON, argument
from pfbench.cli.progress import StepProgress
from pfbench.cli.terminal import make_table

if TYPE_CHECKING:
    from pfbench.problems.data.management import DataSetStatus

app = typer.Typer(rich_markup_mode=None)

NAMES = argument("NAME")


@app.callback()
def data() -> None:
    """Real data sets: list, download and check them.

    PFBENCH_DATA names the cache folder; by default it is in the user's cache.
    """


@app.command("list")
def list_data_sets(as_json: bool = AS_JSON) -> None:
    """List the data sets and the status of each."""
    from pfbench.problems.data.cache import VARIABLE, cache_folder
    from pfbench.problems.data.management import statuses

    _show_data_set_results(statuses(), as_json=as_json)
    if not as_json:
        terminal.print_parts(f"\ncache folder: {cache_folder()} (set {VARIABLE} for another)")


@app.command()
def fetch(names: list[str] | None = NAMES, as_json: bool = AS_JSON) -> None:
    """Download data sets, unless intact files exist.

    `pfbench data list` shows the names.
    """
    from pfbench.problems.data.management import fetch as fetch_one

    if not names:
        raise InputError("name the data sets to download, as in `pfbench data fetch a9a`.")

    def fetch_file(name: str) -> "DataSetStatus":
        with StepProgress(name, None, "bytes", quiet=as_json) as steps:
            return fetch_one(name, progress=steps.set_done)

    _for_each_data_set(names, fetch_file, as_json=as_json)


@app.command()
def check(names: list[str] | None = NAMES, as_json: bool = AS_JSON) -> None:
    """Load data sets, and check all recorded values.

    Without NAME, all data sets in the cache are checked.
    """
    from pfbench.problems.data.management import load_and_check as check_one
    from pfbench.problems.data.management import statuses

    recorded = [status.name for status in statuses() if status.state != "absent"]
    _for_each_data_set(names or recorded, check_one, as_json=as_json)


def _for_each_data_set(
    names: Sequence[str], task: "Callable[[str], DataSetStatus]", *, as_json: bool
) -> None:
    """Apply a function to each data set, and print the results.

    If it fails for one data set, the others are still processed, and the error is raised at the
    end.

    Raises
    ------
    InputError
        If a name is unknown; nothing is done then.
    """
    from pfbench.problems.data.catalogue import data_set

    existing = list(dict.fromkeys(data_set(name).name for name in names))
    status: list[DataSetStatus] = []
    failures: list[DataError] = []
    for number, name in enumerate(existing, 1):
        if not as_json and len(existing) > 1:
            terminal.print_note(f"{name} ({number} of {len(existing)})")
        try:
            status.append(task(name))
        except DataError as failure:
            failures.append(failure)
    _show_data_set_results(status, as_json=as_json)
    if failures:
        *errors, last = failures
        for other in errors:
            terminal.print_error(str(other))
        raise last


def _show_data_set_results(results: "Sequence[DataSetStatus]", *, as_json: bool) -> None:
    if as_json:
        names = {"method": "verified_by", "size": "bytes"}
        terminal.print_json([terminal.dataclass_as_dict(status, **names) for status in results])
        return
    rows = [
        (
            status.name,
            status.state,
            "yes" if status.verified else "no",
            "" if status.size is None else format_bytes(status.size),
            status.summary,
        )
        for status in results
    ]
    heads = ("name", "state", "verified", "size", "what it is")
    if rows:
        terminal.print_parts(make_table(heads, rows, right=("size",)))
