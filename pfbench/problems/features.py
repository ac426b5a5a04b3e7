"""Validated rows of data for compiled loops: sparse, in CSR form."""

from typing import Any

import numpy as np
import scipy

from pfbench.base.checks import check_finite_array
from pfbench.base.errors import InputError

MOST_ENTRIES = 2**32 - 1
"""Maximum number of entries and columns: compiled loops use 32-bit indices."""


def as_csr(features: Any) -> Any:
    """Return a copy of a matrix of numbers as a float64 CSR array, with duplicates summed.

    Parameters
    ----------
    features
        A matrix of shape (n, d) in any scipy sparse format, or a dense array.

    Raises
    ------
    InputError
        If `features` is not a matrix of finite numbers, is too large, or has inconsistent index
        arrays, which scipy does not check after construction.
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
        raise InputError(f"the features must have at most 2^32 - 1 entries, not {matrix.nnz}.")
    matrix.sum_duplicates()
    check_finite_array("the features", matrix.data)
    return matrix


def _check_indices(features: Any) -> None:
    """Raise ValueError if an index of a sparse matrix is out of range."""
    if features.format in ("csr", "csc", "bsr"):
        features.check_format(full_check=True)
    elif features.format == "coo":
        for coord, length in zip(features.coords, features.shape, strict=True):
            if coord.size and (coord.min() < 0 or coord.max() >= length):
                raise ValueError("an index lies outside the matrix")
