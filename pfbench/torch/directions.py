"""Comparison of a step's direction with the momentum, for spectral methods; norms of layers."""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

from pfbench.base.arrays import Floats

torch: Any = import_module("torch")

_RETAINED = 1e-2
"""Singular values of the momentum below this fraction of |N|_F are left out of `image`."""


@dataclass(frozen=True)
class Direction:
    """Direction O of an optimiser's step, in the basis of the momentum's singular vectors.

    The momentum is N = U diag(s) V'.

    Attributes
    ----------
    shape
        Rows and columns.
    relative, image
        s_i/|N|_F and u_i' O v_i, for the i with s_i >= |N|_F/100.
    small_share
        Fraction of the other s_i.
    off_diagonal
        Largest |u_i' O v_j| for different i and j with s_i, s_j >= |N|_F/100.
    lower
        <N, O>/|N|_*.
    upper
        The largest singular value of O.
    """

    shape: tuple[int, int]
    relative: Floats
    image: Floats
    small_share: float
    off_diagonal: float
    lower: float
    upper: float

    @property
    def min_image(self) -> float:
        """Smallest u_i' O v_i of the direction O over singular vectors u_i, v_i of the momentum."""
        return float(self.image.min())

    @property
    def max_image(self) -> float:
        """Largest u_i' O v_i of the direction O over singular vectors u_i, v_i of the momentum."""
        return float(self.image.max())

    @property
    def max_deviation_from_one(self) -> float:
        """Largest |u_i' O v_i - 1| for the direction O and the momentum's singular vectors."""
        return float(np.abs(self.image - 1).max())


def compare_direction_to_momentum(momentum: Floats, direction: Floats) -> Direction:
    """Return the direction expressed in the momentum's singular vectors.

    Both arguments are matrices of shape (m, n).
    """
    u, s, v = np.linalg.svd(momentum, full_matrices=False)
    size = float(np.linalg.norm(s)) or 1.0
    retained = s >= _RETAINED * size
    if not retained.any():
        retained[:1] = True
    image = (u.T @ direction @ v.T)[np.ix_(retained, retained)]
    inside = np.diag(image)
    return Direction(
        (momentum.shape[0], momentum.shape[1]),
        s[retained] / size,
        inside,
        float(1 - retained.mean()),
        float(np.abs(image - np.diag(inside)).max()),
        float(np.vdot(momentum, direction) / (float(s.sum()) or 1.0)),
        float(np.linalg.norm(direction, 2)),
    )


class ProductNorm:
    """Norm of all layers together, "l2" or "spectral", with its dual norm.

    "spectral" is the maximum over the layers of their norms. The norm of a matrix is its spectral
    norm, where a kernel is reshaped to a matrix of its first axis by all others. The norm of a
    vector is its Euclidean norm. The dual norm is the sum of the dual norms of the layers.
    """

    def __init__(self, name: str) -> None:
        self.name = name

    def length(self, layers: Sequence[Any]) -> float:
        """Return the norm of a step, which is a list of layers."""
        values = [self.layer_norm(a) for a in layers]
        return max(values) if self.name == "spectral" else float(np.linalg.norm(values))

    def dual_norm(self, layers: Sequence[Any]) -> float:
        """Return the dual norm of a gradient, which is a list of layers."""
        values = [self.layer_norm(a, "nuc") for a in layers]
        return sum(values) if self.name == "spectral" else float(np.linalg.norm(values))

    def layer_norm(self, a: Any, order: Any = 2) -> float:
        """Return the norm of one layer, or its dual norm if `order` is "nuc"."""
        if self.name == "spectral" and a.ndim > 1:
            return float(torch.linalg.matrix_norm(a.reshape(len(a), -1), ord=order))
        return float(torch.linalg.vector_norm(a, dtype=torch.float64))
