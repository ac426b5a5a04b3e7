"""What the points and gradients of a problem look like: what its oracles are asked at is checked.

Compiled loops read and write without a look at sizes, so nothing may reach them that has another
shape, type or pattern than the problem's own points.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from pfbench.base.errors import InputError
from pfbench.points.factored import Factored
from pfbench.points.operators import SparseOperator, TiltedOperator
from pfbench.points.pattern import Pattern
from pfbench.points.vertices import RankOne

_FLOAT = np.dtype(np.float64)


def described(what: Any) -> str:
    """Return what something is, in words: its type, and of an array its shape and type."""
    if isinstance(what, np.ndarray):
        kind = "an array" if what.__class__ is np.ndarray else f"a {type(what).__name__}"
        return f"{kind} of {what.dtype} of shape {what.shape}"
    if isinstance(what, Factored):
        return f"a factored matrix of shape {what.shape} with {what.pattern.n} observed entries"
    if isinstance(what, RankOne):
        return f"a vertex of rank one of shape {(what.u.size, what.v.size)}"
    article = "an" if type(what).__name__[0] in "aeiouAEIOU" else "a"
    return "None" if what is None else f"{article} {type(what).__name__}"


class DenseForm:
    """Points, vertices and gradients are arrays of one shape; a vertex may be of rank one.

    Attributes
    ----------
    points, gradients
        What they are, in words.
    is_point, is_gradient
        Return whether something is a point, or a gradient, of the problem's space. A run asks that
        several times an iteration, so that they look nothing up.
    """

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.shape = shape
        self.points = self.gradients = f"arrays of float64 of shape {shape}"
        array, double = np.ndarray, _FLOAT

        def is_point(x: Any) -> bool:
            # An unpickled array has a type object of its own; `is` is the quicker test.
            return bool(
                x.__class__ is array
                and x.shape == shape
                and (x.dtype is double or x.dtype == double)
            )

        self.is_point: Callable[[Any], bool] = is_point
        self.is_gradient: Callable[[Any], bool] = is_point

    said = staticmethod(described)

    def is_vertex(self, v: Any) -> bool:
        """Return whether v may be what a linear minimisation returns."""
        if isinstance(v, RankOne):
            return v.pattern is None and (v.u.size, v.v.size) == self.shape
        return self.is_point(v)


class FactoredForm:
    """Points are factored matrices observed on one pattern, gradients their observed entries."""

    said = staticmethod(described)

    def __init__(self, pattern: Pattern) -> None:
        self.pattern = pattern
        self.shape = pattern.shape
        self.points = f"factored matrices of shape {pattern.shape} on the problem's own pattern"
        self.gradients = f"arrays of float64 of shape {(pattern.n,)}, or what `tilt` returns"

    def is_point(self, x: Any) -> bool:
        """See `DenseForm.is_point`."""
        return x.__class__ is Factored and self.pattern.equals(x.pattern)

    def is_gradient(self, g: Any) -> bool:
        """Return whether g is a gradient, or one tilted by points of this pattern."""
        if g.__class__ is np.ndarray:
            return bool(g.shape == (self.pattern.n,) and g.dtype == _FLOAT)
        return isinstance(g, TiltedOperator | SparseOperator) and self.pattern.equals(g.pattern)

    def is_vertex(self, v: Any) -> bool:
        """See `DenseForm.is_vertex`."""
        return isinstance(v, RankOne) and (v.u.size, v.v.size) == self.shape


def form_of(start: Any, name: str = "the problem") -> DenseForm | FactoredForm:
    """Return the form of the points of a problem from its start point.

    Raises
    ------
    InputError
        If the start is neither an array of float64 nor a factored matrix.
    """
    if isinstance(start, Factored):
        return FactoredForm(start.pattern)
    if start.__class__ is not np.ndarray or start.dtype != _FLOAT:
        raise InputError(
            f"the start of {name} is {described(start)}: let start() return a numpy array of "
            "float64."
        )
    return DenseForm(start.shape)
