"""Vertices in a more compact form than a dense array."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from pfbench.base.arrays import Floats
from pfbench.points.pattern import Pattern


@dataclass(frozen=True, slots=True)
class RankOne(np.lib.mixins.NDArrayOperatorsMixin):
    """Matrix ``scale * outer(u, v)``: an extreme point of the nuclear-norm ball.

    For a problem with dense gradients, the object behaves as the dense array: ``lo(g) - x`` is an
    array.

    Attributes
    ----------
    u, v
        Unit vectors, shapes (M,) and (N,).
    scale
        A number whose absolute value is the nuclear norm of the matrix.
    pattern
        Pattern of the observed entries of gradients; None if gradients are dense matrices.
    """

    u: Floats
    v: Floats
    scale: float
    pattern: Pattern | None = None

    def matrix(self) -> Floats:
        """Return the dense matrix, shape (M, N)."""
        return self.scale * np.outer(self.u, self.v)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        """Return the dense matrix; raise unless the problem's points are arrays."""
        if self.pattern is not None:
            raise TypeError("vertices of factored points are not arrays: use combine(x, v, w)")
        return self.matrix() if dtype is None else self.matrix().astype(dtype)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **keywords: Any) -> Any:
        """Apply a ufunc to the dense matrix; raise unless the problem's points are arrays."""
        if self.pattern is not None:
            return NotImplemented
        dense = [item.matrix() if isinstance(item, RankOne) else item for item in inputs]
        return getattr(ufunc, method)(*dense, **keywords)

    def __getattr__(self, name: str) -> Any:
        """Return an attribute of the dense matrix, e.g. `copy`, `ravel` or `T`.

        This requires a problem whose points are arrays.
        """
        if name.startswith("_") or self.pattern is not None:
            raise AttributeError(f"a vertex of rank one has no attribute {name}")
        return getattr(self.matrix(), name)

    def __getitem__(self, key: Any) -> Any:
        """Return entries of the dense matrix."""
        return self.matrix()[key]
