"""Data sets that come with scikit-learn."""

import math
from typing import Any

import numpy as np

from pfbench.base.arrays import Floats
from pfbench.base.errors import DataError
from pfbench.problems.data.cache import EXTRA
from pfbench.problems.data.file_formats import SparseRows

DIGIT_COUNTS = (178, 182, 177, 183, 181, 182, 181, 179, 174, 180)
"""Number of images of each digit, 0 to 9."""


def digits() -> tuple[Floats, Floats]:
    """Return the images of handwritten digits, one in each row, and their labels 0 to 9."""
    bunch = _load_sklearn_set("digits")
    images = np.ascontiguousarray(bunch.data, dtype=np.float64)
    return images, np.asarray(bunch.target, dtype=np.float64)


def breast_cancer() -> SparseRows:
    """Return the standardised features and +1/-1 labels of breast-cancer."""
    bunch = _load_sklearn_set("breast-cancer")
    values = np.array(bunch.data, dtype=np.float64)
    for column in values.T:
        column -= math.fsum(column) / column.size
        column /= math.sqrt(math.fsum(column * column) / column.size)
    return as_sparse_rows(values, np.where(np.asarray(bunch.target) == 1, 1.0, -1.0))


def as_sparse_rows(matrix: Floats, labels: Floats) -> SparseRows:
    """Return labelled rows in which every entry is stored."""
    n, d = matrix.shape
    indptr = np.arange(0, n * d + 1, d, dtype=np.int64)
    indices = np.tile(np.arange(d, dtype=np.int32), n)
    return SparseRows(indptr, indices, matrix.ravel(), labels)


def _load_sklearn_set(name: str) -> Any:
    """Return a set as scikit-learn loads it; raise if scikit-learn is not installed."""
    try:
        from sklearn import datasets
    except ModuleNotFoundError:
        raise DataError(
            f"the data set {name} comes with scikit-learn, which is not installed: {EXTRA}."
        ) from None
    load = {"digits": datasets.load_digits, "breast-cancer": datasets.load_breast_cancer}
    return load[name]()
