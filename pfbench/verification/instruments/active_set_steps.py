"""Classification of the steps of an active-set method, from the changes of its vertex weights."""

from dataclasses import dataclass

import numpy as np

from pfbench.base.arrays import Floats

KINDS = ("good", "drop", "swap")
"""*good*: shorter than the longest step, or all the way to w = LO(g); *drop*: the longest step,
if it removes a vertex; *swap*: the longest step, if the number of vertices stays."""

_SAME = 1e-9
"""Relative size up to which differences count as rounding errors."""


@dataclass(frozen=True)
class ActiveSetStep:
    """Kind of a step of an active-set method, and the spread of <g, v> before the step.

    Attributes
    ----------
    kind
        One of `KINDS`.
    spread
        <g, a - w> before the step, with a the vertex of the active set with the largest <g, v>,
        and w = LO(g).
    """

    kind: str
    spread: float


class ActiveSetTracker:
    """Active set of a method that started at a vertex, inferred from its iterates.

    Let w be a minimiser of <g, v> over the polytope, and let a and l be the active vertices with
    the largest and the least <g, v>. A step moves toward w, away from a, from a to w, or from a to
    l.

    Parameters
    ----------
    v
        The first vertex, shape (d,).
    """

    def __init__(self, v: Floats) -> None:
        self._vertices, self._weights = v[None].copy(), np.array([1.0])

    def apply_and_classify_step(
        self, x: Floats, next_x: Floats, g: Floats, w: Floats
    ) -> ActiveSetStep:
        """Update the weights by the step from x to the next iterate; return the step's kind."""
        products = self._vertices @ g
        a, low = int(np.argmax(products)), int(np.argmin(products))
        spread = float(products[a] - g @ w)
        to = self._find_index(w)
        share = float(self._weights[a])
        unit = np.eye(len(self._weights))
        pairs = [(unit[to] - unit[a], share), (unit[low] - unit[a], share)]
        around = [(unit[to] - self._weights, 1.0)]
        if share < 1.0:
            around.append((self._weights - unit[a], share / (1.0 - share)))
        best = min((*around, *pairs), key=lambda item: self._direction_error(item[0], next_x - x))
        change, upper = best
        gamma = self._gamma(change, next_x - x)
        is_complete = gamma >= upper * (1.0 - _SAME)
        before = int((self._weights > 0.0).sum())
        self._weights = self._weights + min(gamma, upper) * change
        retained = self._weights > _SAME**1.5
        self._vertices, self._weights = self._vertices[retained], self._weights[retained]
        if not is_complete or best is around[0]:
            return ActiveSetStep("good", spread)
        return ActiveSetStep("drop" if len(self._weights) < before else "swap", spread)

    def _find_index(self, v: Floats) -> int:
        indices = np.flatnonzero((self._vertices == v).all(axis=1))
        if indices.size:
            return int(indices[0])
        self._vertices = np.vstack([self._vertices, v])
        self._weights = np.append(self._weights, 0.0)
        return len(self._weights) - 1

    def _gamma(self, change: Floats, step: Floats) -> float:
        d = change @ self._vertices
        return max(0.0, float(step @ d)) / max(float(d @ d), 1e-300)

    def _direction_error(self, change: Floats, step: Floats) -> float:
        deviation = step - self._gamma(change, step) * (change @ self._vertices)
        return round(float(np.linalg.norm(deviation)), 12)
