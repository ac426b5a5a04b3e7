"""Writing stored runs in the formats of other tools; `FORMATS` has them by name.

Every exporter takes runs that can be gone through more than once, and an empty folder. It changes
nothing in the store.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from pfbench.base.errors import InputError, StorageError
from pfbench.runs.storage.exports.coco import write_coco
from pfbench.runs.storage.exports.curves import View
from pfbench.runs.storage.exports.iohprofiler import write_iohprofiler
from pfbench.runs.storage.exports.tables import write_benchopt, write_long, write_wide
from pfbench.runs.storage.store import Entry, Store

FORMATS: Mapping[str, Callable[["Selected", View, Path], list[Path]]] = MappingProxyType(
    {
        "csv-wide": write_wide,
        "csv-long": write_long,
        "benchopt": write_benchopt,
        "coco": write_coco,
        "iohprofiler": write_iohprofiler,
    }
)
"""The exporters; each returns the files that it wrote."""


class Selected:
    """The runs of some keys of a store, read anew each time they are gone through."""

    def __init__(self, store: Store, keys: Sequence[str]) -> None:
        self._store, self._keys = store, keys

    def __iter__(self) -> Iterator[Entry]:
        return filter(None, map(self._store.get, self._keys))


def export(store: Store, keys: Sequence[str], form: str, folder: Path, view: View) -> list[Path]:
    """Write runs of a store into an empty folder, and return the files.

    Parameters
    ----------
    keys
        Of the runs.
    form
        One of `FORMATS`.
    folder
        It is made if it is not there.
    view
        What COCO and IOHprofiler are shown; the other formats have all there is.

    Raises
    ------
    InputError
        If the folder is not empty, there are no runs, or they do not fit the format.
    StorageError
        If the files cannot be written.
    """
    if not keys:
        raise InputError("no stored run was chosen: there is nothing to export.")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise InputError(f"the folder {folder} is not empty: name another with -o.")
        return FORMATS[form](Selected(store, keys), view, folder)
    except OSError as error:
        raise StorageError(
            f"the export could not be written to {folder} ({error.strerror}): free some space, or "
            "name another folder with -o."
        ) from error
