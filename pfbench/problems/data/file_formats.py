"""Readers of data files, compressed or not: LIBSVM text, tables of numbers, ratings.

scikit-learn parses LIBSVM's format, and pandas parses the others. Both round decimals correctly,
so that the arrays do not depend on the machine. This module also reads the data sets that come
with scikit-learn.
"""

import bz2
import csv
import gzip
import io
import lzma
import math
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec
from pathlib import Path, PurePosixPath
from typing import IO, TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np
import numpy.typing as npt

from pfbench.base.arrays import Floats, Integers
from pfbench.base.errors import DataError
from pfbench.problems.data.cache import EXTRA

if TYPE_CHECKING:
    import pandas as pd


PACKED = (".bz2", ".gz", ".xz", ".zip")
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


class SparseRows(NamedTuple):
    """Rows in compressed sparse row (CSR) format with one label for each row.

    `indptr` is int64 (n + 1,); `indices` is int32 (nnz,), zero-based and sorted in each row;
    `data` is float64 (nnz,). `labels` is float64 (n,), with the values in the file.
    """

    indptr: Integers
    indices: npt.NDArray[np.int32]
    data: Floats
    labels: Floats


class RatingTriples(NamedTuple):
    """Ratings, sorted by user and then by item.

    `users` and `items` are int32 and `values` is float64, each of shape (n,).
    """

    users: npt.NDArray[np.int32]
    items: npt.NDArray[np.int32]
    values: Floats


@contextmanager
def open_unpacked(path: Path, form: str, members: Sequence[str]) -> Iterator[io.BufferedReader]:
    """Open a data file as a stream of its unpacked bytes.

    Parameters
    ----------
    path
        The file.
    form
        File name whose suffix tells the compression: ``.bz2``, ``.gz``, ``.xz``, ``.zip``; any
        other means none. `form` can differ from the name of `path`, because a download is checked
        before it gets its name.
    members
        Names of the wanted file inside a zip, in any folder. The first one found is taken; it may
        itself be compressed as ``.gz``, ``.bz2`` or ``.xz``.

    Raises
    ------
    ContentError
        If the file cannot be read, is damaged or truncated, or lacks the member. Some damage is
        found only while the stream is read.
    """
    suffix = PurePosixPath(form).suffix
    try:
        with ExitStack() as stack:
            stream: IO[bytes]
            if suffix == ".zip":
                archive = stack.enter_context(zipfile.ZipFile(path))
                member = _find_first_member(archive, members)
                stream = stack.enter_context(archive.open(member))
                suffix = PurePosixPath(member).suffix
            else:
                stream = stack.enter_context(path.open("rb"))
            opened: Any = {".bz2": bz2.open, ".xz": lzma.open, ".gz": gzip.open}.get(suffix)
            if opened is not None:
                stream = stack.enter_context(opened(stream))
            yield io.BufferedReader(cast(io.RawIOBase, stream))
    except (
        EOFError,
        lzma.LZMAError,
        zlib.error,
        zipfile.BadZipFile,
        RuntimeError,
        NotImplementedError,
    ) as error:
        raise ContentError(f"the file is damaged or truncated ({error})") from error
    except OSError as error:
        # A packed stream with the wrong first bytes is an OSError without an error number.
        if error.errno is None:
            raise ContentError(f"the file is damaged or truncated ({error})") from error
        raise ContentError(f"the file cannot be read ({error.strerror})") from error


def _find_first_member(archive: zipfile.ZipFile, members: Sequence[str]) -> str:
    """Return the full name of the first of `members` that is in the archive."""
    present = {PurePosixPath(name).name: name for name in archive.namelist()}
    for member in members:
        for packed in ("", ".gz", ".bz2", ".xz"):
            if member + packed in present:
                return present[member + packed]
    raise ContentError(f"the archive holds no {' or '.join(members)}")


def parse_svmlight(stream: IO[bytes], features: int) -> SparseRows:
    """Parse LIBSVM text, ``label index:value index:value ...`` with one-based indices.

    Raises
    ------
    ContentError
        If a line is malformed, an index is not in 1..features, or a number is not finite.
    DataError
        If scikit-learn is not installed.
    """
    try:
        from sklearn.datasets import load_svmlight_file
    except ModuleNotFoundError:
        raise DataError(
            f"LIBSVM's format is read by scikit-learn, which is not installed: {EXTRA}."
        ) from None
    try:
        matrix, labels = load_svmlight_file(stream, n_features=features, zero_based=False)
    except (ValueError, OverflowError) as error:
        raise ContentError(
            f"the file is not LIBSVM text with {features} features ({error})"
        ) from error
    return _check_finite_rows(matrix.indptr, matrix.indices, matrix.data, labels)


def parse_table(stream: IO[bytes], features: int, separator: str) -> SparseRows:
    """Parse a text table whose last column is the class and whose other columns are features.

    Raises
    ------
    ContentError
        If a line has another number of fields, or a field is not a finite number.
    """
    parts = []
    for frame in _read_frames(stream, separator, dtype=np.float64):
        table = frame.to_numpy()
        if table.shape[1] != features + 1:
            raise ContentError(f"the file has {table.shape[1]} columns instead of {features + 1}")
        retained = table[:, :-1] != 0.0
        parts.append(
            (
                retained.sum(axis=1),
                np.nonzero(retained)[1].astype(np.int32),
                table[:, :-1][retained],
                table[:, -1].copy(),
            )
        )
    counts, indices, data, labels = map(np.concatenate, zip(*parts, strict=True))
    return _check_finite_rows(np.append(0, np.cumsum(counts)), indices, data, labels)


def _check_finite_rows(indptr: Any, indices: Any, data: Any, labels: Any) -> SparseRows:
    """Convert sparse rows to their stored types; raise if they are empty or not finite."""
    if not labels.size:
        raise ContentError("the file is empty")
    wrong = np.flatnonzero(~np.isfinite(data))
    row = int(np.searchsorted(indptr, wrong[0], side="right")) if wrong.size else 0
    unlabelled = np.flatnonzero(~np.isfinite(labels))
    if wrong.size or unlabelled.size:
        row = row or int(unlabelled[0]) + 1
        raise ContentError(f"row {row} holds a number that is not finite")
    return SparseRows(indptr.astype(np.int64), indices.astype(np.int32), data, labels)


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


DIGIT_COUNTS = (178, 182, 177, 183, 181, 182, 181, 179, 174, 180)
"""Number of images of each digit, 0 to 9."""


def digits() -> tuple[Floats, Floats]:
    """Return scikit-learn's digit images, one in each row, and their labels 0 to 9."""
    table = _read_sklearn_table("digits", "digits.csv.gz")
    return np.ascontiguousarray(table[:, :-1]), table[:, -1].copy()


def breast_cancer() -> SparseRows:
    """Return scikit-learn's breast-cancer data: standardised features and +1/-1 labels."""
    table = _read_sklearn_table("breast-cancer", "breast_cancer.csv", header_lines=1)
    values = np.ascontiguousarray(table[:, :-1])
    for column in values.T:
        column -= math.fsum(column) / column.size
        column /= math.sqrt(math.fsum(column * column) / column.size)
    return as_sparse_rows(values, np.where(table[:, -1] == 1, 1.0, -1.0))


def as_sparse_rows(matrix: Floats, labels: Floats) -> SparseRows:
    """Convert a dense matrix to sparse rows that store every entry, zeros included."""
    n, d = matrix.shape
    indptr = np.arange(0, n * d + 1, d, dtype=np.int64)
    indices = np.tile(np.arange(d, dtype=np.int32), n)
    return SparseRows(indptr, indices, matrix.ravel(), labels)


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
