"""The types of the arrays that all rooms pass to each other, their norm, and their memory."""

import math
import weakref
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

_PART = 1 << 17
"""Most numbers that are worked on together where all of them would take as much memory again."""


def norm(x: Floats) -> float:
    """Return the Euclidean (Frobenius) norm, bit for bit numpy's, at a quarter of its overhead."""
    flat = x.ravel(order="K")
    return math.sqrt(flat.dot(flat))


def nan_or_maximum(*numbers: float) -> float:
    """Return the largest of some numbers; infinity if one is NaN, which `max` may leave out."""
    return math.inf if any(map(math.isnan, numbers)) else max(numbers)


def chunk_slices(n: int) -> Iterator[slice]:
    """Return ranges of about equal size that cover 0, ..., n - 1, at most 2^17 numbers each.

    What is computed from one range after the other needs no memory of the size of all.
    """
    count = -(-n // _PART)
    bounds = [n * k // count for k in range(count + 1)] if n else []
    return (slice(first, last) for first, last in pairwise(bounds))


def as_read_only(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return a view through which an array cannot be changed."""
    view = array.view()
    view.flags.writeable = False
    return view


class VectorPool:
    """Vectors of one length; the memory of one that nobody holds any more becomes the next.

    The first touch of fresh memory takes as long as a third of a sweep over it. Where vectors are
    short, the allocator itself gives back what was freed. One spare is kept.
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self._spare: list[Floats] = []

    def __reduce__(self) -> tuple[type["VectorPool"], tuple[int]]:
        return VectorPool, (self._size,)

    def take(self) -> Floats:
        """Return a vector with anything in it."""
        if self._size < _LONG:
            return np.empty(self._size)
        memory = self._spare.pop() if self._spare else np.empty(self._size)
        # An array over a buffer, and not a view of an array: that is what further views hold on to.
        vector = np.frombuffer(memory.data, dtype=np.float64)
        weakref.finalize(vector, self._release, memory).atexit = False
        return vector

    def _release(self, memory: Floats) -> None:
        if not self._spare:
            self._spare.append(memory)


_LONG = 1 << 20
