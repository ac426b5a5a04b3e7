"""The rows of a trace that was read: one array of numbers in place of a tuple for each."""

from collections.abc import Iterator, Sequence
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from pfbench.base.arrays import read_only

_EXACT = 2**53
"""Below this modulus a whole number is one of double precision."""


class Rows(Sequence[tuple[Any, ...]]):
    """Rows of numbers, which are tuples of int and float wherever one looks; read-only.

    Of very many runs these take half of what the tuples would.

    Attributes
    ----------
    numbers
        All of them, shape (rows, columns).
    whole
        Of each column, whether its numbers are of type int.
    """

    __slots__ = ("numbers", "whole")

    def __init__(self, numbers: npt.NDArray[np.float64], whole: tuple[bool, ...]) -> None:
        self.numbers, self.whole = read_only(numbers), whole

    def __len__(self) -> int:
        return len(self.numbers)

    @overload
    def __getitem__(self, at: int) -> tuple[Any, ...]: ...

    @overload
    def __getitem__(self, at: slice) -> "Rows": ...

    def __getitem__(self, at: int | slice) -> "tuple[Any, ...] | Rows":
        if isinstance(at, slice):
            return Rows(self.numbers[at], self.whole)
        pairs = zip(self.numbers[at].tolist(), self.whole, strict=True)
        return tuple(int(number) if whole else number for number, whole in pairs)

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        pairs = zip(self.numbers.T, self.whole, strict=True)
        columns = (column.astype(np.int64) if whole else column for column, whole in pairs)
        return zip(*(column.tolist() for column in columns), strict=True)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> npt.NDArray[Any]:
        """Return the numbers themselves, unless another type or a copy is asked for."""
        return self.numbers.astype(dtype or np.float64, copy=bool(copy))

    def __eq__(self, other: object) -> bool:
        return list(self) == list(other) if isinstance(other, Rows | list) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr(list(self))


def rows_of(columns: Sequence[npt.NDArray[Any]]) -> Sequence[tuple[Any, ...]]:
    """Return the rows of some columns, of 64-bit integers or floats; see `Rows`.

    Where an integer is beyond the exact ones of double precision, they are a list.
    """
    whole = tuple(column.dtype.kind == "i" for column in columns)
    numbers = np.array(columns, dtype=np.float64)
    largest = np.abs(numbers).max(axis=1, initial=0.0).tolist()
    if all(one < _EXACT for one, is_whole in zip(largest, whole, strict=True) if is_whole):
        return Rows(numbers.T.copy(), whole)
    return list(zip(*(column.tolist() for column in columns), strict=True))
