"""Oracles and problems of which a planted fault changes one verb."""

from collections.abc import Callable
from typing import Any

import numpy as np


class Changed:
    """Oracles, or what they return, of which a subclass changes a verb; the others are passed on.

    What is changed is `_right`.
    """

    def __init__(self, right: Any) -> None:
        self._right = right

    def __getattr__(self, name: str) -> Any:
        return getattr(self._right, name)


class ChangedProblem(Changed):
    """A problem whose oracles are answered by `answer(the right backend)`."""

    def __init__(self, right: Any, answer: Callable[[Any], Any]) -> None:
        super().__init__(right)
        self._answer = answer

    def open(self, rng: np.random.Generator) -> Any:
        """Return the faulty backend."""
        return self._answer(self._right.open(rng))
