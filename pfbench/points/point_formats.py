"""Formats of the points and gradients of a problem, checked at each oracle call.

Compiled loops do not check sizes, so points of another shape, type or pattern must be rejected
before they reach a loop.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from pfbench.base.errors import InputError
from pfbench.points.atoms import RankOne
from pfbench.points.factored import FactoredMatrix
from pfbench.points.layers import Layers, LayerShapes
from pfbench.points.operators import SparseOperator, TiltedOperator
from pfbench.points.pattern import Pattern

_FLOAT = np.dtype(np.float64)

_ANSWERED_BY_A_POINT = ("gradient", "batch", "difference", "lo", "prox", "local_lo")
"""Verbs of a backend whose answer is a point or a gradient."""


def describe(obj: Any) -> str:
    """Return a description of an object in words: its type, and an array's shape and dtype."""
    if isinstance(obj, np.ndarray):
        kind = "an array" if obj.__class__ is np.ndarray else f"a {type(obj).__name__}"
        return f"{kind} of {obj.dtype} of shape {obj.shape}"
    if isinstance(obj, FactoredMatrix):
        return f"a factored matrix of shape {obj.shape} with {obj.pattern.n} observed entries"
    if isinstance(obj, RankOne):
        return f"a vertex of rank one of shape {(obj.u.size, obj.v.size)}"
    article = "an" if type(obj).__name__[0] in "aeiouAEIOU" else "a"
    return "None" if obj is None else f"{article} {type(obj).__name__}"


class DensePointFormat:
    """Format in which points, vertices and gradients are arrays; a vertex may be a `RankOne`.

    Attributes
    ----------
    points_text, gradients_text
        Descriptions in words.
    is_point, is_gradient
        Return whether an object is a point, or a gradient, of the problem's space. A run calls them
        several times an iteration, so they are closures without attribute look-ups.
    """

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.shape = shape
        self.points_text = self.gradients_text = f"arrays of float64 of shape {shape}"
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

    describe = staticmethod(describe)

    def is_vertex(self, v: Any) -> bool:
        """Return whether v may be a result of linear minimisation."""
        if isinstance(v, RankOne):
            return v.pattern is None and (v.u.size, v.v.size) == self.shape
        return self.is_point(v)

    def wrap_backend_if_layered(self, backend: Any) -> Any:
        """Return the backend unchanged, since its oracles return arrays already."""
        return backend


class FactoredPointFormat:
    """Format in which points are factored matrices on one pattern.

    Gradients are vectors of the observed entries.
    """

    describe = staticmethod(describe)

    def __init__(self, pattern: Pattern) -> None:
        self.pattern = pattern
        self.shape = pattern.shape
        self.points_text = (
            f"factored matrices of shape {pattern.shape} on the problem's own pattern"
        )
        self.gradients_text = f"arrays of float64 of shape {(pattern.n,)}, or what `tilt` returns"

    def is_point(self, x: Any) -> bool:
        """Return whether x is a factored matrix on the pattern of the problem."""
        return x.__class__ is FactoredMatrix and self.pattern.equals(x.pattern)

    def is_gradient(self, g: Any) -> bool:
        """Return whether g is a gradient, or a result of `tilt`, for points of this pattern."""
        if g.__class__ is np.ndarray:
            return bool(g.shape == (self.pattern.n,) and g.dtype == _FLOAT)
        return isinstance(g, TiltedOperator | SparseOperator) and self.pattern.equals(g.pattern)

    def is_vertex(self, v: Any) -> bool:
        """Return whether v is a rank-one matrix of the problem's shape."""
        return isinstance(v, RankOne) and (v.u.size, v.v.size) == self.shape

    def wrap_backend_if_layered(self, backend: Any) -> Any:
        """Return the backend unchanged, since its oracles return this format already."""
        return backend


class LayeredPointFormat(DensePointFormat):
    """Format in which a point is a `Layers` object, or a plain vector of all its entries."""

    def __init__(self, start: Layers) -> None:
        super().__init__(start.shape)
        self.layers = start.shapes
        names = ", ".join(f"{name} {shape}" for name, shape in start.shapes)
        self.points_text = self.gradients_text = f"layers {names}"
        is_vector = self.is_point

        def is_point(x: Any) -> bool:
            if x.__class__ is Layers and x.shapes == start.shapes:
                x = x.vector
            return is_vector(x)

        self.is_point = self.is_gradient = is_point

    def wrap_backend_if_layered(self, backend: Any) -> "LayerFlatteningBackend":
        """Return a backend that converts the answers of the given backend to named layers."""
        return LayerFlatteningBackend(backend, self.layers)


class LayerFlatteningBackend:
    """Backend for points with layers, which passes vectors to another backend.

    Its answers have layers.

    Parameters
    ----------
    backend
        The backend, for vectors.
    shapes
        Name and shape of each layer.
    """

    def __init__(self, backend: Any, shapes: LayerShapes) -> None:
        self._backend, self._shapes = backend, shapes

    def __getattr__(self, name: str) -> Any:
        """Return an attribute of the wrapped backend; its methods then take and return layers."""
        value = getattr(self._backend, name)
        if not callable(value):
            return value
        call = partial(self._call, value, name in _ANSWERED_BY_A_POINT)
        setattr(self, name, call)
        return call

    def _call(self, verb: Callable[..., Any], is_point: bool, *arguments: Any) -> Any:
        answer = verb(*(x.vector if isinstance(x, Layers) else x for x in arguments))
        return Layers(answer, self._shapes) if is_point else answer


def infer_format(start: Any, name: str = "the problem") -> DensePointFormat | FactoredPointFormat:
    """Return the point format of a problem from its start point.

    Raises
    ------
    InputError
        If the start is neither a float64 array, with or without layers, nor a factored matrix.
    """
    if isinstance(start, Layers):
        return LayeredPointFormat(start)
    if isinstance(start, FactoredMatrix):
        return FactoredPointFormat(start.pattern)
    if start.__class__ is not np.ndarray or start.dtype != _FLOAT:
        raise InputError(
            f"the start of {name} is {describe(start)}: let start() return a float64 array."
        )
    return DensePointFormat(start.shape)
