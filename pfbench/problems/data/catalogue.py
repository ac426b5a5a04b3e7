"""Records of the data sets, from ``data_sets.toml``: description, address, and checksums.

A record may have the checksum of the published archive, or that of the parsed arrays. A data set
without a checksum is called *unverified*; it is loaded if its shape and counts match the record.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from types import MappingProxyType
from typing import Any, Literal

from pfbench.base.names import find_entry

Format = Literal["svmlight", "comma-table", "space-table", "ratings", "scikit-learn"]
Task = Literal["binary", "multiclass", "ratings", "matrix"]


@dataclass(frozen=True)
class DataFile:
    """Download address, cache location and checksums of a data set's file.

    Attributes
    ----------
    url
        Address from which the file is downloaded.
    folder
        Folder of the file in the cache.
    filename
        Name of the downloaded file in the cache.
    member
        Name of the unpacked file; the cache may hold it uncompressed, as ``.bz2`` or as ``.gz``.
    sha256_archive
        Recorded checksum of the bytes that the publisher sends; None if there is none.
    """

    url: str
    folder: str
    filename: str
    member: str
    sha256_archive: str | None = None


@dataclass(frozen=True)
class DataSet:
    """Record of a data set: its description, size, file and checksums.

    Attributes
    ----------
    name
        Name in pfbench.
    summary
        One-line description.
    home
        Origin, in words.
    citation
        What to cite.
    terms
        Terms of use, as far as known.
    format
        File format; ``scikit-learn`` for a set that comes with that library.
    task
        Kind of task.
    rows
        Number of samples; of ratings for the task ``ratings``.
    features
        Number of features (columns); of distinct items for the task ``ratings``.
    classes
        Number of distinct labels, 0 where there are none.
    users
        Number of distinct users, 0 except for the task ``ratings``.
    counts
        Number of rows of each label, in increasing order of labels; empty where not known.
    nonzeros
        Number of stored entries, where known.
    file
        File of the data set, None for the format ``scikit-learn``.
    sha256_arrays
        Recorded checksum of the arrays as loaded, in canonical form, if there is one: of the indptr
        (int64), indices (int32), data and labels (float64) of labelled rows; of users, items
        (int32) and ratings (float64), sorted by user and item; of the matrix (float64).
    """

    name: str
    summary: str
    home: str
    citation: str
    terms: str
    format: Format
    task: Task
    rows: int
    features: int
    classes: int = 0
    users: int = 0
    counts: tuple[int, ...] = ()
    nonzeros: int | None = None
    file: DataFile | None = None
    sha256_arrays: str | None = None

    @property
    def shape(self) -> tuple[int, int]:
        """Shape (samples, features), or (users, items) for a set of ratings."""
        return (self.users or self.rows, self.features)


def _read_data_set(name: str, table: dict[str, Any]) -> DataSet:
    """Return the record that a table of ``data_sets.toml`` describes."""
    file = table.pop("file", None)
    counts = tuple(table.pop("counts", ()))
    return DataSet(name=name, **table, counts=counts, file=file and DataFile(**file))


_TABLES = (files(__package__) / "data_sets.toml").read_text(encoding="utf-8")

DATA_SETS: Mapping[str, DataSet] = MappingProxyType(
    {name: _read_data_set(name, table) for name, table in tomllib.loads(_TABLES).items()}
)
"""All data sets, by name."""

EDITIONS: Mapping[str, DataSet] = MappingProxyType(
    {
        name.removeprefix("movielens-"): record
        for name, record in DATA_SETS.items()
        if record.task == "ratings"
    }
)
"""Variants of MovieLens by their short name: ``latest-small``, ``100k``, ``1m``, ..."""


def data_set(name: str | DataSet) -> DataSet:
    """Return the record of the named data set.

    Parameters
    ----------
    name
        A name in `DATA_SETS`, or ``movielens`` for its smallest variant, ``latest-small``; a record
        is returned as is.

    Raises
    ------
    InputError
        If there is no set of that name; the message suggests the nearest name.
    """
    if isinstance(name, DataSet):
        return name
    if name == "movielens":
        return EDITIONS["latest-small"]
    return find_entry("data set", name, DATA_SETS)
