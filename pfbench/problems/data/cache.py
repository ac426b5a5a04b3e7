"""Location of the files of the data sets."""

import os
from pathlib import Path

from pfbench.base.errors import DataError, InputError
from pfbench.problems.data.catalogue import DataFile, DataSet

VARIABLE = "PFBENCH_DATA"
"""The environment variable that names the cache folder."""

EXTRA = 'pip install "pfbench[data]"'
"""Command that installs the libraries used only for data sets."""


def cache_folder() -> Path:
    """Return the cache folder: `PFBENCH_DATA` if it is set, else the user's cache folder.

    The variable is read at each call. The folder need not exist, and need not be writable.

    Raises
    ------
    DataError
        If the variable names something that is not a folder, or pooch is not installed.
    """
    chosen = os.environ.get(VARIABLE)
    if chosen:
        folder = Path(chosen).expanduser()
        if folder.exists() and not folder.is_dir():
            raise DataError(f"{VARIABLE}={chosen} is not a folder: set it to one, or unset it.")
        return folder
    try:
        import pooch
    except ModuleNotFoundError:
        raise DataError(
            f"the data cache needs pooch, which is not installed: {EXTRA}, or set {VARIABLE} to "
            "a folder."
        ) from None
    return Path(pooch.os_cache("pfbench"))


def require_data_file(record: DataSet) -> DataFile:
    """Return the file of a data set; raise for a set that comes with scikit-learn.

    Raises
    ------
    InputError
        If the set comes with scikit-learn.
    """
    if record.file is None:
        raise InputError(f"the data set {record.name} comes with scikit-learn and has no file.")
    return record.file


def list_paths(record: DataSet, folder: Path) -> tuple[Path, ...]:
    """Return the possible paths of a set's file, in the order in which they are tried.

    First the downloaded file, then the unpacked one, then ``.bz2``, then ``.gz``.
    """
    file = require_data_file(record)
    names = (file.filename, file.member, f"{file.member}.bz2", f"{file.member}.gz")
    return tuple(folder / file.folder / name for name in dict.fromkeys(names))


def find_file(record: DataSet, folder: Path) -> Path | None:
    """Return the path of a set's file in a cache folder, or None if it is missing.

    Raises
    ------
    DataError
        If the folder may not be searched.
    """
    try:
        return next((path for path in list_paths(record, folder) if path.is_file()), None)
    except PermissionError as error:
        raise DataError(f"the data folder {folder} cannot be read ({error.strerror}).") from error


def checksum_path(path: Path) -> Path:
    """Return the path of the file with the checksum of an unverified set's first download."""
    return path.with_name(f"{path.name}.sha256")
