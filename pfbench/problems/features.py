"""The rows of data that compiled loops read: sparse, in CSR form, and checked in full."""

from typing import Any

import numpy as np
import scipy

from pfbench.base.checks import check_finite_array
from pfbench.base.errors import InputError

MOST_ENTRIES = 2**32 - 1
"""Compiled loops number the entries and columns by 32 bits."""


def as_csr(features: Any) -> Any:
    """Return a copy of a matrix of numbers as a CSR array of float64, duplicates added up.

    Parameters
    ----------
    features
        A matrix of shape (n, d) in any scipy sparse format, or a dense array.

    Raises
    ------
    InputError
        If it is no matrix of finite numbers, its index arrays are inconsistent (scipy does not
        look at them again once they are set), or it is too large.
    """
    try:
        if scipy.sparse.issparse(features):
            _check_indices(features)
        matrix = scipy.sparse.csr_array(features, dtype=np.float64, copy=True)
    except (TypeError, ValueError, IndexError) as error:
        reason = " ".join(str(error).split()).rstrip(".")
        raise InputError(f"the features must be a matrix of numbers ({reason}).") from None
    if matrix.ndim != 2:
        raise InputError("the features must be a matrix of numbers, one row for each label.")
    if max(matrix.nnz, matrix.shape[1]) > MOST_ENTRIES:
        raise InputError(f"the features have {matrix.nnz} entries: at most 2^32 - 1 are read.")
    matrix.sum_duplicates()
    check_finite_array("the features", matrix.data)
    return matrix


def _check_indices(features: Any) -> None:
    """Raise ValueError if a sparse matrix points outside itself."""
    if features.format in ("csr", "csc", "bsr"):
        features.check_format(full_check=True)
    elif features.format == "coo":
        for coord, length in zip(features.coords, features.shape, strict=True):
            if coord.size and (coord.min() < 0 or coord.max() >= length):
                raise ValueError("an index lies outside the matrix")
