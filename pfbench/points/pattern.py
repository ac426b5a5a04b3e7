"""The observed positions of a matrix, fixed once in row order."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from pfbench.base.arrays import Integers
from pfbench.base.errors import InputError
from pfbench.kernels.compiled import threads
from pfbench.kernels.observed import Rows

_ENTRIES_PER_THREAD = 100_000
"""Below about this many entries a second thread costs more than it saves."""


@dataclass(frozen=True, eq=False)
class Pattern:
    """Observed positions of an M x N matrix, sorted by row and then by column.

    Attributes
    ----------
    shape
        (M, N).
    rows
        Row pointers (M + 1,) and column numbers (n,), unsigned.
    bounds
        Row numbers that cut the rows into one chunk of about equal size for each thread.
    """

    shape: tuple[int, int]
    rows: Rows
    bounds: Integers

    @classmethod
    def from_coordinates(
        cls, rows: npt.ArrayLike, columns: npt.ArrayLike, shape: tuple[int, int]
    ) -> tuple["Pattern", Integers]:
        """Build a pattern; also return the order that sorts the given positions into it.

        Parameters
        ----------
        rows, columns
            Integer positions, shape (n,).
        shape
            (M, N), with n < 2**32.

        Raises
        ------
        InputError
            If there is no position, one is no integer, lies outside the shape or occurs twice.
        """
        i, j = checked_positions("observed", rows, columns, shape)
        M, N = shape
        if i.size == 0:
            raise InputError("a matrix problem needs at least one observed entry.")
        flat = i * N + j
        order = np.argsort(flat, kind="stable")
        flat = flat[order]
        twice = np.flatnonzero(flat[1:] == flat[:-1])
        if twice.size:
            row, column = divmod(int(flat[twice[0]]), N)
            raise InputError(f"the entry ({row}, {column}) is observed more than once.")
        indptr = np.zeros(M + 1, dtype=np.uint32)
        indptr[1:] = np.cumsum(np.bincount(i, minlength=M))
        columns = j[order]
        indices = columns.astype(np.uint16) if N <= 1 << 16 else columns.astype(np.uint32)
        chunks = max(1, min(threads(), i.size // _ENTRIES_PER_THREAD))
        cuts = np.searchsorted(indptr, np.linspace(0, i.size, chunks + 1))
        cuts[0], cuts[-1] = 0, M
        return cls(shape, Rows(indptr, indices), cuts.astype(np.int64)), order

    @property
    def n(self) -> int:
        """Number of observed entries."""
        return int(self.rows.indices.size)

    @property
    def serial(self) -> bool:
        """Whether one thread runs over all rows."""
        return self.bounds.size == 2

    def run(self, serial: Callable[..., Any], parallel: Callable[..., Any], *given: Any) -> Any:
        """Run a loop over all rows, in one of its two forms, and return what it returns."""
        if self.serial:
            return serial(0, self.shape[0], *given)
        return parallel(self.bounds, *given)

    def equals(self, other: "Pattern") -> bool:
        """Return whether both hold the same positions of matrices of one shape."""
        return self is other or (
            self.shape == other.shape
            and np.array_equal(self.rows.indptr, other.rows.indptr)
            and np.array_equal(self.rows.indices, other.rows.indices)
        )

    def row_numbers(self) -> Integers:
        """Return the row of every position, shape (n,)."""
        pointers = self.rows.indptr.astype(np.int64)
        return np.repeat(np.arange(self.shape[0]), pointers[1:] - pointers[:-1])


def checked_positions(
    kind: str, rows: npt.ArrayLike, columns: npt.ArrayLike, shape: tuple[int, int]
) -> tuple[Integers, Integers]:
    """Return rows (n,) and columns (n,) as integers, refused if one is not in the matrix.

    Raises
    ------
    InputError
        If they are not integer vectors of one length, or one lies outside; `kind` names them.
    """
    i, j = np.asarray(rows), np.asarray(columns)
    if i.shape != j.shape or i.ndim != 1:
        raise InputError(
            f"{kind} rows of shape {i.shape} and columns of shape {j.shape} must be vectors of one "
            "length."
        )
    M, N = shape
    if i.size:
        for array in (i, j):
            if array.dtype.kind not in "iu":
                raise InputError(f"{kind} positions must be integers, not {array.dtype}.")
        if i.min() < 0 or j.min() < 0 or i.max() >= M or j.max() >= N:
            raise InputError(f"{kind} positions must lie inside the {M} x {N} matrix.")
    return i.astype(np.int64, copy=False), j.astype(np.int64, copy=False)
