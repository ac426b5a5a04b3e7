"""Readers of data files, compressed or not: LIBSVM text, tables of numbers, ratings.

scikit-learn parses LIBSVM's format, and pandas parses the others. Both round decimals correctly,
so that the arrays do not depend on the machine. This module also reads the data sets that come
with scikit-learn.
"""

import bz2
import csv
import gzip
import io
import math
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec
from pathlib import Path, PurePosixPath
from types import MappingProxyType
from typing import IO, TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np
import numpy.typing as npt

from pfbench.base.arrays import Floats
from pfbench.base.errors import DataError
from pfbench.problems.data.cache import EXTRA

if TYPE_CHECKING:
    import pandas as pd
    from scipy.sparse import csr_array


_OPENERS: Mapping[str, Any] = MappingProxyType({".bz2": bz2.open, ".gz": gzip.open})
"""Functions that open a compressed stream, by the suffix of a file."""

PACKED = (*_OPENERS, ".zip")
"""Supported compression formats, by the suffix of a file."""

RATINGS_MEMBERS = ("ratings.csv", "ratings.dat", "u.data")
"""Names of the ratings file in the archives of MovieLens."""

LOWEST, HIGHEST = 0.5, 5.0
"""The scale of the ratings, in stars."""

_RATINGS_HEADER = (b"userId", b"movieId", b"rating")
_LINES = 1 << 18
"""Lines that pandas parses at a time, so that memory stays bounded for the largest sets."""


class ContentError(Exception):
    """Exception for invalid content of a data file; the caller adds the name of the file."""


class LabelledMatrix(NamedTuple):
    """Sparse rows with one label for each row.

    `features` is a float64 matrix (n, d) with sorted indices; `labels` is float64 (n,), with the
    values in the file.
    """

    features: "csr_array[np.float64]"
    labels: Floats


class RatingTriples(NamedTuple):
    """Ratings, sorted by user and then by item.

    `users` and `items` are int32 and `values` is float64, each of shape (n,).
    """

    users: npt.NDArray[np.int32]
    items: npt.NDArray[np.int32]
    values: Floats


@contextmanager
def open_unpacked(path: Path, members: Sequence[str]) -> Iterator[io.BufferedReader]:
    """Open a data file as a stream of its unpacked bytes; its suffix tells the compression.

    Parameters
    ----------
    path
        The file.
    members
        Names of the wanted file inside a zip, in any folder. The first one found is taken; it may
        itself be compressed.

    Raises
    ------
    ContentError
        If the file cannot be read, is damaged or truncated, or lacks the member. Some damage is
        found only while the stream is read.
    """
    try:
        with ExitStack() as stack:
            stream: IO[bytes]
            suffix = path.suffix
            if suffix == ".zip":
                archive = stack.enter_context(zipfile.ZipFile(path))
                member = _find_first_member(archive, members)
                stream, suffix = archive.open(member), PurePosixPath(member).suffix
            else:
                stream = path.open("rb")
            stack.enter_context(stream)
            if suffix in _OPENERS:
                stream = stack.enter_context(_OPENERS[suffix](stream))
            yield io.BufferedReader(cast(io.RawIOBase, stream))
    except OSError as error:
        # A packed stream with the wrong first bytes is an OSError without an error number.
        fault = "is damaged or truncated" if error.errno is None else "cannot be read"
        raise ContentError(f"the file {fault} ({error.strerror or error})") from error
    except (EOFError, zlib.error, zipfile.BadZipFile, RuntimeError) as error:
        raise ContentError(f"the file is damaged or truncated ({error})") from error


def _find_first_member(archive: zipfile.ZipFile, members: Sequence[str]) -> str:
    """Return the full name of the first of `members` that is in the archive."""
    present = {PurePosixPath(name).name: name for name in archive.namelist()}
    for name in (member + packed for member in members for packed in ("", *_OPENERS)):
        if name in present:
            return present[name]
    raise ContentError(f"the archive holds no {' or '.join(members)}")


def parse_svmlight(stream: IO[bytes], features: int) -> LabelledMatrix:
    """Parse LIBSVM text, ``label index:value index:value ...`` with one-based indices.

    Raises
    ------
    ContentError
        If a line is malformed, an index is not in 1..features, or a number is not finite.
    DataError
        If scikit-learn is not installed.
    """
    from scipy.sparse import csr_array, safely_cast_index_arrays

    try:
        from sklearn.datasets import load_svmlight_file
    except ModuleNotFoundError:
        raise DataError(
            f"LIBSVM's format is read by scikit-learn, which is not installed: {EXTRA}."
        ) from None
    try:
        matrix, labels = load_svmlight_file(stream, n_features=features, zero_based=False)
        locations = safely_cast_index_arrays(matrix, np.int32)
    except (ValueError, OverflowError) as error:
        raise ContentError(
            f"the file is not LIBSVM text with {features} features ({error})"
        ) from error
    return _check_finite_rows(csr_array((matrix.data, *locations), shape=matrix.shape), labels)


def parse_table(stream: IO[bytes], features: int, separator: str) -> LabelledMatrix:
    """Parse a text table whose last column is the class and whose other columns are features.

    Raises
    ------
    ContentError
        If a line has another number of fields, or a field is not a finite number.
    """
    from scipy.sparse import csr_array, vstack

    blocks, labels = [], []
    for frame in _read_frames(stream, separator, dtype=np.float64):
        table = frame.to_numpy()
        if table.shape[1] != features + 1:
            raise ContentError(f"the file has {table.shape[1]} columns instead of {features + 1}")
        blocks.append(csr_array(table[:, :-1]))
        labels.append(table[:, -1])
    return _check_finite_rows(vstack(blocks, format="csr"), np.concatenate(labels))


def _check_finite_rows(matrix: Any, labels: Floats) -> LabelledMatrix:
    """Return rows with their labels; raise if there are none, or a number is not finite."""
    if not labels.size:
        raise ContentError("the file is empty")
    with np.errstate(invalid="ignore"):
        wrong = np.flatnonzero(np.isnan((0.0 * matrix).sum(axis=1) + 0.0 * labels))
    if wrong.size:
        raise ContentError(f"row {wrong[0] + 1} holds a number that is not finite")
    return LabelledMatrix(matrix, labels)


def parse_ratings(stream: io.BufferedReader) -> RatingTriples:
    """Parse ratings in any of the three file formats of MovieLens.

    The first line determines the format: it has ``::`` or tabs between its fields, or is a header
    with the columns ``userId``, ``movieId`` and ``rating``. Other columns are ignored.

    Raises
    ------
    ContentError
        If there is no rating, a column is missing, an id is not an integer in 0..2**31 - 1, a
        rating is not a number from 0.5 to 5, or a user has rated an item twice.
    """
    line = stream.peek(1 << 16).partition(b"\n")[0]
    separator, columns, header = _detect_ratings_layout(line)
    width = line.count(separator.encode()) + 1
    if max(columns) >= width:
        raise ContentError("the first line lacks user, item or rating")
    types: dict[int, Any] = dict.fromkeys(range(width), str)
    types.update(zip(columns, (np.int64, np.int64, np.float64), strict=True))
    parts = []
    for frame in _read_frames(stream, separator, dtype=types, skiprows=header):
        users, items, values = (frame[column].to_numpy() for column in columns)
        ids = np.concatenate([users, items])
        if ids.min() < 0 or ids.max() >= 2**31:
            raise ContentError("a user or an item is not an integer in 0..2**31 - 1")
        wrong = np.flatnonzero(~((values >= LOWEST) & (values <= HIGHEST)))  # NaN among them
        if wrong.size:
            raise ContentError(
                f"user {users[wrong[0]]} rates item {items[wrong[0]]} with {values[wrong[0]]:g}, "
                f"which is not a number from {LOWEST} to {HIGHEST}"
            )
        parts.append((users.astype(np.int32), items.astype(np.int32), values))
    return _sort_distinct_ratings(*map(np.concatenate, zip(*parts, strict=True)))


def _detect_ratings_layout(line: bytes) -> tuple[str, list[int], int]:
    """Return the separator, the columns of user, item and rating, and the header's line count."""
    if b"::" in line:
        return ":", [0, 2, 4], 0
    if b"\t" in line:
        return "\t", [0, 1, 2], 0
    names = [name.strip(b' "\r\xef\xbb\xbf') for name in line.split(b",")]
    missing = [name.decode() for name in _RATINGS_HEADER if name not in names]
    if missing:
        raise ContentError(
            f"the first line lacks the column {' and '.join(missing)}: it is neither the header of "
            "a ratings.csv nor a rating whose fields are divided by '::' or tabs"
        )
    return ",", [names.index(name) for name in _RATINGS_HEADER], 1


def _sort_distinct_ratings(users: Any, items: Any, values: Any) -> RatingTriples:
    """Sort ratings by user and then by item; raise if a user rated an item twice."""
    pair = (users.astype(np.int64) << 32) | items
    order = np.argsort(pair, kind="stable")
    twice = order[1:][np.diff(pair[order]) == 0]
    if twice.size:
        raise ContentError(f"user {users[twice[0]]} rates item {items[twice[0]]} twice")
    return RatingTriples(users[order], items[order], values[order])


def _read_frames(stream: IO[bytes], separator: str, **options: Any) -> "Iterator[pd.DataFrame]":
    """Yield chunks of a headerless numeric table as pandas data frames; raise if it is empty.

    Raises
    ------
    ContentError
        If there is no line, or pandas cannot parse a line.
    """
    import pandas as pd

    if tuple(map(int, pd.__version__.split(".")[:2])) < (3, 1):
        options["float_precision"] = "round_trip"  # later versions always do
    try:
        with pd.read_csv(
            stream,
            sep=separator,
            header=None,
            quoting=csv.QUOTE_NONE,
            encoding="latin-1",
            chunksize=_LINES,
            **options,
        ) as reader:
            yield from reader
    except pd.errors.EmptyDataError as error:
        raise ContentError("the file is empty") from error
    except (ValueError, OverflowError, IndexError) as error:
        raise ContentError(f"the file is not a table of numbers ({str(error).strip()})") from error


def digits() -> LabelledMatrix:
    """Return scikit-learn's digit images, one in each row, and their labels 0 to 9."""
    table = _read_sklearn_table("digits", "digits.csv.gz")
    return _store_all_entries(table[:, :-1], table[:, -1])


def breast_cancer() -> LabelledMatrix:
    """Return scikit-learn's breast-cancer data: standardised features and +1/-1 labels."""
    table = _read_sklearn_table("breast-cancer", "breast_cancer.csv", header_lines=1)
    values = np.ascontiguousarray(table[:, :-1])
    for column in values.T:
        column -= math.fsum(column) / column.size
        column /= math.sqrt(math.fsum(column * column) / column.size)
    return _store_all_entries(values, np.where(table[:, -1] == 1, 1.0, -1.0))


def _store_all_entries(matrix: Floats, labels: Floats) -> LabelledMatrix:
    """Return the rows of a dense matrix as sparse rows that store every entry, zeros included."""
    from scipy.sparse import csr_array

    n, d = matrix.shape
    indices = np.tile(np.arange(d, dtype=np.int32), n)
    indptr = np.arange(0, n * d + 1, d, dtype=np.int32)
    return LabelledMatrix(csr_array((matrix.ravel(), indices, indptr), shape=(n, d)), labels.copy())


def _read_sklearn_table(name: str, file: str, header_lines: int = 0) -> Floats:
    """Return the numbers of a data file of scikit-learn; raise if that is not installed.

    scikit-learn itself is not imported, since its import takes longer than a small run.
    """
    spec = find_spec("sklearn")
    if spec is None or spec.origin is None:
        raise DataError(
            f"the data set {name} comes with scikit-learn, which is not installed: {EXTRA}."
        )
    folder = Path(spec.origin).with_name("datasets")
    return np.loadtxt(folder / "data" / file, delimiter=",", skiprows=header_lines)
