"""Sets of the search, generic in the kind of number."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

Genome = dict[str, Any]
"""Family and parameters of an instance, as numbers and lists of numbers."""


class Skip(Exception):
    """An instance on which a statement says nothing, with the reason."""


def root(value: Any) -> Any:
    """Return the square root of a number of any kind."""
    return value.sqrt() if hasattr(value, "sqrt") else math.sqrt(value)


def vector(entries: Sequence[Any]) -> Any:
    """Return numbers as an array, of floats or of objects."""
    of_floats = not entries or type(entries[0]) is float
    return np.array(entries, dtype=np.float64 if of_floats else object)


class Body:
    """A set: a box, a ball, the hull of points, or the whole space."""

    def __init__(self, genome: Genome, number: Callable[[Any], Any], d: int) -> None:
        self.kind: str = genome.get("set", "none")
        self.d = d
        self.vertices: list[Any] = []
        if self.kind == "box":
            sides = genome["sides"]
            self.low = vector([number(sides[j % len(sides)][0]) for j in range(d)])
            self.high = self.low + vector(
                [number(sides[j % len(sides)][1]) for j in range(d)]
            )  # a corner and lengths
        elif self.kind == "ball":
            self.radius = number(genome["radius"])
        elif self.kind == "hull":
            self.vertices = [vector([number(v) for v in row]) for row in genome["vertices"]]

    @property
    def diameter(self) -> Any:
        """Euclidean diameter; infinite for the whole space."""
        if self.kind == "box":
            return root((self.high - self.low) @ (self.high - self.low))
        if self.kind == "ball":
            return 2 * self.radius
        if self.kind == "hull":
            pairs = [u - v for k, u in enumerate(self.vertices) for v in self.vertices[:k]]
            return root(max(p @ p for p in pairs)) if pairs else 0
        return math.inf

    def lo(self, g: Any) -> Any:
        """Return a minimiser of <g, v>: ties to the lower end, the first vertex, or the centre."""
        if self.kind == "box":
            return vector(
                [lo if gj >= 0 else hi for gj, lo, hi in zip(g, self.low, self.high, strict=True)]
            )
        if self.kind == "ball":
            square = g @ g
            return -(self.radius / root(square)) * g if square > 0 else 0 * g
        if self.kind == "hull":
            values = [g @ v for v in self.vertices]
            return self.vertices[values.index(min(values))].copy()
        raise Skip("a linear function has no minimum without a set")

    def minimum(self, g: Any) -> Any:
        """Return the least <g, v>, twice."""
        value = g @ self.lo(g)
        return value, value

    def project(self, y: Any) -> Any:
        """Return the nearest point."""
        if self.kind == "none":
            return y
        if self.kind == "box":
            return vector(
                [min(max(yj, lo), hi) for yj, lo, hi in zip(y, self.low, self.high, strict=True)]
            )
        if self.kind == "ball":
            square = y @ y
            return y if square <= self.radius**2 else (self.radius / root(square)) * y
        raise Skip("no projection onto a hull")

    def contains(self, x: Any, tolerance: float = 1e-9) -> bool:
        """Return True: iterates are combinations of points of the set."""
        return True
