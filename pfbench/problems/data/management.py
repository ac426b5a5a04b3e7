"""Implementation of ``pfbench data list``, ``fetch`` and ``check``."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal

from pfbench.base.errors import DataError
from pfbench.problems.data import cache, loading
from pfbench.problems.data.cache import Progress, download
from pfbench.problems.data.catalogue import DATA_SETS, DataSet, data_set
from pfbench.problems.data.file_formats import ContentError


@dataclass(frozen=True)
class DataSetStatus:
    """Status of a data set in the cache, with the method by which its file is verified.

    Attributes
    ----------
    name, summary
        Name and description of the set.
    state
        ``embedded`` (comes with scikit-learn), ``cached`` or ``absent``.
    verified
        Whether each load of the present file, or of a future download, compares a recorded
        checksum. Otherwise only shape and counts are compared, and the set is *unverified*.
    method
        The compared values, in words.
    path
        The file, None unless cached.
    size
        Bytes of the file, None unless cached.
    url
        Address of the publisher's file, None if embedded.
    digest
        SHA-256 of the arrays, None unless they have been loaded: see `load_and_check`.
    """

    name: str
    summary: str
    state: Literal["embedded", "cached", "absent"]
    verified: bool
    method: str
    path: Path | None = None
    size: int | None = None
    url: str | None = None
    digest: str | None = None


def status(name: str | DataSet) -> DataSetStatus:
    """Return the status of a data set; its file is located, but not read.

    Nothing is read, downloaded or created.

    Parameters
    ----------
    name
        Name or record of a set.

    Raises
    ------
    InputError
        If there is no such set.
    DataError
        If the cache folder cannot be searched.
    """
    record = data_set(name)
    file, path = record.file, cache.find_file(record)
    method = "shape and counts"
    if record.sha256_arrays is not None:
        method = "sha256 of the arrays"
    elif file and file.sha256_archive and (path is None or path.name == file.filename):
        method = "sha256 of the home's archive"
    return DataSetStatus(
        record.name,
        record.summary,
        "embedded" if file is None else "absent" if path is None else "cached",
        verified=method.startswith("sha256"),
        method=method,
        path=path,
        size=None if path is None else path.stat().st_size,
        url=None if file is None else file.url,
    )


def statuses() -> Sequence[DataSetStatus]:
    """Return the statuses of all data sets of the catalogue; see `status`."""
    return [status(record) for record in DATA_SETS.values()]


def load_and_check(name: str | DataSet) -> DataSetStatus:
    """Load a data set, check it against all recorded values, and return its status.

    Returns
    -------
    DataSetStatus
        With the digest of the arrays.

    Raises
    ------
    InputError
        If there is no such set.
    DataError
        If its file is not in the cache, is damaged or truncated, or is not that of the set.
    """
    record = data_set(name)
    digest = loading.load(record).digest
    return replace(status(record), digest=digest)


def fetch(
    name: str | DataSet, *, progress: Progress | None = None, retries: int = 3
) -> DataSetStatus:
    """Download a data set into the cache, unless the cache has an intact file of it.

    The download is checked before it gets its final place, where it replaces an invalid file.

    Parameters
    ----------
    name
        Name or record of a set.
    progress
        Function of the number of bytes received and of all bytes (None if unknown).
    retries
        Number of further tries after a failed one.

    Returns
    -------
    DataSetStatus
        With the digest of the arrays.

    Raises
    ------
    InputError
        If there is no such set.
    DataError
        If the folder is not writable, the download fails, or the result is not the set.
    """
    record = data_set(name)
    file = record.file
    if file is None:
        return load_and_check(record)
    with suppress(DataError):  # absent or damaged
        return load_and_check(record)
    home = cache.cache_folder() / file.folder
    try:
        home.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(dir=home) as temporary:
            path = download(file, Path(temporary), progress=progress, retries=retries)
            digest = loading.read_file(record, path).digest
            path.replace(home / file.filename)
    except ContentError as fault:
        raise DataError(
            f"the file that {file.url} sent is not the data set {record.name} ({fault}) and was "
            f"discarded: try again, or get the file by hand and put it into {home}."
        ) from fault
    except OSError as error:
        raise DataError(
            f"the download of {record.name} from {file.url} to {home} failed ({error}): get the "
            f"file by hand and put it there, or run `pfbench data fetch {record.name}` again, with "
            f"another folder as {cache.VARIABLE} if this one is not writable."
        ) from error
    return replace(status(record), digest=digest)
