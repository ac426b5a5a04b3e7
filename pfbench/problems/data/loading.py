"""Loading of data sets by name, as validated arrays.

Every load checks the file against the values recorded in `catalogue`. A damaged, truncated or
wrong file raises an error that names the file.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import numpy.typing as npt

from pfbench.base.arrays import Floats, Integers
from pfbench.base.errors import DataError, InputError
from pfbench.base.names import unknown_name_error
from pfbench.problems.data.cache import (
    arrays_digest,
    cache_folder,
    file_digest,
    file_paths,
    find_file,
    get_file_record_or_raise,
)
from pfbench.problems.data.catalogue import DATA_SETS, EDITIONS, DataSet, data_set
from pfbench.problems.data.file_formats import (
    DIGIT_COUNTS,
    PACKED,
    RATINGS_MEMBERS,
    ContentError,
    SparseRows,
    as_sparse_rows,
    breast_cancer,
    digits,
    open_unpacked,
    parse_ratings,
    parse_svmlight,
    parse_table,
)

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Content = TypeVar("Content")


@dataclass(frozen=True, eq=False)
class ClassificationData:
    """Loaded data set with labels, for classification or regression.

    Attributes
    ----------
    name
        Its name in the catalogue.
    features
        Samples as rows, shape (n, d), float64, indices sorted in each row, in the file's order
        and not scaled, except breast-cancer (see `load_classification`).
    labels
        Shape (n,), float64: -1 and +1 for a binary task, else 0 to classes - 1, in increasing order
        of the labels in the file.
    classes
        Number of distinct labels.
    digest
        SHA-256 of indptr (int64), indices (int32), data and labels (float64), as hex.
    verified
        Whether a recorded checksum matched.
    """

    name: str
    features: "csr_array[np.float64]"
    labels: Floats
    classes: int
    digest: str
    verified: bool


@dataclass(frozen=True, eq=False)
class RatingsData:
    """Ratings of items by users, sorted by user and then by item, without repeated pairs.

    Attributes
    ----------
    name
        Name in the catalogue, or the name of the file.
    users, items
        User and item numbers as in the file, shape (n,), int32.
    values
        Ratings from 0.5 to 5 stars, shape (n,), float64.
    digest
        SHA-256 of users, items and values, as hex.
    verified
        Whether a recorded checksum matched.
    """

    name: str
    users: npt.NDArray[np.int32]
    items: npt.NDArray[np.int32]
    values: Floats
    digest: str
    verified: bool

    def positions(self) -> tuple[Integers, Integers, tuple[int, int]]:
        """Return each rating's row and column in the matrix of users and items, and its shape.

        Returns
        -------
        rows, columns
            Shape (n,), int64: the rank of the user and of the item among the distinct ones.
        shape
            Number of distinct users and of distinct items.
        """
        users, rows = np.unique(self.users, return_inverse=True)
        items, columns = np.unique(self.items, return_inverse=True)
        return rows.astype(np.int64), columns.astype(np.int64), (users.size, items.size)


def load_classification(name: str | DataSet, *, folder: Path | None = None) -> ClassificationData:
    """Load a data set with labels.

    Parameters
    ----------
    name
        Name of a binary or multi-class set, or a record of one. ``breast-cancer`` comes with
        scikit-learn: labels +1 benign (357), -1 malignant (212); each feature is shifted and
        scaled to mean zero and (population) variance one, with correctly rounded sums, so that
        its bits are the same everywhere.
    folder
        The cache folder; by default that of `cache_folder`.

    Raises
    ------
    InputError
        If there is no such set, or it has no labels.
    DataError
        If the file is not in the cache, damaged, truncated or not the set that it claims to be,
        or scikit-learn is needed and not installed.
    """
    record = _find_record(name, ("binary", "multiclass"))
    if record.format == "scikit-learn":
        with _translate_content_errors(record):
            return _check_classification(record, breast_cancer(), verified=False)
    with _open_cached_path(record, folder) as path:
        return load_classification_file(record, path, path.name)


def load_ratings(
    source: str | os.PathLike[str] | DataSet = "latest-small", *, folder: Path | None = None
) -> RatingsData:
    """Load a data set of ratings.

    Parameters
    ----------
    source
        A variant of MovieLens (``latest-small``, ``100k``, ``1m``, ``10m``, ``25m``, also with
        ``movielens-`` or ``ml-`` before it), a record, or the path of a user's file in the format
        of ``ratings.csv``, ``ratings.dat`` or ``u.data``: uncompressed, packed as ``.bz2`` or
        ``.gz``, or inside MovieLens's zip.
    folder
        The cache folder; by default that of `cache_folder`.

    Raises
    ------
    InputError
        If there is no such variant and no such file.
    DataError
        If the file is not in the cache, damaged, truncated, malformed or not the variant that it
        claims to be.
    """
    existing = (
        source if isinstance(source, DataSet) else _resolve_movielens_edition(os.fspath(source))
    )
    if isinstance(existing, DataSet):
        record = _find_record(existing, ("ratings",))
        with _open_cached_path(record, folder) as path:
            return load_ratings_file(record, path, path.name)
    path = existing.expanduser()
    if not path.is_file():
        fault = "is a folder, not a ratings file" if path.is_dir() else "does not exist"
        raise InputError(
            f"{path} {fault}: give an edition ({', '.join(EDITIONS)}) or the path of a "
            "ratings.csv, ratings.dat or u.data."
        )
    try:
        with open_unpacked(path, path.name, RATINGS_MEMBERS) as stream:
            triples = parse_ratings(stream)
    except ContentError as fault:
        raise DataError(f"{path} is not a usable ratings file: {fault}.") from fault
    return RatingsData(path.name, *triples, arrays_digest(*triples), verified=False)


def load_digits_matrix() -> Floats:
    """Return scikit-learn's images of handwritten digits as the rows of a matrix.

    Returns
    -------
    ndarray
        Shape (1797, 64), float64, entries 0 to 16: one 8 x 8 image a row.

    Raises
    ------
    DataError
        If scikit-learn is not installed, or its images are not the known ones.
    """
    record = DATA_SETS["digits"]
    matrix, _ = digits()
    with _translate_content_errors(record):
        _check_equal("shape", matrix.shape, record.shape)
        _compare_with_recorded_digest(
            "sha256 of arrays", arrays_digest(matrix), record.sha256_arrays
        )
    return matrix


def load_multiclass(name: str) -> ClassificationData:
    """Load a data set with several classes.

    The data set ``digits`` has the images as rows and their digits as labels.

    Raises
    ------
    InputError
        If there is no such set, or it is not a set with several classes.
    DataError
        If `load_classification` raises it, or scikit-learn's digits are not the known ones.
    """
    if name != "digits":
        return load_classification(_find_record(name, ("multiclass",)))
    record = DATA_SETS[name]
    rows = as_sparse_rows(load_digits_matrix(), digits()[1])
    kinds = replace(record, classes=10, counts=DIGIT_COUNTS, sha256_arrays=None)
    with _translate_content_errors(record):
        return _check_classification(kinds, rows, verified=True)


def load_classification_file(record: DataSet, path: Path, form: str) -> ClassificationData:
    """Read and validate the file of a data set with labels.

    Parameters
    ----------
    record
        Record of the expected set.
    path
        The file.
    form
        File name that determines the compression.

    Raises
    ------
    ContentError
        If the content of the file is not that of the set.
    """
    read: Callable[..., SparseRows] = parse_svmlight
    if record.format != "svmlight":
        read = partial(parse_table, separator="," if record.format == "comma-table" else " ")
    rows, verified = _parse(record, path, form, partial(read, features=record.features))
    return _check_classification(record, rows, verified=verified)


def load_ratings_file(record: DataSet, path: Path, form: str) -> RatingsData:
    """Read and validate the file of a data set of ratings; see `load_classification_file`."""
    triples, verified = _parse(record, path, form, parse_ratings)
    _check_equal("number of ratings", triples.values.size, record.rows)
    _check_equal("number of users", np.unique(triples.users).size, record.users)
    _check_equal("number of items", np.unique(triples.items).size, record.features)
    sum_ = arrays_digest(*triples)
    verified |= _compare_with_recorded_digest("sha256 of arrays", sum_, record.sha256_arrays)
    return RatingsData(record.name, *triples, sum_, verified=verified)


def _parse(
    record: DataSet, path: Path, form: str, read: Callable[..., Content]
) -> tuple[Content, bool]:
    """Parse a file with `read`; return its content and whether a checksum matched the record."""
    verified = _check_file_checksum(record, path, form)
    with open_unpacked(path, form, (get_file_record_or_raise(record).member,)) as stream:
        return read(stream), verified


@contextmanager
def _translate_content_errors(record: DataSet) -> Iterator[None]:
    """Context manager that converts a ContentError to a DataError with the data set's name."""
    try:
        yield
    except ContentError as fault:
        raise DataError(
            f"scikit-learn's data set {record.name} is not the known one: {fault}; install another "
            "version of scikit-learn."
        ) from fault


def _find_record(name: str | DataSet, tasks: tuple[str, ...]) -> DataSet:
    """Return the record of a data set; raise unless its `task` is one of `tasks`."""
    record = data_set(name)
    if record.task not in tasks:
        usable = [other.name for other in DATA_SETS.values() if other.task in tasks]
        raise InputError(
            f"the data set {record.name} is for the task {record.task!r}, not "
            f"{' or '.join(map(repr, tasks))}: choose one of the data sets {', '.join(usable)}."
        )
    return record


def _resolve_movielens_edition(source: str) -> DataSet | Path:
    """Return the record of a MovieLens edition, or the path of a user's ratings file.

    Raises
    ------
    InputError
        If the text is neither the name of a variant nor the path of a file.
    """
    short = source.lower().removeprefix("movielens-").removeprefix("ml-")
    if short in EDITIONS:
        return EDITIONS[short]
    if source == "movielens":
        return data_set(source)
    path = Path(source)
    if path.name != source or path.suffix in {*PACKED, ".csv", ".dat", ".data"} or path.exists():
        return path
    raise unknown_name_error("edition of MovieLens", source, EDITIONS)


@contextmanager
def _open_cached_path(record: DataSet, folder: Path | None) -> Iterator[Path]:
    """Yield the path of a data set's file in the cache.

    A ContentError in the block is converted to a DataError that names the file.
    """
    folder = cache_folder() if folder is None else folder
    path = find_file(record, folder)
    if path is None:
        raise DataError(
            f"the data set {record.name} is not in the data folder {folder}: run "
            f"`pfbench data fetch {record.name}`, or put its file there as "
            f"{' or '.join(str(path) for path in file_paths(record, folder)[:2])}."
        )
    try:
        yield path
    except ContentError as fault:
        or_read_it = f"; to read a file of your own, give source=movielens with edition={path}"
        raise DataError(
            f"{path} is not the data set {record.name}: {fault}; move it away and run "
            f"`pfbench data fetch {record.name}`{or_read_it if record.task == 'ratings' else ''}."
        ) from fault


def _check_file_checksum(record: DataSet, path: Path, form: str) -> bool:
    """Check a file's bytes against the checksum of the archive; return whether there is one."""
    file = get_file_record_or_raise(record)
    if file.sha256_archive is None or form != file.filename:
        return False
    try:
        return _compare_with_recorded_digest("sha256", file_digest(path), file.sha256_archive)
    except OSError as error:
        raise ContentError(f"the file cannot be read ({error.strerror})") from error


def _check_classification(
    record: DataSet, rows: SparseRows, *, verified: bool
) -> ClassificationData:
    """Check labelled rows against the record; return them as a data set with normalised labels."""
    from scipy.sparse import csr_array

    _check_equal("number of rows", rows.labels.size, record.rows)
    if record.nonzeros is not None:
        _check_equal("number of nonzeros", rows.data.size, record.nonzeros)
    kinds, codes, counts = np.unique(rows.labels, return_inverse=True, return_counts=True)
    _check_equal("number of classes", kinds.size, record.classes)
    if record.counts:
        _check_equal("number of rows in each class", tuple(counts.tolist()), record.counts)
    labels = codes.astype(np.float64)
    if record.task == "binary":
        _check_equal("pair of labels", kinds.tolist(), [-1.0, 1.0])
        labels = rows.labels
    digest = arrays_digest(rows.indptr, rows.indices, rows.data, labels)
    verified |= _compare_with_recorded_digest("sha256 of arrays", digest, record.sha256_arrays)
    indptr: npt.NDArray[Any] = rows.indptr
    if rows.data.size < 2**31:
        # With 64-bit row pointers SciPy would widen the column numbers too.
        indptr = indptr.astype(np.int32)
    features = csr_array((rows.data, rows.indices, indptr), shape=record.shape, dtype=np.float64)
    return ClassificationData(record.name, features, labels, record.classes, digest, verified)


def _check_equal(subject: str, result: object, expected: object) -> None:
    """Raise ContentError if a value of the file differs from the recorded value."""
    if result != expected:
        raise ContentError(
            f"the {subject} is {_abbreviate(result)} instead of {_abbreviate(expected)}"
        )


def _compare_with_recorded_digest(subject: str, digest: str, recorded: str | None) -> bool:
    """Raise if a digest differs from the recorded one; return whether the record has one."""
    if recorded is not None:
        _check_equal(subject, digest, recorded)
    return recorded is not None


def _abbreviate(value: object) -> str:
    """Return a value as text for a message, with checksums shortened to their first digits."""
    text = str(value)
    return f"{text[:16]}..." if isinstance(value, str) and len(text) > 16 else text
