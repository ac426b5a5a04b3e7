"""Loading of data sets by name, as validated arrays.

Every load checks the file against the values recorded in `catalogue`. A damaged, truncated or
wrong file raises an error that names the file.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

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
)
from pfbench.problems.data.catalogue import DATA_SETS, EDITIONS, DataSet, data_set
from pfbench.problems.data.file_formats import (
    PACKED,
    RATINGS_MEMBERS,
    ContentError,
    LabelledMatrix,
    RatingTriples,
    breast_cancer,
    digits,
    open_unpacked,
    parse_ratings,
    parse_svmlight,
    parse_table,
)

if TYPE_CHECKING:
    from scipy.sparse import csr_array


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
        SHA-256 of the arrays, as hex; see `DataSet`.
    """

    name: str
    features: "csr_array[np.float64]"
    labels: Floats
    classes: int
    digest: str


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
    """

    name: str
    users: npt.NDArray[np.int32]
    items: npt.NDArray[np.int32]
    values: Floats
    digest: str

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


def load_classification(name: str | DataSet) -> ClassificationData:
    """Load a data set with labels.

    Parameters
    ----------
    name
        Name of a binary or multi-class set, or a record of one. ``breast-cancer`` comes with
        scikit-learn: labels +1 benign (357), -1 malignant (212); each feature is shifted and
        scaled to mean zero and (population) variance one, with correctly rounded sums, so that
        its bits are the same everywhere.

    Raises
    ------
    InputError
        If there is no such set, or it has no labels.
    DataError
        If the file is not in the cache, damaged, truncated or not the set that it claims to be,
        or scikit-learn is needed and not installed.
    """
    data: ClassificationData = load(_find_record(name, ("binary", "multiclass")))
    return data


def load_multiclass(name: str) -> ClassificationData:
    """Load a data set with several classes; ``digits`` has the images as rows.

    Raises
    ------
    InputError
        If there is no such set, or it is not a set with several classes.
    DataError
        As `load_classification`.
    """
    data: ClassificationData = load(_find_record(name, ("multiclass", "matrix")))
    return data


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
    return load_multiclass("digits").features.toarray()


def load_ratings(source: str | os.PathLike[str] | DataSet = "latest-small") -> RatingsData:
    """Load a data set of ratings.

    Parameters
    ----------
    source
        A variant of MovieLens (``latest-small``, ``100k``, ``1m``, ``10m``, ``25m``), a record, or
        the path of a user's file in the format of ``ratings.csv``, ``ratings.dat`` or ``u.data``:
        uncompressed, packed as ``.bz2`` or ``.gz``, or inside MovieLens's zip.

    Raises
    ------
    InputError
        If there is no such variant and no such file.
    DataError
        If the file is not in the cache, damaged, truncated, malformed or not the variant that it
        claims to be.
    """
    record = source if isinstance(source, DataSet) else EDITIONS.get(os.fspath(source))
    if record is not None:
        ratings: RatingsData = load(_find_record(record, ("ratings",)))
        return ratings
    text = os.fspath(source)  # type: ignore[arg-type]
    path = Path(text).expanduser()
    is_name = path.name == text and path.suffix not in {*PACKED, ".csv", ".dat", ".data"}
    if is_name and not path.exists():
        raise unknown_name_error("edition of MovieLens", text, EDITIONS)
    if not path.is_file():
        fault = "is a folder, not a ratings file" if path.is_dir() else "does not exist"
        raise InputError(
            f"{path} {fault}: give an edition ({', '.join(EDITIONS)}) or the path of a "
            "ratings.csv, ratings.dat or u.data."
        )
    try:
        with open_unpacked(path, RATINGS_MEMBERS) as stream:
            triples = parse_ratings(stream)
    except ContentError as fault:
        raise DataError(f"{path} is not a usable ratings file: {fault}.") from fault
    return RatingsData(path.name, *triples, arrays_digest(*triples))


def load(record: DataSet) -> Any:
    """Load and validate a data set from the cache, or one that comes with scikit-learn.

    Raises
    ------
    DataError
        If the file is not in the cache, or is not that of the set.
    """
    if record.file is None:
        remedy = "install another version of scikit-learn"
        with _translate_content_errors(f"scikit-learn's {record.name}", record, remedy):
            rows = digits() if record.task == "matrix" else breast_cancer()
            return _check_classification(record, rows)
    path = find_file(record)
    if path is None:
        folder = cache_folder()
        paths = " or ".join(map(str, file_paths(record.file, folder)[:2]))
        raise DataError(
            f"the data set {record.name} is not in the data folder {folder}: run "
            f"`pfbench data fetch {record.name}`, or put its file there as {paths}."
        )
    remedy = f"move it away and run `pfbench data fetch {record.name}`"
    with _translate_content_errors(str(path), record, remedy):
        return read_file(record, path)


def read_file(record: DataSet, path: Path) -> ClassificationData | RatingsData:
    """Read and validate the file of a data set.

    Raises
    ------
    ContentError
        If the content of the file is not that of the set.
    """
    assert record.file is not None
    if record.file.sha256_archive is not None and path.name == record.file.filename:
        _check_equal("sha256", file_digest(path), record.file.sha256_archive)
    with open_unpacked(path, (record.file.member,)) as stream:
        if record.task == "ratings":
            return _check_ratings(record, parse_ratings(stream))
        if record.format == "svmlight":
            return _check_classification(record, parse_svmlight(stream, record.features))
        separator = "," if record.format == "comma-table" else " "
        return _check_classification(record, parse_table(stream, record.features, separator))


@contextmanager
def _translate_content_errors(subject: str, record: DataSet, remedy: str) -> Iterator[None]:
    """Context manager that converts a ContentError to a DataError with a remedy."""
    try:
        yield
    except ContentError as fault:
        message = f"{subject} is not the data set {record.name}: {fault}; {remedy}."
        raise DataError(message) from fault


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


def _check_ratings(record: DataSet, triples: RatingTriples) -> RatingsData:
    """Check ratings against the record, and return them as a data set."""
    _check_equal("number of ratings", triples.values.size, record.rows)
    _check_equal("number of users", np.unique(triples.users).size, record.users)
    _check_equal("number of items", np.unique(triples.items).size, record.features)
    return RatingsData(record.name, *triples, _check_digest(record, *triples))


def _check_classification(record: DataSet, rows: LabelledMatrix) -> ClassificationData:
    """Check labelled rows against the record; return them as a data set with normalised labels."""
    features, labels = rows
    _check_equal("number of rows", labels.size, record.rows)
    if record.nonzeros is not None:
        _check_equal("number of nonzeros", features.data.size, record.nonzeros)
    kinds, codes, counts = np.unique(labels, return_inverse=True, return_counts=True)
    _check_equal("number of classes", kinds.size, record.classes)
    if record.counts:
        _check_equal("number of rows in each class", tuple(counts.tolist()), record.counts)
    if record.task == "binary":
        _check_equal("pair of labels", kinds.tolist(), [-1.0, 1.0])
    else:
        labels = codes.astype(np.float64)
    arrays: list[npt.NDArray[Any]] = [features.data]
    if record.task != "matrix":
        indptr, indices = features.indptr.astype(np.int64), features.indices.astype(np.int32)
        arrays = [indptr, indices, *arrays, labels]
    digest = _check_digest(record, *arrays)
    return ClassificationData(record.name, features, labels, record.classes, digest)


def _check_digest(record: DataSet, *arrays: npt.NDArray[Any]) -> str:
    """Return the digest of a data set's arrays; raise if it differs from the recorded one."""
    digest = arrays_digest(*arrays)
    if record.sha256_arrays is not None:
        _check_equal("sha256 of arrays", digest, record.sha256_arrays)
    return digest


def _check_equal(subject: str, result: object, expected: object) -> None:
    """Raise ContentError if a value of the file differs from the recorded value."""
    if result != expected:
        raise ContentError(f"the {subject} is {result} instead of {expected}")
