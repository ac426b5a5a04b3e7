"""Convex combinations of vertices with exact weights, however many steps change them."""

from typing import Any

import numpy as np

from pfbench.base.arrays import Floats, Integers

_WHOLE = 1 << 52
"""Sum of the integer weights: a power of 2, so that no rounding error accumulates."""


class ActiveSet:
    """Point as a convex combination x = sum of lambda_v v of vertices v.

    Weights are multiples of 2^-52 that sum to 1 exactly; a vertex of weight 0 is dropped. A step's
    length is rounded to a multiple of 2^-52.

    Parameters
    ----------
    v
        The first vertex, with weight 1.
    """

    def __init__(self, v: Floats) -> None:
        self._shape = v.shape
        self._vertices: Floats = v.reshape(1, -1).copy()
        self._weights: Integers = np.array([_WHOLE])

    def __len__(self) -> int:
        return len(self._weights)

    @property
    def weights(self) -> Floats:
        """Weights lambda_v of the vertices, all above 0: one weight for each vertex."""
        return self._weights / _WHOLE

    def point(self) -> Floats:
        """Return the point x, recomputed from all vertices and weights."""
        return np.asarray((self.weights @ self._vertices).reshape(self._shape))

    def vertex(self, index: int) -> Floats:
        """Return the vertex with the given index."""
        return np.asarray(self._vertices[index].reshape(self._shape))

    def argmax_and_argmin_product(self, g: Any) -> tuple[int, int]:
        """Return the vertex indices of the largest and smallest <g, v>; among ties, the lowest."""
        products = self._vertices @ np.asarray(g).ravel()
        return int(np.argmax(products)), int(np.argmin(products))

    def find_or_add(self, v: Floats) -> int:
        """Return the index of a vertex; a new vertex is added with weight 0."""
        indices = np.flatnonzero((self._vertices == v.ravel()).all(axis=1))
        if indices.size:
            return int(indices[0])
        self._vertices = np.vstack([self._vertices, v.ravel()])
        self._weights = np.append(self._weights, 0)
        return len(self._weights) - 1

    def move_toward(self, v: Floats, gamma: float) -> None:
        """Move the point x to (1 - gamma) x + gamma v, where gamma is in [0, 1]."""
        to = self.find_or_add(v)
        self._weights = np.floor((1.0 - gamma) * self._weights).astype(np.int64)
        self._correct_weight_sum(to)

    def max_away_step(self, index: int) -> float:
        """Return w/(1 - w), the longest step away from the indexed vertex, whose weight is w."""
        share = float(self.weights[index])
        return share / (1.0 - share)

    def move_away(self, index: int, gamma: float) -> None:
        """Move the point x to x + gamma (x - v), away from the indexed vertex v."""
        copy = self._weights.copy()
        copy[index] = 0
        farthest = self.max_away_step(index)
        leaves = gamma >= farthest
        factor = 1.0 + min(gamma, farthest)
        self._weights = np.floor(factor * copy).astype(np.int64)
        self._correct_weight_sum(int(np.argmax(self._weights)) if leaves else index)

    def point_without_vertex(self, index: int, weight_receiver: Floats | None = None) -> Floats:
        """Return the point after the weight of the indexed vertex is given to other vertices.

        The weight goes to `weight_receiver`, or without it to the other vertices in proportion.
        """
        weights = self.weights
        share, weights[index] = float(weights[index]), 0.0
        end = weights @ self._vertices
        end = (
            end / (1.0 - share)
            if weight_receiver is None
            else end + share * weight_receiver.ravel()
        )
        return np.asarray(end.reshape(self._shape))

    def transfer(self, index: int, v: Floats, gamma: float) -> None:
        """Move the point x to x + gamma (v - a): the indexed vertex a gives weight gamma to v."""
        to = self.find_or_add(v)
        moved = min(round(gamma * _WHOLE), int(self._weights[index]))
        self._weights[index] -= moved
        self._weights[to] += moved
        self._drop_zero_weights()

    def _correct_weight_sum(self, deficit_index: int) -> None:
        """Make the weights sum to 1: raise the indexed weight, or lower the largest weight."""
        rest = _WHOLE - int(self._weights.sum())
        self._weights[deficit_index if rest >= 0 else int(np.argmax(self._weights))] += rest
        self._drop_zero_weights()

    def _drop_zero_weights(self) -> None:
        retained = self._weights > 0
        if not retained.all():
            self._vertices, self._weights = self._vertices[retained], self._weights[retained]
