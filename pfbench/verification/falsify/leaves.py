"""Enumeration of all draws of a method, with chances in the arithmetic of a replay."""

from collections.abc import Callable
from typing import Any

import numpy as np

from pfbench.verification.instruments.enumerated_random import EnumerableGenerator, NotEnumerable


class Draws(EnumerableGenerator):
    """A stream that follows given choices, with chances in the arithmetic of a replay."""

    def __init__(self, given: list[int], most: int, number: Callable[[Any], Any]) -> None:
        super().__init__()
        self._given, self._left, self._number = given, most, number
        self.taken: list[tuple[int, int]] = []
        self.chance = number(1)

    def choose(self, options: int, chances: Any = None) -> int:
        """Take the given option, else the first."""
        place = len(self.taken)
        option = self._given[place] if place < len(self._given) else 0
        if place >= len(self._given):
            self._left //= options
            if self._left == 0:
                raise NotEnumerable("it draws so much that not all draws can be enumerated")
        part = self._number(1) / options if chances is None else chances[option]
        self.chance = self.chance * part
        self.taken.append((option, options))
        return option

    def random(self, size: Any = None, dtype: Any = np.float64, out: Any = None) -> Any:
        """Return a uniform number of which only comparisons are known."""
        if size is not None or out is not None:
            raise NotEnumerable("it draws an array with rng.random, which cannot be enumerated")
        return _Uniform(self)


class _Uniform:
    """A uniform number, as `draws.Uniform`, with exact chances."""

    __array_ufunc__ = None

    def __init__(self, draws: Draws) -> None:
        self._draws, self._low, self._high = draws, draws._number(0), draws._number(1)

    def __lt__(self, split: Any) -> bool:
        if not self._low < split < self._high:
            return bool(split >= self._high)
        share = (split - self._low) / (self._high - self._low)
        below = self._draws.choose(2, (share, 1 - share)) == 0
        self._low, self._high = (self._low, split) if below else (split, self._high)
        return below

    def __ge__(self, split: Any) -> bool:
        return not self < split

    __le__, __gt__ = __lt__, __ge__


def leaves(
    outcome: Callable[[Draws], Any], most: int, number: Callable[[Any], Any]
) -> list[tuple[Any, Any]]:
    """Return the chance and the outcome of every sequence of draws; see `draws.branches`."""
    given: list[int] | None = []
    found: list[tuple[Any, Any]] = []
    while given is not None:
        if len(found) >= most:
            raise NotEnumerable(f"it has more than {most} sequences of draws")
        stream = Draws(given, most, number)
        value = outcome(stream)
        found.append((stream.chance, value))
        taken = stream.taken
        while taken and taken[-1][0] + 1 == taken[-1][1]:
            taken.pop()
        given = [option for option, _ in taken[:-1]] + [taken[-1][0] + 1] if taken else None
    return found
