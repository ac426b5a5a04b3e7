"""Downloading a file over HTTP, by pooch."""

import logging
from collections.abc import Callable
from pathlib import Path

from pfbench.base.errors import DataError
from pfbench.problems.data.cache import EXTRA

Progress = Callable[[int, int | None], None]
"""Function of the number of bytes received and of all bytes (None if unknown)."""

_TIMEOUT = 30.0
"""Seconds to wait for the connection, and for the next bytes."""


class _ProgressBar:
    """Progress bar for pooch that reports to a function."""

    def __init__(self, report: Progress) -> None:
        self.total, self._done, self._report = 0, 0, report

    def update(self, size: int) -> None:
        """Add received bytes to the count, and report it."""
        if size:  # at last pooch passes the total, 0 if it is not known
            self._done = min(self._done + size, self.total or self._done + size)
            self._report(self._done, self.total or None)

    def reset(self) -> None:
        """Reset the count to 0."""
        self._done = 0

    def close(self) -> None:
        """Do nothing."""


def download(
    url: str, path: Path, *, name: str, progress: Progress | None = None, retries: int = 3
) -> None:
    """Download a file.

    Parameters
    ----------
    url
        Address of the file.
    path
        Path of the file, written once it is complete; its folder must exist.
    name
        The data set's name, for messages.
    progress
        Called after each received piece.
    retries
        Number of further tries after a failed one: the first after 1 s, the next after 2 s.

    Raises
    ------
    DataError
        If the server has no such file, cannot be reached or breaks off, if the file cannot be
        written, or pooch is not installed.
    """
    try:
        import pooch
        import requests
    except ModuleNotFoundError:
        raise DataError(f"downloading needs pooch, which is not installed: {EXTRA}.") from None
    pooch.get_logger().setLevel(logging.WARNING)
    downloader = pooch.HTTPDownloader(
        progressbar=False if progress is None else _ProgressBar(progress),
        headers={"Accept-Encoding": "identity"},
        timeout=_TIMEOUT,
    )
    home = pooch.create(
        path=path.parent, base_url="", registry={path.name: None}, retry_if_failed=retries
    )
    home.urls = {path.name: url}
    path.unlink(missing_ok=True)
    try:
        home.fetch(path.name, downloader=downloader)
    except requests.RequestException as error:
        raise DataError(
            f"the download of {name} from {url} failed ({error}): get the file by hand and put it "
            f"into {path.parent}, or run `pfbench data fetch {name}` again later."
        ) from error
    except OSError as error:
        raise DataError(
            f"the download of {name} could not be written to {path.parent} "
            f"({error.strerror or error}): make room or set PFBENCH_DATA to another folder, and "
            f"run `pfbench data fetch {name}`."
        ) from error
