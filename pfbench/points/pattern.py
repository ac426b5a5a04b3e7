"""Pattern of the observed positions of a matrix, in row order."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from pfbench.base.arrays import Integers, VectorPool, chunk_slices
from pfbench.base.errors import InputError
from pfbench.kernels.numba_compilation import thread_count
from pfbench.kernels.observed_entries import ObservedRows

_ENTRIES_PER_THREAD = 100_000
"""Number of entries per thread below which a second thread does not pay off."""


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
    rows: ObservedRows
    bounds: Integers

    @classmethod
    def from_coordinates(
        cls, rows: npt.ArrayLike, columns: npt.ArrayLike, shape: tuple[int, int]
    ) -> tuple["Pattern", Integers | slice]:
        """Return a pattern, and the permutation or slice that sorts the given positions.

        Parameters
        ----------
        rows, columns
            Integer positions, shape (n,).
        shape
            (M, N), with n < 2**32.

        Raises
        ------
        InputError
            If there is no position, or a position is not an integer, is outside the shape or is
            repeated.
        """
        i, j = check_positions("observed", rows, columns, shape)
        N = shape[1]
        if i.size == 0:
            raise InputError("a matrix problem needs at least one observed entry.")
        flat = np.multiply(i, N, dtype=np.int64)
        np.add(flat, j, out=flat, dtype=np.int64)
        order: Integers | slice = slice(None)
        if not (flat[1:] > flat[:-1]).all():
            order = np.argsort(flat, kind="stable")
            flat = flat[order]
            twice = np.flatnonzero(flat[1:] == flat[:-1])
            if twice.size:
                row, column = divmod(int(flat[twice[0]]), N)
                raise InputError(
                    f"the entry ({row}, {column}) is observed more than once: keep one of them."
                )
        return cls.from_sorted(flat, shape), order

    @classmethod
    def from_sorted(cls, flat: Integers, shape: tuple[int, int]) -> "Pattern":
        """Return the pattern of positions (i, j), given as increasing flat indices ``i N + j``."""
        M, N = shape
        indptr = np.searchsorted(flat, np.arange(M + 1) * N)
        kind: type[Any] = np.uint16 if N <= 1 << 16 else np.uint32
        indices = np.empty(flat.size, kind)
        for part in chunk_slices(flat.size):
            indices[part] = flat[part] % N
        chunks = max(1, min(thread_count(), flat.size // _ENTRIES_PER_THREAD))
        cuts = np.searchsorted(indptr, np.linspace(0, flat.size, chunks + 1))
        cuts[0], cuts[-1] = 0, M
        return cls(shape, ObservedRows(indptr.astype(np.uint32), indices), cuts.astype(np.int64))

    @cached_property
    def vector_pool(self) -> VectorPool:
        """Pool of reusable vectors with one number for each position, for gradients and points."""
        return VectorPool(self.n)

    @property
    def n(self) -> int:
        """Number of observed entries."""
        return int(self.rows.indices.size)

    @property
    def is_serial(self) -> bool:
        """Whether loops over all rows use a single thread."""
        return self.bounds.size == 2

    def run_loop(self, serial: Callable[..., Any], parallel: Callable[..., Any], *args: Any) -> Any:
        """Run a loop over all rows, in its serial or parallel version; return its result."""
        if self.is_serial:
            return serial(0, self.shape[0], *args)
        return parallel(self.bounds, *args)

    def equals(self, other: "Pattern") -> bool:
        """Return whether another pattern has the same positions and matrix shape."""
        return self is other or (
            self.shape == other.shape
            and np.array_equal(self.rows.indptr, other.rows.indptr)
            and np.array_equal(self.rows.indices, other.rows.indices)
        )

    def row_numbers(self, part: slice = slice(None)) -> Integers:
        """Return the row number of every position, or of a slice of positions, as int64."""
        first, last, _ = part.indices(self.n)
        pointers = self.rows.indptr
        top, end = np.searchsorted(pointers, (first, last), side="right")
        inside = pointers[top - 1 : end + 1].astype(np.int64).clip(first, last)
        return np.repeat(np.arange(top - 1, top - 2 + inside.size), np.diff(inside))

    def slices(self) -> Iterator[slice]:
        """Return slices that cover all positions, for processing in parts; see `chunk_slices`."""
        return chunk_slices(self.n)


def check_positions(
    kind: str, rows: npt.ArrayLike, columns: npt.ArrayLike, shape: tuple[int, int]
) -> tuple[npt.NDArray[np.integer], npt.NDArray[np.integer]]:
    """Return row and column numbers as integer vectors; raise for a position outside the matrix.

    Raises
    ------
    InputError
        If `rows` and `columns` are not integer vectors of one length, or a position is outside the
        matrix. The message names the positions by `kind`.
    """
    i, j = np.asarray(rows), np.asarray(columns)
    if i.shape != j.shape or i.ndim != 1:
        raise InputError(
            f"row and column indices of {kind} must be vectors of equal length, not arrays of "
            f"shapes {i.shape} and {j.shape}."
        )
    M, N = shape
    if i.size:
        for array in (i, j):
            if array.dtype.kind not in "iu":
                raise InputError(f"{kind} positions must be integers, not {array.dtype}.")
        if i.min() < 0 or j.min() < 0 or i.max() >= M or j.max() >= N:
            raise InputError(f"{kind} positions must lie inside the {M} x {N} matrix.")
    return i, j
