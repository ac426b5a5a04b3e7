"""Random streams that replay given draws, so that means over all draws are exact."""

from typing import Any

import numpy as np
import numpy.typing as npt

from pfbench.base.errors import InputError


class Unscripted(Exception):
    """An algorithm drew random numbers in a way that cannot be enumerated."""


class Scripted:
    """A random stream that replays given indices, so that all draws can be enumerated.

    It answers `integers(n, size=...)` and `choice(n, size=...)` with replacement; anything else
    raises `Unscripted`.
    """

    def __init__(self, indices: npt.NDArray[np.int64]) -> None:
        self._indices, self._used = indices, 0

    def __getattr__(self, name: str) -> Any:
        raise Unscripted(f"it draws with rng.{name}, which cannot be enumerated")

    def integers(self, low: int, high: int | None = None, size: int | None = None) -> Any:
        """Return the next `size` indices of the script."""
        if high is not None and low != 0:
            raise Unscripted("it draws integers from a range that does not start at 0")
        first, count = self._used, 1 if size is None else int(size)
        self._used += count
        drawn = self._indices[first : self._used]
        if len(drawn) < count:
            raise Unscripted("it draws more indices than its batch")
        return int(drawn[0]) if size is None else drawn

    def choice(self, n: int, size: int | None = None, replace: bool = True) -> Any:
        """Return the next `size` indices of the script."""
        if not replace:
            raise Unscripted("it draws without replacement")
        return self.integers(n, size=size)


def orthogonal_array(bits: int, columns: int) -> npt.NDArray[np.int64]:
    """Return all rows (a + b t), t < columns, over the field of q = 2^bits elements.

    Shape (q^2, columns), columns <= q. Each pair of columns takes every pair of values once: drawn
    uniformly, a row's entries are uniform and pairwise independent, so a mean square over the rows
    is the exact one over independent draws.

    Raises
    ------
    InputError
        If there are more columns than elements.
    """
    q = 1 << bits
    if columns > q:
        raise InputError(f"an orthogonal array over {q} elements has at most {q} columns.")
    polynomial = {1: 3, 2: 7, 3: 11, 4: 19, 5: 37, 6: 67}[bits]
    products = np.zeros((q, columns), dtype=np.int64)
    for b in range(q):
        for t in range(columns):
            a, c, product = b, t, 0
            while c:
                product ^= a if c & 1 else 0
                a, c = a << 1, c >> 1
                a ^= polynomial if a & q else 0
            products[b, t] = product
    offsets = np.arange(q)[:, None, None]
    return np.asarray((products[None] ^ offsets).reshape(q * q, columns))
