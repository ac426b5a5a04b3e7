"""Sets of the search, generic in the kind of number."""

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

Genome = dict[str, Any]
"""Family and parameters of an instance, as numbers and lists of numbers."""


class Skip(Exception):
    """An instance on which a statement says nothing, with the reason."""


def root(value: Any) -> Any:
    """Return the square root of a number of any kind."""
    return value.sqrt() if hasattr(value, "sqrt") else math.sqrt(value)


def vector(entries: Iterable[Any]) -> Any:
    """Return numbers as an array, of floats or of objects."""
    numbers = list(entries)
    is_float = not numbers or isinstance(numbers[0], float)
    return np.array(numbers, dtype=np.float64 if is_float else object)


def repeat(values: Sequence[Any], length: int) -> list[Any]:
    """Return a list of this length that repeats values, which are not empty."""
    return [values[j % len(values)] for j in range(length)]


class SearchedSet:
    """A box, a ball, the hull of points, or the whole space."""

    def __init__(self, genome: Genome, number: Callable[[Any], Any]) -> None:
        self.kind: str = genome["set"]
        self.vertices: list[Any] = []
        if self.kind == "box":  # sides are a corner and lengths
            sides = repeat(genome["sides"], genome["d"])
            self.low = vector(number(low) for low, _ in sides)
            self.high = self.low + vector(abs(number(length)) for _, length in sides)
        elif self.kind == "ball":
            self.radius = abs(number(genome["radius"]))
        elif self.kind == "hull":
            self.vertices = [vector(map(number, row)) for row in genome["vertices"]]

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
            ends = zip(g, self.low, self.high, strict=True)
            return vector(low if entry >= 0 else high for entry, low, high in ends)
        if self.kind == "ball":
            square = g @ g
            return -(self.radius / root(square)) * g if square > 0 else 0 * g
        if self.kind == "hull":
            values = [g @ v for v in self.vertices]
            return self.vertices[values.index(min(values))].copy()
        raise Skip("a linear function has no minimum without a set")

    def minimum(self, g: Any) -> Any:
        """Return the least <g, v>, as a lower and an upper bound."""
        value = g @ self.lo(g)
        return value, value

    def project(self, y: Any) -> Any:
        """Return the nearest point."""
        if self.kind == "none":
            return y
        if self.kind == "box":
            ends = zip(y, self.low, self.high, strict=True)
            return vector(min(max(entry, low), high) for entry, low, high in ends)
        if self.kind == "ball":
            square = y @ y
            return y if square <= self.radius**2 else (self.radius / root(square)) * y
        raise Skip("no projection onto a hull")

    def contains(self, x: Any, tolerance: float = 1e-9) -> bool:
        """Return True: iterates are combinations of points of the set."""
        return True
