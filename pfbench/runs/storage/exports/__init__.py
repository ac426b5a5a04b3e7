"""Export of stored runs in the formats of other tools; `FORMATS` has them by name.

Every exporter reads the runs once, one at a time, and changes nothing in the store.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from pfbench.base.errors import InputError, StorageError
from pfbench.runs.storage.entry_list import Row
from pfbench.runs.storage.exports.coco import write_coco
from pfbench.runs.storage.exports.csv_tables import write_benchopt, write_long, write_wide
from pfbench.runs.storage.exports.iohprofiler import write_iohprofiler
from pfbench.runs.storage.exports.measure_curves import ExportOptions
from pfbench.runs.storage.exports.selection import SelectedRuns
from pfbench.runs.storage.store import Store

FORMATS: Mapping[str, Callable[[SelectedRuns, ExportOptions, Path], list[Path]]] = MappingProxyType(
    {
        "csv-wide": write_wide,
        "csv-long": write_long,
        "benchopt": write_benchopt,
        "coco": write_coco,
        "iohprofiler": write_iohprofiler,
    }
)
"""Exporters; each returns the files that it wrote."""


def export(
    store: Store, rows: Sequence[Row], form: str, folder: Path, view: ExportOptions
) -> tuple[list[Path], Mapping[str, int]]:
    """Write runs of a store into an empty folder.

    Parameters
    ----------
    rows
        The runs, as the store lists them.
    form
        A name in `FORMATS`.
    folder
        Created if it is missing.
    view
        The measure and count for COCO and IOHprofiler; the other formats export everything.

    Returns
    -------
    list of Path, mapping of str to int
        The files; and the number of runs left out, by reason.

    Raises
    ------
    InputError
        If the folder is not empty, there are no runs, or they do not fit the format.
    StorageError
        If the files cannot be written.
    """
    if not rows:
        raise InputError("no stored run matches the options: there is nothing to export.")
    selected = SelectedRuns(store, rows)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise InputError(f"the folder {folder} is not empty: choose another with -o.")
        return FORMATS[form](selected, view, folder), selected.omitted
    except OSError as error:
        raise StorageError(
            f"the export could not be written to {folder} ({error.strerror}): free some space, or "
            "name another folder with -o."
        ) from error
