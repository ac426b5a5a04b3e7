"""Base classes of sets, and the validation of gradients and points."""

import dataclasses
import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, TypeGuard

import numpy as np
import numpy.typing as npt

from pfbench.base.arrays import Floats, Integers, LowerUpper, as_read_only
from pfbench.base.checks import check_real
from pfbench.base.errors import DivergedError, InputError, RefusedError
from pfbench.base.parameters import Parameter, collect_declared_parameters
from pfbench.points import RankOne
from pfbench.points.point_formats import describe

_FLOAT = np.dtype(np.float64)
_GRADIENT = "the gradient passed to the linear minimisation"


def as_finite_array(subject: str, value: Any, shape: tuple[int, ...]) -> Floats:
    """Return `value` as a float64 array of `shape`; raise if an entry is not finite.

    Raises
    ------
    InputError
        If `value` is not an array of that shape.
    DivergedError
        If `value` has NaN or infinite entries.
    """
    array = as_float_array(subject, value, shape)
    if not np.isfinite(array).all():
        raise DivergedError(f"{subject} has NaN or infinite entries")
    return array


def as_float_array(subject: str, value: Any, shape: tuple[int, ...]) -> Floats:
    """Return `value` as a float64 array of `shape`, which may have infinite or NaN entries.

    Raises
    ------
    InputError
        If `value` is not an array of real numbers of that shape, or is a masked array.
    """
    if value.__class__ is np.ndarray and value.dtype is _FLOAT and value.shape == shape:
        array: Floats = value
        return array
    if not isinstance(value, np.ndarray) or value.shape != shape:
        actual = value.shape if isinstance(value, np.ndarray) else type(value).__name__
        raise InputError(f"{subject} must be a dense array of shape {shape}, not {actual}.")
    if isinstance(value, np.ma.MaskedArray) or value.dtype.kind not in "fiub":
        raise InputError(f"{subject} must be an array of real numbers, not {describe(value)}.")
    return np.asarray(value, dtype=np.float64)


def check_gradient(g: Any, shape: tuple[int, ...]) -> Floats:
    """Validate the gradient g passed to a linear minimisation; return it as a finite array."""
    return as_finite_array(_GRADIENT, g, shape)


def as_possibly_nonfinite_gradient(g: Any, shape: tuple[int, ...]) -> Floats:
    """Return the gradient g passed to a linear minimisation as an array; entries may be NaN."""
    return as_float_array(_GRADIENT, g, shape)


def check_projectable(y: Any, shape: tuple[int, ...]) -> Floats:
    """Validate the point y to be projected; return it as a finite array of `shape`."""
    return as_finite_array("the point to project", y, shape)


def is_point(x: Any, shape: tuple[int, ...]) -> TypeGuard[Floats]:
    """Return whether x is a finite array of `shape`."""
    return isinstance(x, np.ndarray) and x.shape == shape and bool(np.isfinite(x).all())


def scale_to_unit(g: Floats) -> tuple[Floats, int]:
    """Return ``g / 2**k`` and k, with k such that the largest absolute entry is in [0.5, 1).

    Sums over the scaled array cannot overflow.
    """
    exponent = int(np.frexp(np.abs(g).max(initial=0.0))[1])
    return np.asarray(np.ldexp(g, -exponent)), exponent


def as_read_only_copy(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return a read-only copy of an array."""
    return as_read_only(array.copy())


class ArrayDataclass:
    """Base class of frozen dataclasses with array fields, compared and printed by content."""

    def __repr__(self) -> str:
        fields = (f for f in dataclasses.fields(self) if f.repr)  # type: ignore[arg-type]
        inside = ", ".join(f"{f.name}={_describe_value(getattr(self, f.name))}" for f in fields)
        return f"{type(self).__name__}({inside})"

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and repr(self) == repr(other)

    def __hash__(self) -> int:
        return hash(repr(self))


def _describe_value(value: Any) -> str:
    if not isinstance(value, np.ndarray):
        return repr(value)
    little = np.ascontiguousarray(value).astype(value.dtype.newbyteorder("<"))
    digest = hashlib.sha256(repr(value.shape).encode() + little.tobytes()).hexdigest()
    return f"<{value.dtype} {value.shape} sha256:{digest[:16]}>"


class ConvexBody(ArrayDataclass, ABC):
    """Base class of convex compact sets, whose points are arrays of one shape.

    Attributes
    ----------
    name
        Name in selectors.
    summary
        One-line description.
    source
        Reference for the linear minimisation.
    points
        Kind of points: vectors, matrices, square matrices.
    required_arguments
        Python-only arguments, with a call that builds the set; empty if a selector suffices.
    diameter_is_exact
        Whether `diameter` is exact, rather than an upper bound.
    polytope
        Whether the set is a polytope, so that `lo` returns one of finitely many vertices.
    """

    name: ClassVar[str]
    summary: ClassVar[str] = ""
    source: ClassVar[str]
    points: ClassVar[str] = "vectors"
    required_arguments: ClassVar[str] = ""
    diameter_is_exact: ClassVar[bool] = True
    polytope: ClassVar[bool] = False

    @classmethod
    def parameters(cls) -> Mapping[str, Parameter]:
        """Return the parameters that a text such as ``l1[radius=2]`` can set, by name."""
        return collect_declared_parameters(cls)

    @classmethod
    def for_shape(cls, shape: tuple[int, ...], **parameters: Any) -> Self:
        """Build the set for points of the given shape, with the given parameter values."""
        make: Callable[..., Self] = cls
        return make(shape if cls.points == "matrices" else shape[0], **parameters)

    @property
    @abstractmethod
    def shape(self) -> tuple[int, ...]:
        """Shape of a point."""

    @property
    def has_projection(self) -> bool:
        """Whether the set implements `project`."""
        return False

    @property
    @abstractmethod
    def diameter(self) -> float:
        """Euclidean diameter, or an upper bound of it; see `diameter_is_exact`."""

    @property
    def max_norm(self) -> float:
        """Upper bound of the Euclidean norm of a point of the set."""
        return float(np.linalg.norm(self.start())) + self.diameter

    @abstractmethod
    def lo(self, g: Any) -> Any:
        """Return a vertex v that minimises <g, v> over the set.

        Raises
        ------
        DivergedError
            If g has NaN or infinite entries.
        """

    def minimum(self, g: Any) -> LowerUpper:
        """Return lower and upper bounds, equal by default, of the minimum of <g, v> over the set.

        Raises
        ------
        DivergedError
            If g has NaN or infinite entries.
        """
        value = float(np.vdot(g, self.lo(g)))
        return value, value

    def project(self, y: Any) -> Floats:
        """Return the Euclidean projection of y onto the set; the default implementation raises.

        Raises
        ------
        DivergedError
            If y has NaN or infinite entries.
        RefusedError
            If there is no closed form, or the projection would form too large a matrix.
        """
        raise RefusedError(
            f"there is no closed form of the projection onto the set {self.name}: use a "
            "projection-free method on this problem."
        )

    @abstractmethod
    def contains(self, x: Any, tolerance: float = 1e-9) -> bool:
        """Return whether x is in the set, up to a relative tolerance."""

    @abstractmethod
    def random_vertex(self, rng: np.random.Generator) -> Any:
        """Return a random vertex of the set."""

    @abstractmethod
    def start(self) -> Floats:
        """Return a new copy of the fixed start point: 0 if it is in the set, else a vertex."""


class VectorConvexBody(ConvexBody):
    """Base class of the convex compact sets of vectors of length `d`."""

    if TYPE_CHECKING:  # a field or a property of each set

        @property
        def d(self) -> int:
            """Length of the vectors in the set."""

    @property
    def shape(self) -> tuple[int]:
        """Shape of a point: (d,)."""
        return (self.d,)

    def _fill_vector(self, location: Any, value: float) -> Floats:
        """Return the vector with `value` at the given indices and 0 elsewhere."""
        vector = np.zeros(self.d)
        vector[location] = value
        return vector


class FlattenedBody(ConvexBody):
    """Base class of sets of matrices that are a set of vectors, of the concatenated entries."""

    _order: ClassVar[Literal["C", "F"]] = "C"
    """Memory order in which entries are concatenated: by rows or by columns."""

    @property
    @abstractmethod
    def _flat_body(self) -> ConvexBody:
        """Set of the vectors."""

    def _flatten(self, x: Floats) -> Floats:
        return x.ravel(order=self._order)

    def _restore(self, x: Floats) -> Floats:
        return np.ascontiguousarray(x.reshape(self.shape, order=self._order))

    def lo(self, g: Any) -> Floats:
        """Return a vertex v that minimises <g, v> over the set."""
        return self._restore(self._flat_body.lo(self._flatten(check_gradient(g, self.shape))))

    def minimum(self, g: Any) -> LowerUpper:
        """Return lower and upper bounds of the minimum of <g, v> over the set."""
        return self._flat_body.minimum(self._flatten(check_gradient(g, self.shape)))

    def project(self, y: Any) -> Floats:
        """Return the Euclidean projection of y onto the set."""
        flat = self._flatten(check_projectable(y, self.shape))
        return self._restore(self._flat_body.project(flat))

    def contains(self, x: Any, tolerance: float = 1e-9) -> bool:
        """Return whether x, an array or a vertex, is in the set, up to a relative tolerance."""
        if isinstance(x, RankOne):
            x = x.matrix()
        return is_point(x, self.shape) and self._flat_body.contains(self._flatten(x), tolerance)

    def random_vertex(self, rng: np.random.Generator) -> Floats:
        """Return a random vertex of the set."""
        return self._restore(self._flat_body.random_vertex(rng))


class GreedyPolytope(VectorConvexBody):
    """Base class of polytopes; a greedy algorithm turns each order of the entries into a vertex."""

    polytope: ClassVar[bool] = True

    def lo(self, g: Any) -> Floats:
        """Return the greedy algorithm's vertex for the entries in order of increasing g.

        Ties in g go to the lowest index. It takes O(d log d) in addition to the greedy algorithm.
        """
        return self._greedy_vertex(np.argsort(check_gradient(g, self.shape), kind="stable"))

    def random_vertex(self, rng: np.random.Generator) -> Floats:
        """Return the greedy algorithm's vertex for a uniformly random order of the entries.

        Every vertex has a positive probability.
        """
        return self._greedy_vertex(rng.permutation(self.d))

    @abstractmethod
    def _greedy_vertex(self, order: Integers) -> Floats:
        """Return the greedy algorithm's vertex for `order`, a permutation of 0, ..., d - 1."""


_DOUBLINGS, _HALVINGS = 40, 100


def minimise_locally(domain: Any, x: Any, g: Any, radius: float) -> Any:
    """Return a point z of a set that minimises <g, z> subject to |z - x| <= radius.

    It is P(x - tau g), P the projection onto the set, for the largest tau for which |P(x - tau g) -
    x| is at most the radius: this length does not decrease in tau. Each z is the result of some
    tau, or the limit for tau to infinity, which is the nearest minimiser over the set.

    Parameters
    ----------
    domain
        The set, with `project`.
    x
        A point of the set.
    g
        The slope, of the shape of x.
    radius
        The distance, at least 0.

    Raises
    ------
    InputError
        If the radius is negative or NaN.
    """
    check_real("the radius of a local linear minimisation", radius, minimum=0.0)
    g, _ = scale_to_unit(g)
    scale = float(np.linalg.norm(g))
    if scale == 0.0 or radius == 0.0:
        return x.copy()

    def step(tau: float) -> Any:
        return domain.project(x - tau * g)

    low, high = 0.0, radius / scale  # the length is at most tau |g|
    for _ in range(_DOUBLINGS):
        if float(np.linalg.norm(step(high) - x)) > radius:
            break
        low, high = high, 2.0 * high
    else:
        return step(low)
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        if not low < middle < high:
            break
        if float(np.linalg.norm(step(middle) - x)) <= radius:
            low = middle
        else:
            high = middle
    return step(low)
