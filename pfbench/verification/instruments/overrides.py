"""Wrappers of oracles and problems, by which a planted fault changes one verb."""

from collections.abc import Callable
from typing import Any

import numpy as np


class OverriddenOracles:
    """Wrapper of oracles, or of their answers, of which a subclass changes a verb.

    The wrapped object is `_original`; all other verbs are passed on to it.
    """

    def __init__(self, reference: Any) -> None:
        self._original = reference

    def __getattr__(self, name: str) -> Any:
        return getattr(self._original, name)


class OverriddenProblem(OverriddenOracles):
    """A problem whose backend is ``answer(backend)`` of the original backend."""

    def __init__(self, reference: Any, answer: Callable[[Any], Any]) -> None:
        super().__init__(reference)
        self._answer = answer

    def open(self, rng: np.random.Generator) -> Any:
        """Return the changed backend."""
        return self._answer(self._original.open(rng))
