"""Operations on points, for dense arrays, named layers and factored matrices alike."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from pfbench.base.arrays import Floats, norm
from pfbench.base.errors import InputError
from pfbench.base.names import brief_repr
from pfbench.kernels import dense
from pfbench.kernels.observed_entries import inner_with_iterate_parallel, inner_with_iterate_rows
from pfbench.points.atoms import Factors, RankOne, frobenius_norm, max_atoms, svd_of_factors
from pfbench.points.factored import FactoredMatrix
from pfbench.points.layers import Layers
from pfbench.points.operators import SparseOperator, TiltedOperator, combine_factors
from pfbench.points.pattern import Pattern
from pfbench.points.point_formats import describe

_FLOAT = np.dtype(np.float64)


def combine(x: Any, v: Any, w: Any) -> Any:
    """Return ``(1 - w) x + w v``; for named layers, w may have a number for each layer.

    With a vertex v that `lo` returned, a factored x only records the step, which the next gradient
    or move applies. The same x can be combined again, e.g. for the trial points of a line search.
    With a point v, the result is a new independent point, for any real w.

    Raises
    ------
    StalePoint
        If x is factored and not the newest point of its sequence.
    InputError
        If x and v are not of one shape or one pattern.
    """
    if isinstance(x, np.ndarray):
        if _have_same_dense_shape(x, v):
            out = np.empty(x.shape)
            dense.write_combination(x.ravel(), v.ravel(), _weight_as_float(w), out.ravel())
            return out
        if isinstance(v, RankOne) and x.dtype == _FLOAT and (v.u.size, v.v.size) == x.shape:
            out = np.empty(x.shape)
            dense.write_rank_one_combination(x, v.u, v.v, float(v.scale), _weight_as_float(w), out)
            return out
        if isinstance(x, Layers):
            return _combine_layers(x, v, w)
        end = _as_dense_array(v)
        if end.shape != x.shape:
            raise InputError(f"cannot move a point of shape {x.shape} to one of shape {end.shape}.")
        w = _weight_as_float(w)
        return (1.0 - w) * x + w * end
    if not isinstance(x, FactoredMatrix):
        raise InputError(f"a point must be an array or a factored matrix, not {brief_repr(x)}.")
    w = _weight_as_float(w)
    if isinstance(v, RankOne):
        if (v.u.size, v.v.size) != x.shape:
            raise InputError(f"cannot move a point of shape {x.shape} to a point of another shape.")
        return x.record_step(v, w)
    if isinstance(v, FactoredMatrix):
        if not x.pattern.equals(v.pattern):
            raise InputError("cannot combine points of problems that observe different entries.")
        values = (1.0 - w) * x.values() + w * v.values()
        factors = combine_factors(x, v, 1.0 - w, w)
        if len(factors.weights) > max_atoms(x.shape):
            factors = svd_of_factors(factors)
        return FactoredMatrix.from_factors(x.pattern, factors, values)
    raise InputError(f"cannot move a factored matrix towards a {type(v).__name__}.")


def _combine_layers(x: Layers, v: Any, w: Any) -> Layers:
    """Return ``(1 - w) x + w v``; w is one number, or one for each layer, by name or in order."""
    if not isinstance(w, Mapping | Sequence):
        return Layers(combine(x.vector, np.asarray(v), w), x.shapes)
    weights = x.spread(w)
    return Layers((1.0 - weights) * x.vector + weights * np.asarray(v), x.shapes)


def shift(x: Any, a: Any, b: Any, c: float) -> Any:
    """Return ``x + c (a - b)`` as a new point, for a number c > -1."""
    if isinstance(x, np.ndarray):
        return x + c * (a - b)
    return combine(combine(x, a, c / (1.0 + c)), b, -c)


def keep(x: Any) -> Any:
    """Return an independent copy of the point x, which keeps its value when x changes."""
    try:
        return x.copy()
    except AttributeError:
        raise InputError(
            f"a point must be an array or a factored matrix, not {brief_repr(x)}."
        ) from None


def copy_or_view(x: Any) -> Any:
    """Return a copy of an array, or a view of a factored point, which a step converts to a copy."""
    return x.view() if isinstance(x, FactoredMatrix) else x.copy()


def tilt(g: Any, x: Any, u: Any, c: float) -> Any:
    """Return ``g + c (x - u)``: an array for dense points, an operator for factored ones."""
    if isinstance(x, FactoredMatrix):
        if not (isinstance(u, FactoredMatrix) and x.pattern.equals(u.pattern)):
            raise InputError(f"cannot subtract {describe(u)} from {describe(x)}.")
        return TiltedOperator.from_points(_make_observed_matrix(x.pattern, g), x, u, c)
    if isinstance(x, Layers):
        return Layers(tilt(np.asarray(g), x.vector, np.asarray(u), c), x.shapes)
    if _have_same_dense_shape(g, x) and _have_same_dense_shape(x, u):
        out = np.empty(x.shape)
        dense.write_tilt(g.ravel(), x.ravel(), u.ravel(), _weight_as_float(c), out.ravel())
        return out
    if not all(_is_numeric(item) and item.shape == g.shape for item in (g, x, u)):
        raise InputError(
            f"tilt needs three arrays of numbers of the same shape, not {describe(g)}, "
            f"{describe(x)} and {describe(u)}."
        )
    return g + _weight_as_float(c) * (x - u)


def inner(g: Any, x: Any) -> float:
    """Return <g, x> for a gradient g (or a result of `tilt`) and a point or vertex x.

    Raises
    ------
    InputError
        If g and x are not of one shape or one pattern.
    """
    if isinstance(x, np.ndarray) and isinstance(g, np.ndarray):
        if g.shape != x.shape:
            raise InputError(f"g and x need the same shape, not {g.shape} and {x.shape}.")
        return float(np.vdot(g, x))
    if isinstance(g, TiltedOperator):
        return g.inner(x) if isinstance(x, RankOne) else g.inner_point(x)
    if isinstance(x, FactoredMatrix):
        value = x.pattern.rows, _make_observed_matrix(x.pattern, g).g, x.entry_view()
        return float(
            x.pattern.run_loop(inner_with_iterate_rows, inner_with_iterate_parallel, *value)
        )
    if isinstance(x, RankOne):
        if x.pattern is not None:
            return _make_observed_matrix(x.pattern, g).inner(x)
        return x.scale * float(x.u @ (g @ x.v))
    raise InputError(f"inner(g, x) is not defined for {describe(g)} and {describe(x)}.")


def gap_and_distance(g: Any, x: Any, v: Any) -> tuple[float, float]:
    """Return ``<g, x - v>`` and the Euclidean distance |x - v| for a gradient g and a vertex v.

    Raises
    ------
    InputError
        If g, x and v are not of one shape or one pattern.
    """
    if _have_same_dense_shape(g, x) and _have_same_dense_shape(x, v):
        at_x, at_v, square = dense.inner_products_and_square_distance(
            g.ravel(), x.ravel(), v.ravel()
        )
        return at_x - at_v, math.sqrt(square)
    if _have_same_dense_shape(g, x) and isinstance(v, RankOne) and (v.u.size, v.v.size) == x.shape:
        at_x, at_v, square = dense.inner_products_and_distance_rank_one(
            g, x, v.u, v.v, float(v.scale)
        )
        return at_x - at_v, math.sqrt(square)
    if isinstance(x, Layers):
        return gap_and_distance(np.asarray(g), x.vector, np.asarray(v))
    descent = None
    if isinstance(g, TiltedOperator) and isinstance(x, FactoredMatrix) and isinstance(v, RankOne):
        descent = g.gap_and_distance(x, v)
    return descent or (inner(g, x) - inner(g, v), distance(v, x))


def distance(x: Any, y: Any, ball: Any = None) -> float:
    """Return the distance of two points or vertices, in the norm of a ball if one is given.

    Without a ball it is the Euclidean (Frobenius) distance.
    """
    if ball is not None:
        return float(ball.norm(_as_dense_array(x) - _as_dense_array(y)))
    if isinstance(x, np.ndarray) or isinstance(y, np.ndarray):
        dense, other = _as_dense_array(x), _as_dense_array(y)
        if dense.shape != other.shape:
            raise InputError(f"x and y need the same shape, not {dense.shape} and {other.shape}.")
        return norm(dense - other)
    if isinstance(x, FactoredMatrix) and isinstance(y, FactoredMatrix):
        return frobenius_norm(combine_factors(x, y, 1.0, -1.0))
    if isinstance(x, FactoredMatrix) and isinstance(y, RankOne):
        atom = Factors(np.array([-y.scale]), y.u[None, :], y.v[None, :])
        return frobenius_norm(x.factors(), atom)
    if isinstance(x, RankOne):
        return (
            distance(y, x)
            if isinstance(y, FactoredMatrix)
            else distance(x.matrix(), _as_dense_array(y))
        )
    raise InputError(f"distance(x, y) is not defined for {describe(x)} and {describe(y)}.")


def _make_observed_matrix(pattern: Pattern, g: Any) -> SparseOperator:
    """Return a sparse matrix with entries g at a pattern's positions; raise if g does not fit."""
    if not isinstance(g, np.ndarray) or g.shape != (pattern.n,) or g.dtype != np.float64:
        raise InputError(
            f"a gradient on {pattern.n} observed entries is needed, not {describe(g)}."
        )
    return SparseOperator(pattern, g)


def _have_same_dense_shape(x: Any, y: Any) -> bool:
    """Return whether x and y are plain float64 arrays of the same shape."""
    return (
        x.__class__ is y.__class__ is np.ndarray
        and (x.dtype is y.dtype is _FLOAT or x.dtype == y.dtype == _FLOAT)
        and x.shape == y.shape
    )


def _as_dense_array(x: Any) -> Floats:
    if isinstance(x, RankOne | FactoredMatrix):
        return np.asarray(x.matrix())
    if not _is_numeric(x):
        raise InputError(f"a point must be an array of numbers or a vertex, not {brief_repr(x)}.")
    return np.asarray(x)


def _is_numeric(x: Any) -> bool:
    return isinstance(x, np.ndarray) and x.dtype.kind in "fiu"


def _weight_as_float(w: Any) -> float:
    """Return a weight as a float; raise if it is not a number."""
    if w.__class__ is float:
        return w
    try:
        return float(1.0 * w)
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"a weight must be a number, not {brief_repr(w)}.") from None


def is_finite(x: Any) -> bool:
    """Return whether a point is finite, by its sum of squares or, if factored, its last step."""
    if isinstance(x, np.ndarray):
        flat = x if x.ndim == 1 else x.ravel()
        return math.isfinite(flat.dot(flat))
    return x.is_finite if isinstance(x, FactoredMatrix) else True
