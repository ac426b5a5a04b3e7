"""Wrappers of oracles and problems, by which a planted fault changes one oracle."""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np


class OverriddenOracles:
    """Base class of wrappers that override some attributes of an object and pass on the others.

    The wrapped object is `_original`. All other attributes are those of this object.
    """

    def __init__(self, reference: Any) -> None:
        self._original = reference

    def __getattr__(self, name: str) -> Any:
        return getattr(self._original, name)


class OverriddenProblem(OverriddenOracles):
    """Copy of a problem, with backend ``change_backend(b)`` for the original's backend b."""

    def __init__(self, reference: Any, change_backend: Callable[[Any], Any]) -> None:
        super().__init__(reference)
        self._answer = change_backend

    def open(self, rng: np.random.Generator) -> Any:
        """Return the original's backend for a run, as changed by the function `answer`."""
        return self._answer(self._original.open(rng))


@dataclass(frozen=True)
class OracleEdit:
    """Function that plants a fault in oracles: some of their answers are those of expressions.

    Attributes
    ----------
    description
        Description of the fault.
    names
        Module whose names the expressions use, in addition to `np`.
    expressions
        Pairs of a replaced method, such as ``lo(g)``, or attribute, such as ``norm.zeta``, and an
        expression for its value, in which `right` stands for the right oracles.
    """

    description: str
    names: str
    expressions: tuple[tuple[str, str], ...]

    def __call__(self, right: Any) -> OverriddenOracles:
        """Return the oracles with the fault."""
        changed = OverriddenOracles(right)
        scope = {**vars(import_module(self.names)), "np": np, "right": right}
        for target, expression in self.expressions:
            path, is_method, arguments = target.rstrip(")").partition("(")
            part, _, name = path.rpartition(".")
            if part:
                setattr(changed, part, OverriddenOracles(getattr(right, part)))
            answer = eval(f"lambda {arguments}: {expression}", scope)
            owner = getattr(changed, part) if part else changed
            setattr(owner, name, answer if is_method else answer())
        return changed
