"""Rows of a stored trace: one array of numbers instead of a tuple for each row."""

from collections.abc import Iterator, Sequence
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from pfbench.base.arrays import as_read_only

_EXACT = 2**53
"""Modulus below which double precision represents every integer."""


class TraceRows(Sequence[tuple[Any, ...]]):
    """Rows of numbers, accessed as tuples of int and float; read-only.

    For very many runs they take half the memory of tuples.

    Attributes
    ----------
    numbers
        All numbers, shape (rows, columns).
    integer_columns
        For each column, whether its numbers are of type int.
    """

    __slots__ = ("integer_columns", "numbers")

    def __init__(self, numbers: npt.NDArray[np.float64], is_complete: tuple[bool, ...]) -> None:
        self.numbers, self.integer_columns = as_read_only(numbers), is_complete

    def __len__(self) -> int:
        return len(self.numbers)

    @overload
    def __getitem__(self, index: int) -> tuple[Any, ...]: ...

    @overload
    def __getitem__(self, index: slice) -> "TraceRows": ...

    def __getitem__(self, index: int | slice) -> "tuple[Any, ...] | TraceRows":
        if isinstance(index, slice):
            return TraceRows(self.numbers[index], self.integer_columns)
        pairs = zip(self.numbers[index].tolist(), self.integer_columns, strict=True)
        return tuple(int(number) if is_complete else number for number, is_complete in pairs)

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        pairs = zip(self.numbers.T, self.integer_columns, strict=True)
        columns = (
            column.astype(np.int64) if is_complete else column for column, is_complete in pairs
        )
        return zip(*(column.tolist() for column in columns), strict=True)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> npt.NDArray[Any]:
        """Return the array of numbers, converted or copied only on request."""
        return self.numbers.astype(dtype or np.float64, copy=bool(copy))

    def __eq__(self, other: object) -> bool:
        return list(self) == list(other) if isinstance(other, TraceRows | list) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr(list(self))


def rows_of_blocks(
    integers: npt.NDArray[np.int64], floats: npt.NDArray[np.float64]
) -> Sequence[tuple[Any, ...]]:
    """Return the rows of blocks of shape (columns, rows), integers before floats.

    They are `TraceRows`, or a list if an integer is too large for double precision.
    """
    if integers.size and max(int(integers.max()), -int(integers.min())) >= _EXACT:
        return list(zip(*integers.tolist(), *floats.tolist(), strict=True))
    numbers = np.empty((floats.shape[1], len(integers) + len(floats)))
    numbers[:, : len(integers)], numbers[:, len(integers) :] = integers.T, floats.T
    return TraceRows(numbers, (True,) * len(integers) + (False,) * len(floats))
