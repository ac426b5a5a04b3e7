"""Implementation of ``pfbench data list``, ``fetch`` and ``check``."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from pfbench.base.errors import DataError
from pfbench.base.files import check_writable
from pfbench.problems.data import cache, loading
from pfbench.problems.data.cache import Progress, arrays_digest, download
from pfbench.problems.data.catalogue import DATA_SETS, DataSet, data_set
from pfbench.problems.data.file_formats import ContentError

Loaded = loading.ClassificationData | loading.RatingsData


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


def status(name: str | DataSet, *, folder: Path | None = None) -> DataSetStatus:
    """Return the status of a data set; its file is located, but not read.

    Nothing is read, downloaded or created.

    Parameters
    ----------
    name
        Name or record of a set.
    folder
        The cache folder; by default that of `cache_folder`.

    Raises
    ------
    InputError
        If there is no such set.
    DataError
        If the cache folder cannot be searched.
    """
    record = data_set(name)
    if record.file is None:
        return DataSetStatus(
            record.name, record.summary, "embedded", *_verification_method(record, None)
        )
    folder = cache.cache_folder() if folder is None else folder
    path = cache.find_file(record, folder)
    return DataSetStatus(
        record.name,
        record.summary,
        "absent" if path is None else "cached",
        *_verification_method(record, path),
        path=path,
        size=None if path is None else path.stat().st_size,
        url=record.file.url,
    )


def statuses(*, folder: Path | None = None) -> Sequence[DataSetStatus]:
    """Return the statuses of all data sets of the catalogue; see `status`."""
    return [status(record, folder=folder) for record in DATA_SETS.values()]


def load_and_check(name: str | DataSet, *, folder: Path | None = None) -> DataSetStatus:
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
    digest, verified = _load(record, folder)
    return replace(status(record, folder=folder), digest=digest, verified=verified)


def fetch(
    name: str | DataSet,
    *,
    folder: Path | None = None,
    progress: Progress | None = None,
    retries: int = 3,
) -> DataSetStatus:
    """Download a data set into the cache, unless the cache has an intact file of it.

    The download is checked before it gets its final name. An existing invalid file is renamed to
    end in ``.damaged``.

    Parameters
    ----------
    name
        Name or record of a set.
    folder
        The cache folder; by default that of `cache_folder`. It is created if necessary.
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
    if record.file is None:
        return load_and_check(record)
    folder = cache.cache_folder() if folder is None else folder
    damaged = None
    if cache.find_file(record, folder) is not None:
        try:
            return load_and_check(record, folder=folder)
        except DataError:
            damaged = cache.find_file(record, folder)
    file = cache.get_file_record_or_raise(record)
    home = folder / file.folder
    check_writable(
        home,
        f"the data folder {home}",
        folder=True,
        remedy=f"set {cache.VARIABLE} to another",
        error=DataError,
    )
    home.mkdir(parents=True, exist_ok=True)
    path = home / file.filename
    part = path.with_name(f"{path.name}.part")
    download(file.url, part, name=record.name, progress=progress, retries=retries)
    try:
        loaded = _load_file(record, part, file.filename)
    except ContentError as fault:
        part.unlink()
        raise DataError(
            f"the file that {file.url} sent is not the data set {record.name} ({fault}) and was "
            f"discarded: try again, or get the file by hand and put it into {home}."
        ) from fault
    try:
        if damaged is not None:
            damaged.replace(damaged.with_name(f"{damaged.name}.damaged"))
        part.replace(path)
    except OSError as error:
        raise DataError(
            f"the download of {record.name} could not be put into {home} "
            f"({error.strerror}): run `pfbench data fetch {record.name}` again."
        ) from error
    return replace(status(record, folder=folder), digest=loaded.digest, verified=loaded.verified)


def _load_file(record: DataSet, path: Path, form: str) -> Loaded:
    """Read and validate a data set's file with the loader for its task."""
    if record.task == "ratings":
        return loading.load_ratings_file(record, path, form)
    return loading.load_classification_file(record, path, form)


def _load(record: DataSet, folder: Path | None) -> tuple[str, bool]:
    """Load a data set; return the digest of its arrays and whether a recorded checksum matched."""
    if record.task == "matrix":
        return arrays_digest(loading.load_digits_matrix()), True
    if record.task == "ratings":
        ratings: Loaded = loading.load_ratings(record, folder=folder)
    else:
        ratings = loading.load_classification(record, folder=folder)
    return ratings.digest, ratings.verified


def _verification_method(record: DataSet, path: Path | None) -> tuple[bool, str]:
    """Return whether a recorded checksum verifies a file, and how it is verified, as text.

    If there is no file yet, the result is for a future download.
    """
    file = record.file
    if record.sha256_arrays is not None:
        return True, "sha256 of the arrays"
    if file is None or file.sha256_archive is None:
        return False, "shape and counts"
    if path is None or path.name == file.filename:
        return True, "sha256 of the home's archive"
    return False, "shape and counts"
