"""Records of the data sets: description, home, and checksums.

A record may have up to three checksums, from the strongest: that of the unpacked bytes as the home
publishes them, that of the home's archive, and that of the parsed arrays in canonical form. A set
without a checksum is loaded if its shape and counts match, and is called *unverified*.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Literal

from pfbench.base.checks import find_entry

Format = Literal["svmlight", "comma-table", "space-table", "ratings", "scikit-learn"]
Task = Literal["binary", "multiclass", "ratings", "matrix"]


@dataclass(frozen=True)
class DataFile:
    """File of a data set.

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
        Recorded checksum of the bytes that the home sends; None if there is none.
    sha256_raw
        Recorded checksum of the unpacked bytes, if the home publishes the same bytes.
    """

    url: str
    folder: str
    filename: str
    member: str
    sha256_archive: str | None = None
    sha256_raw: str | None = None


@dataclass(frozen=True)
class DataSet:
    """Data set.

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
        Its file, None for the format ``scikit-learn``.
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
        """Rows and columns: samples x features, or users x items."""
        return (self.users or self.rows, self.features)


_LIBSVM = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets"
_UCI = "https://archive.ics.uci.edu/static/public"
_GROUPLENS = "https://files.grouplens.org/datasets/movielens"

_CHANG_LIN = (
    "C.-C. Chang and C.-J. Lin, LIBSVM: a library for support vector machines, ACM TIST 2(3):27, "
    "2011"
)
_PLATT = (
    "J. C. Platt, Fast training of support vector machines using sequential minimal optimization, "
    "in Advances in Kernel Methods, 1998"
)
_HARPER_KONSTAN = (
    "F. M. Harper and J. A. Konstan, The MovieLens datasets: history and context, ACM TiiS "
    "5(4):19, 2015"
)
_NO_REDISTRIBUTION = (
    "GroupLens: research use with acknowledgement; no redistribution and no commercial use "
    "without permission."
)
_ASKS_CITATION = "None stated that we know of; the LIBSVM repository asks to be cited."


_A9A = DataSet(
    name="a9a",
    summary="UCI Adult: 14 attributes as 123 binary features, labels +1/-1",
    home="LIBSVM data repository, binary classification, a9a (C.-C. Chang and C.-J. Lin)",
    citation=f"{_CHANG_LIN}; {_PLATT}; B. Becker and R. Kohavi, Adult, UCI Machine Learning "
    "Repository, 1996",
    terms="UCI Adult is CC BY 4.0; the LIBSVM repository states no licence of its own.",
    format="svmlight",
    task="binary",
    rows=32_561,
    features=123,
    classes=2,
    counts=(24_720, 7_841),
    nonzeros=451_592,
    file=DataFile(f"{_LIBSVM}/binary/a9a", "a9a", "a9a", "a9a"),
    sha256_arrays="d049faa796fbad55ff099e1f7cab14319587171c1f1a298adb1139c7ad0f3e55",
)
_W8A = DataSet(
    name="w8a",
    summary="web pages: 300 binary keyword features, labels +1/-1; many rows are empty",
    home="LIBSVM data repository, binary classification, w8a (C.-C. Chang and C.-J. Lin)",
    citation=f"{_CHANG_LIN}; {_PLATT}",
    terms=_ASKS_CITATION,
    format="svmlight",
    task="binary",
    rows=49_749,
    features=300,
    classes=2,
    counts=(48_270, 1_479),
    nonzeros=579_586,
    file=DataFile(f"{_LIBSVM}/binary/w8a", "w8a", "w8a", "w8a"),
    sha256_arrays="d28d87d14e2df04a2cce31d5ffd19201a94f1872d615b3d791e8e1b5e3386a5c",
)


# The archives' sums were not computed by pfbench: they are what several independent public
# records of these archives agree on, together with the MD5 sums that GroupLens publishes.
_MOVIELENS_ARCHIVES = {
    "100k": "50d2a982c66986937beb9ffb3aa76efe955bf3d5c6b761f4e3a7cd717c6a3229",
    "1m": "a6898adb50b9ca05aa231689da44c217cb524e7ebd39d264c56e2832f2c54e20",
    "10m": "813c411ccb6122564edfe752e7f80c4dcc5aa25fa94c93622f6877a7ba252862",
    "25m": "8b21cfb7eb1706b4ec0aac894368d90acf26ebdfb6aced3ebd4ad5bd1eb9c6aa",
}


def _movielens(
    edition: str,
    member: str,
    ratings: int,
    users: int,
    items: int,
    unpacked_checksum: str | None = None,
) -> DataSet:
    """Return one variant of MovieLens; `unpacked_checksum` is of the unpacked bytes."""
    name = f"ml-{edition}"
    archive = _MOVIELENS_ARCHIVES.get(edition)
    return DataSet(
        name=f"movielens-{edition}",
        summary=f"film ratings, {ratings:,} by {users:,} users of {items:,} films",
        home="GroupLens, University of Minnesota (grouplens.org/datasets/movielens)",
        citation=_HARPER_KONSTAN,
        terms=_NO_REDISTRIBUTION,
        format="ratings",
        task="ratings",
        rows=ratings,
        users=users,
        features=items,
        file=DataFile(
            f"{_GROUPLENS}/{name}.zip", name, f"{name}.zip", member, archive, unpacked_checksum
        ),
    )


_LATEST_SMALL = _movielens("latest-small", "ratings.csv", 100_836, 610, 9_724)
_100K_RAW = "06416e597f82b7342361e41163890c81036900f418ad91315590814211dca490"

_ALL = (
    _A9A,
    replace(
        _A9A,
        name="a9a-test",
        summary="the test part of a9a (feature 123 never occurs)",
        rows=16_281,
        counts=(12_435, 3_846),
        nonzeros=None,
        file=DataFile(f"{_LIBSVM}/binary/a9a.t", "a9a", "a9a.t", "a9a.t"),
        sha256_arrays="9a188c7aca7102bc34ecb4e37d9e3c57b792f8177ebd916a5a97fd77867b26f6",
    ),
    _W8A,
    replace(
        _W8A,
        name="w8a-test",
        summary="the test part of w8a",
        rows=14_951,
        counts=(),
        nonzeros=None,
        file=DataFile(f"{_LIBSVM}/binary/w8a.t", "w8a", "w8a.t", "w8a.t"),
        sha256_arrays=None,
    ),
    DataSet(
        name="covertype",
        summary="forest cover type of 30 m cells from 54 cartographic features, 7 classes",
        home="UCI Machine Learning Repository, Covertype (J. A. Blackard, 1998)",
        citation="J. A. Blackard, Covertype, UCI Machine Learning Repository, 1998; J. A. "
        "Blackard and D. J. Dean, Comparative accuracies of artificial neural networks and "
        "discriminant analysis in predicting forest cover types from cartographic variables, "
        "Computers and Electronics in Agriculture 24(3):131-151, 1999",
        terms="CC BY 4.0 (UCI); reuse unlimited with retention of the notice: Copyright 1998 "
        "Jock A. Blackard and Colorado State University.",
        format="comma-table",
        task="multiclass",
        rows=581_012,
        features=54,
        classes=7,
        counts=(211_840, 283_301, 35_754, 2_747, 9_493, 17_367, 20_510),
        file=DataFile(
            f"{_UCI}/31/covertype.zip",
            "covtype",
            "covertype.zip",
            "covtype.data",
            sha256_raw="0a9371cef7c964b5475d6053cc3e0894a5aa6f65ad1ed3ecb01c45aa96217945",
        ),
    ),
    DataSet(
        name="sensorless",
        summary="statistics of electric motor currents, 48 features, 11 fault conditions; "
        "sorted by class, unscaled",
        home="UCI Machine Learning Repository, Dataset for Sensorless Drive Diagnosis (M. Bator, "
        "2015)",
        citation="M. Bator, Dataset for Sensorless Drive Diagnosis, UCI Machine Learning "
        "Repository, 2015; F. Paschke et al., Sensorlose Zustandsueberwachung an "
        "Synchronmotoren, 23. Workshop Computational Intelligence, KIT Scientific Publishing, "
        "2013",
        terms="CC BY 4.0 (UCI).",
        format="space-table",
        task="multiclass",
        rows=58_509,
        features=48,
        classes=11,
        counts=(5_319,) * 11,
        file=DataFile(
            f"{_UCI}/325/dataset+for+sensorless+drive+diagnosis.zip",
            "sensorless",
            "sensorless.zip",
            "Sensorless_drive_diagnosis.txt",
            sha256_raw="366b8c5c564a5a4d07600db9180d2871f51489104b554f6320781514059f35a9",
        ),
    ),
    DataSet(
        name="aloi",
        summary="colour images of 1,000 objects, 128 features, 1,000 classes",
        home="LIBSVM data repository, multi-class classification, aloi (C.-C. Chang and C.-J. Lin)",
        citation=f"{_CHANG_LIN}; J.-M. Geusebroek, G. J. Burghouts and A. W. M. Smeulders, The "
        "Amsterdam library of object images, IJCV 61(1):103-112, 2005; A. Rocha and S. K. "
        "Goldenstein, Multiclass from binary: expanding one-versus-all, one-versus-one and "
        "ECOC-based approaches, IEEE TNNLS 25(2):289-302, 2014",
        terms=_ASKS_CITATION,
        format="svmlight",
        task="multiclass",
        rows=108_000,
        features=128,
        classes=1_000,
        file=DataFile(f"{_LIBSVM}/multiclass/aloi.bz2", "aloi", "aloi.bz2", "aloi"),
    ),
    replace(
        _LATEST_SMALL,
        summary=f"{_LATEST_SMALL.summary} (edition of September 2018)",
        terms="GroupLens: research use with acknowledgement; redistribution under the same "
        "terms; no commercial use without permission; no implied endorsement.",
        sha256_arrays="390e60e8b493d218a599b3053ef9c6d620faedc68e8d51fcac7c9041c11557e9",
    ),
    _movielens("100k", "u.data", 100_000, 943, 1_682, _100K_RAW),
    _movielens("1m", "ratings.dat", 1_000_209, 6_040, 3_706),
    _movielens("10m", "ratings.dat", 10_000_054, 69_878, 10_677),
    _movielens("25m", "ratings.csv", 25_000_095, 162_541, 59_047),
    DataSet(
        name="digits",
        summary="8 x 8 images of handwritten digits as a 1797 x 64 matrix, entries 0..16",
        home="comes with scikit-learn; UCI Machine Learning Repository, Optical Recognition of "
        "Handwritten Digits (test part)",
        citation="E. Alpaydin and C. Kaynak, Optical Recognition of Handwritten Digits, UCI "
        "Machine Learning Repository, 1998",
        terms="CC BY 4.0 (UCI).",
        format="scikit-learn",
        task="matrix",
        rows=1_797,
        features=64,
        sha256_arrays="20def7f70a702f0af9732fbba4375e147a7d54fe70d8c45569b8e7c1c7010c10",
    ),
    DataSet(
        name="breast-cancer",
        summary="Wisconsin diagnostic breast cancer: 30 standardised features, +1 benign, -1 "
        "malignant",
        home="comes with scikit-learn; UCI Machine Learning Repository, Breast Cancer Wisconsin "
        "(Diagnostic)",
        citation="W. Wolberg, O. Mangasarian, N. Street and W. Street, Breast Cancer Wisconsin "
        "(Diagnostic), UCI Machine Learning Repository, 1993",
        terms="CC BY 4.0 (UCI).",
        format="scikit-learn",
        task="binary",
        rows=569,
        features=30,
        classes=2,
        counts=(212, 357),
        sha256_arrays="d2c8d01404e964ba18282e3d95862d31582cb439465d823a9be56851ea99f9a3",
    ),
)

DATA_SETS: Mapping[str, DataSet] = MappingProxyType({record.name: record for record in _ALL})
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
    """Return the record of a data set.

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
