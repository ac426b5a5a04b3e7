"""Inputs of the loops over rows: data, tasks, samples and loss numbers."""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from pfbench.base.arrays import Floats, Integers

LOGISTIC = 0
"""Loss phi(z; b) = log(1 + exp(-b z))."""

ROBUST = 1
"""Loss phi(z; b) = log(1 + (z - b)^2/2)."""

LOG_COSH = 2
"""Loss phi(z; b) = log cosh(z - b)."""

SQUARE = 3
"""Loss phi(z; b) = (z - b)^2/2."""


Pointers = npt.NDArray[np.uint32]
Columns = npt.NDArray[np.uint16] | npt.NDArray[np.uint32]
Dense = npt.NDArray[Any]
"""Dense rows, in double or single precision."""


class RowData(NamedTuple):
    """Rows a_i of length `columns`, and their labels b_i, shape (n,).

    The shape of `values` encodes the format of the rows, so that a loop is compiled for each
    format.

    Attributes
    ----------
    indptr, indices
        Row i has entries in the columns indices[k], k from indptr[i] to indptr[i + 1].
    values
        The entries, shape (nnz,). Of shape (): all of them are 1. Of shape (n, d): the rows
        themselves, without `indptr` and `indices`.
    """

    indptr: Pointers
    indices: Columns
    values: Floats
    labels: Floats
    columns: int

    @classmethod
    def from_matrix(cls, matrix: Any, labels: Floats) -> "RowData":
        """Return the rows of a CSR array, sorted and without duplicates, in their format."""
        n, d = matrix.shape
        values = np.ascontiguousarray(matrix.data)
        if matrix.nnz == n * d:
            no_places = np.empty(0, dtype=np.uint32), np.empty(0, dtype=np.uint16)
            return cls(*no_places, values.reshape(n, d), labels, d)
        narrow = np.uint16 if d <= 1 << 16 else np.uint32
        locations = matrix.indptr.astype(np.uint32), matrix.indices.astype(narrow)
        return cls(*locations, np.ones(()) if np.all(values == 1.0) else values, labels, d)


class TaskData(NamedTuple):
    """Rows of all tasks, those of one task together.

    Attributes
    ----------
    values
        Rows a_i, shape (n, d).
    signs
        c_i, +1 or -1, shape (n,).
    task
        The task of each row, shape (n,), not decreasing.
    bounds
        Task t has the rows from bounds[t] to bounds[t + 1]; shape (m + 1,).
    offsets
        b_t, shape (m,).
    """

    values: Floats
    signs: Floats
    task: Integers
    bounds: Integers
    offsets: Floats


class SampledRows(NamedTuple):
    """Rows, and for each position of a sample the row's index, its weight and its target."""

    rows: Dense
    indices: Integers
    weights: Floats
    targets: Floats
