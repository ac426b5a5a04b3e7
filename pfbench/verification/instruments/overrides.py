"""Oracles and problems of which a planted fault changes one verb."""

from collections.abc import Callable
from typing import Any

import numpy as np


class OverriddenOracles:
    """Oracles, or what they return, of which a subclass changes a verb; the others are passed on.

    What is changed is `_original`.
    """

    def __init__(self, reference: Any) -> None:
        self._original = reference

    def __getattr__(self, name: str) -> Any:
        return getattr(self._original, name)


class OverriddenProblem(OverriddenOracles):
    """A problem whose oracles are answered by `answer(the right backend)`."""

    def __init__(self, reference: Any, answer: Callable[[Any], Any]) -> None:
        super().__init__(reference)
        self._answer = answer

    def open(self, rng: np.random.Generator) -> Any:
        """Return the faulty backend."""
        return self._answer(self._original.open(rng))
