"""Files of the data sets: their location, their checksums, and their download by pooch."""

import hashlib
import logging
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from pfbench.base.errors import DataError
from pfbench.problems.data.catalogue import DataFile, DataSet

VARIABLE = "PFBENCH_DATA"
"""The environment variable that names the cache folder."""

EXTRA = 'pip install "pfbench[data]"'
"""Command that installs the libraries used only for data sets."""


def cache_folder() -> Path:
    """Return the folder that `PFBENCH_DATA` names or, if it is not set, the user's cache folder.

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
            raise DataError(
                f"{VARIABLE}={chosen} is not a folder: name a folder, or unset the variable."
            )
        return folder
    try:
        import pooch
    except ModuleNotFoundError:
        raise DataError(
            f"the data cache needs pooch, which is not installed: {EXTRA}, or set {VARIABLE} to "
            "a folder."
        ) from None
    return Path(pooch.os_cache("pfbench"))


def file_paths(file: DataFile, folder: Path) -> tuple[Path, ...]:
    """Return the possible paths of a data set's file, in the order in which they are tried.

    The order is: the downloaded file, the unpacked file, the ``.bz2`` and the ``.gz`` version.
    """
    names = (file.filename, file.member, f"{file.member}.bz2", f"{file.member}.gz")
    return tuple(folder / file.folder / name for name in dict.fromkeys(names))


def find_file(record: DataSet) -> Path | None:
    """Return the path of a data set's file in the cache folder, or None if there is no file.

    Raises
    ------
    DataError
        If the folder may not be searched.
    """
    if record.file is None:
        return None
    folder = cache_folder()
    try:
        return next((path for path in file_paths(record.file, folder) if path.is_file()), None)
    except PermissionError as error:
        raise DataError(f"the data folder {folder} cannot be read ({error.strerror}).") from error


def arrays_digest(*arrays: npt.NDArray[Any]) -> str:
    """Return the SHA-256 of the concatenated little-endian bytes of arrays, as hexadecimal text.

    Parameters
    ----------
    arrays
        Integer or float arrays; their types and their order affect the digest, so the caller casts
        them to the set's canonical types first.
    """
    digest = hashlib.sha256()
    for array in arrays:
        kind = np.dtype(f"<{array.dtype.kind}{array.dtype.itemsize}")
        digest.update(np.ascontiguousarray(array, dtype=kind).data)
    return digest.hexdigest()


def file_digest(path: Path) -> str:
    """Return the SHA-256 of the bytes of a file, as hexadecimal text.

    Raises
    ------
    OSError
        If the file cannot be read.
    """
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


Progress = Callable[[int, int | None], None]
"""Function of the number of bytes received and of all bytes (None if unknown)."""

_TIMEOUT = 30.0
"""Seconds to wait for the connection, and for the next bytes."""


class _PoochProgress:
    """Reporter of the received bytes, with the interface of pooch's progress bars."""

    def __init__(self, report: Progress) -> None:
        self.total, self._done, self._report = 0, 0, report

    def update(self, size: int) -> None:
        """Add `size` to the number of received bytes, and report that number."""
        if size:  # at last pooch passes the total, 0 if it is not known
            self._done = min(self._done + size, self.total or self._done + size)
            self._report(self._done, self.total or None)

    def reset(self) -> None:
        """Reset the number of received bytes to 0."""
        self._done = 0

    def close(self) -> None:
        """Close the reporter; it holds nothing."""


def download(
    file: DataFile, folder: Path, *, progress: Progress | None = None, retries: int = 3
) -> Path:
    """Download a data set's file into a folder, and return its path.

    Parameters
    ----------
    file
        The file, with its address.
    folder
        The folder, which must exist.
    progress
        Called after each received piece.
    retries
        Number of further tries after a failed one: the first after 1 s, the next after 2 s.

    Raises
    ------
    DataError
        If pooch is not installed.
    OSError
        If the server has no such file, cannot be reached or breaks off, or the file cannot be
        written.
    """
    try:
        import pooch
    except ModuleNotFoundError:
        raise DataError(f"downloading needs pooch, which is not installed: {EXTRA}.") from None
    pooch.get_logger().setLevel(logging.WARNING)
    downloader = pooch.HTTPDownloader(
        progressbar=False if progress is None else _PoochProgress(progress),
        headers={"Accept-Encoding": "identity"},
        timeout=_TIMEOUT,
    )
    home = pooch.create(
        path=folder,
        base_url="",
        registry={file.filename: None},
        urls={file.filename: file.url},
        retry_if_failed=retries,
    )
    return Path(home.fetch(file.filename, downloader=downloader))
