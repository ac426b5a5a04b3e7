"""Plain functions as a problem: those of copt, of FrankWolfe-book-code, of scipy."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import Any, ClassVar, cast

import numpy as np

from pfbench.base.arrays import Floats
from pfbench.base.assumptions import ASSUMPTIONS
from pfbench.base.checks import finite_array, integer, real, scalar
from pfbench.base.constants import MEANING, Constants
from pfbench.base.errors import InputError
from pfbench.base.names import told, unknown
from pfbench.base.protocols import FeasibleSet
from pfbench.base.sample import Indices, Sample
from pfbench.base.state import State
from pfbench.base.user_code import blamed
from pfbench.measures import fw_gap
from pfbench.problems.base import FiniteSum, drawn, point_of
from pfbench.sets.body import Body, gradient, is_point
from pfbench.sets.whole import WholeSpace

_ROUNDS = 500
"""So many vertices at most decide whether a point is in a set."""

Jacobian = Callable[..., Any] | bool
"""The gradient; True where the function returns it beside its value."""


class FunctionSet(Body):
    """The set over which a function minimises linearly.

    Parameters
    ----------
    lmo
        ``lmo(g)`` returns a vertex that minimises <g, v>; or, as copt has it, ``lmo(u, x, active)``
        returns v - x first, where v maximises <u, v>.
    start
        A point of the set, any shape.
    diameter
        Its Euclidean diameter. If not given, it is bounded by the box around the set, from two
        linear minimisations for each entry of a point.
    project
        Returns the nearest point of the set; None where that is not known.
    contains
        Whether a point is in the set, (x, tolerance) -> bool. If not given, a point is outside
        where a linear function, found by linear minimisations, separates it from the set.

    Raises
    ------
    InputError
        If `start` is no array of numbers, or `lmo` does not return a vertex like it.
    """

    name = "functions"
    summary = "what a linear minimisation oracle is given for"
    source = "somebody's own"
    points = "arrays"
    needs = "pfbench.adapters.FunctionSet(lmo, start)"
    diameter_is_exact = False

    def __init__(
        self,
        lmo: Callable[..., Any],
        start: Any,
        *,
        diameter: float | None = None,
        project: Callable[[Floats], Any] | None = None,
        contains: Callable[[Any, float], bool] | None = None,
    ) -> None:
        self._start = _given_start(start)
        _check_functions(lmo=lmo, project=project, contains=contains)
        self._minimiser, self._label = _minimiser(lmo), getattr(lmo, "__qualname__", "lmo")
        self._project, self._contains = project, contains
        if diameter is not None:
            self.diameter = real("diameter", diameter, above=0.0)
        with blamed("lmo"):
            v = self.lo(np.ones_like(self._start))
        if v.shape != self._start.shape:
            raise InputError(
                f"lmo returns an array of shape {v.shape} where the start has {self._start.shape}: "
                "let it return a vertex."
            )

    def __repr__(self) -> str:
        return f"FunctionSet({self._label}, shape={self.shape})"

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of a point."""
        return self._start.shape

    @property
    def has_projection(self) -> bool:
        """Whether a projection was given."""
        return self._project is not None

    @cached_property
    def diameter(self) -> float:
        """The one that was given, or the diagonal of the box around the set."""
        return float(np.sqrt(sum((high - low) ** 2 for low, high in self._sides())))

    def _sides(self) -> list[tuple[float, float]]:
        sides = []
        for k in range(self._start.size):
            g = np.zeros(self._start.size)
            g[k] = 1.0
            e = g.reshape(self.shape)
            sides.append((float(self.lo(e).flat[k]), float(self.lo(-e).flat[k])))
        return sides

    def lo(self, g: Any) -> Floats:
        """Return a vertex that minimises <g, v>."""
        g = gradient(g, self.shape)
        v = self._minimiser(g.copy())
        if not np.isfinite(v).all() and np.isfinite(g).all():
            at = "(0)" if not g.any() else "(g)"
            remedy = ": let it return any vertex there" if not g.any() else ""
            raise InputError(f"lmo{at} has NaN or infinite entries{remedy}.")
        return v

    def project(self, y: Any) -> Floats:
        """Return the nearest point of the set; refused where none was given."""
        if self._project is None:
            return super().project(y)
        return np.array(self._project(np.array(y)), dtype=np.float64)

    def contains(self, x: Any, tolerance: float = 1e-9) -> bool:
        """Return whether x is in the set; see the class."""
        if not is_point(x, self.shape):
            return False
        if self._contains is not None:
            return bool(self._contains(x.copy(), tolerance))
        return not self._is_apart(x, tolerance * max(1.0, float(np.abs(x).max(initial=0.0))))

    def _is_apart(self, x: Floats, tolerance: float) -> bool:
        """Return whether a linear function separates x from the set by more than a tolerance."""
        vertices = [self.lo(x)]  # not the start, which is looked at, too
        for _ in range(_ROUNDS):
            u = _nearest(np.array([v.ravel() for v in vertices]), x.ravel()) - x.ravel()
            away = float(np.linalg.norm(u))
            if away <= tolerance:
                return False
            v = self.lo(u.reshape(self.shape))
            if u @ (v - x).ravel() > tolerance * away:
                return True
            if any(np.array_equal(v, known) for known in vertices):
                return False  # rounding hides what would be left
            vertices.append(v)
        return False

    def random_vertex(self, rng: np.random.Generator) -> Floats:
        """Return a vertex that minimises a random linear function."""
        return self.lo(rng.standard_normal(self.shape))

    def start(self) -> Floats:
        """Return a fresh copy of the given start."""
        return self._start.copy()


def _floats(source: str, found: Any) -> Floats:
    """Return what a function of the user returns as a new array of float64, if it is real."""
    if hasattr(found, "toarray"):
        found = found.toarray()
        found = found.ravel() if 1 in found.shape else found
    if np.iscomplexobj(found):
        raise InputError(f"{source} returns complex numbers: return real ones.")
    return np.array(found, dtype=np.float64)


def _minimiser(lmo: Callable[..., Any]) -> Callable[[Floats], Floats]:
    """Return g -> v of a linear minimisation in either shape."""
    if _needed(lmo) < 2:
        return lambda g: _floats("lmo", lmo(g))

    def from_copt(g: Floats) -> Floats:
        found = lmo(-g, np.zeros_like(g), None)
        return _floats("lmo", found[0]) + 0.0  # no -0.0

    return from_copt


def _needed(function: Callable[..., Any]) -> int:
    """Return how many arguments a function needs; 0 where that cannot be seen."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return 0
    positional = (p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD))
    return sum(p.default is p.empty for p in positional)


def _nearest(vertices: Floats, x: Floats) -> Floats:
    """Return the point of the hull of vertices, shape (k, d), that is nearest to x.

    References
    ----------
    Lawson, Hanson, Solving Least Squares Problems, 1974, chapter 23: the problem of the least
    distance as one of nonnegative least squares.
    """
    from scipy.optimize import nnls

    moved = vertices - x
    scale = max(float(np.abs(moved).max()), np.finfo(float).tiny)
    rows = np.vstack([moved.T / scale, np.ones(len(vertices))])
    weights, _ = nnls(rows, np.append(np.zeros(len(x)), 1.0))
    return np.asarray(weights @ vertices / weights.sum())


@dataclass(frozen=True, eq=False, kw_only=True)
class Functions(FiniteSum):
    """f and its gradient as functions; see `from_functions`, which looks at them."""

    name: ClassVar[str] = "functions"

    fun: Callable[..., Any]
    jac: Jacobian
    args: tuple[Any, ...]
    begin: Floats
    set: FeasibleSet
    n: int = 1
    mean: Callable[[Floats, Any], Any] | None = None
    known: Mapping[str, float] = field(default_factory=dict)
    properties: frozenset[str] = frozenset()

    def start(self) -> Floats:
        """Return a fresh copy of the start."""
        return self.begin.copy()

    def value(self, x: Any) -> float:
        """Return f(x)."""
        found = self.fun(self._copy(x), *self.args)
        return float(scalar("f(x)", found[0] if self.jac is True else found))

    def gradient(self, x: Any) -> Floats:
        """Return grad f(x)."""
        x = self._copy(x)
        if callable(self.jac):
            return _floats("jac", self.jac(x, *self.args))
        return _floats("fun", self.fun(x, *self.args)[1])

    def batch(self, sample: Indices, x: Any) -> Floats:
        """Return the mean of the sampled component gradients at x."""
        indices, weights = drawn(sample, self.n)
        if self.mean is None:
            return self.gradient(x)
        mean = self.mean
        if isinstance(sample, Sample):
            pairs = zip(indices, weights, strict=True)
            one = (w * mean(self._copy(x), np.array([i])) for i, w in pairs)
            return np.asarray(sum(one), dtype=np.float64)
        return _floats("the component gradients", mean(self._copy(x), indices.copy()))

    def _copy(self, x: Any) -> Floats:
        """Return a copy of a point, which a function may change."""
        return point_of(x, self.shape).copy()

    def constants(self, start: Any) -> Constants:
        """Return what was stated, and the diameter."""
        D = "stated" if "D" in self.known else "the diagonal of the box around the set"
        stated = {name: (value, "stated") for name, value in self.known.items()}
        derived: dict[str, Any] = {"D": (self.set.diameter, D)} | stated
        return Constants.derived(n=(self.n, "stated"), **derived)


def from_functions(
    fun: Callable[..., Any],
    jac: Jacobian,
    lmo: Callable[..., Any] | FeasibleSet | None = None,
    *,
    start: Any,
    args: tuple[Any, ...] = (),
    components: tuple[int, Callable[..., Any]] | None = None,
    constants: Mapping[str, float] = MappingProxyType({}),
    properties: tuple[str, ...] = (),
) -> FiniteSum:
    """Return plain functions as a problem, for `solve`, `check`, and all else that takes one.

    Parameters
    ----------
    fun
        ``fun(x, *args)`` returns f(x); with ``jac=True`` f(x) and the gradient, as in copt.
    jac
        ``jac(x, *args)`` returns the gradient; True if `fun` does.
    lmo
        The linear minimisation, in a shape that `FunctionSet` takes; a feasible set; None for none.
    start
        The start, a point of the set.
    args
        Further arguments of `fun` and `jac`.
    components
        Of a finite sum: n, and ``grad(x, indices)``, which returns the *mean* of the component
        gradients over an array of indices, with multiplicity.
    constants
        What is known, by its name in `pfbench.base.constants`: ``{"L_f": 1.0, "D": 2.0}``. A
        schedule that needs another one is refused, and says which.
    properties
        What is known of f: ``("convex",)``.

    Raises
    ------
    InputError
        If a function does not return what it should at the start, or a name is unknown.
    """
    point = _given_start(start)
    _check_functions(fun=fun, jac=None if jac is True else jac)
    if not isinstance(constants, Mapping) or not isinstance(properties, tuple | list):
        raise InputError(
            'constants must be numbers by name, as in {"L_f": 1.0}, and properties a tuple, as in '
            '("convex",).'
        )
    if not isinstance(args, tuple):
        raise InputError(f"args={told(args)} must be a tuple, as scipy has it: (a,) of one.")
    for name, value in constants.items():
        if name not in MEANING or name == "n":
            raise unknown("constant", name, [one for one in MEANING if one != "n"])
        real(name, value, least=0.0)
    for name in properties:
        if not isinstance(name, str) or name not in ASSUMPTIONS:
            raise unknown("property", name, ASSUMPTIONS)
    if components is not None:
        if not isinstance(components, tuple | list) or len(components) != 2:
            raise InputError(
                f"components={told(components)} must be (n, grad), a number and a function of "
                "(x, indices)."
            )
        _check_functions(**{"grad of components": components[1]})
        integer("n of components", components[0], least=1)
    where = _where(lmo, point, constants.get("D"))
    n, mean = (1, None) if components is None else components
    problem = Functions(
        fun=fun,
        jac=jac,
        args=args,
        begin=point,
        set=where,
        n=n,
        mean=mean,
        known=dict(constants),
        properties=frozenset(properties),
    )
    _check(problem, point)
    return problem


def _given_start(start: Any) -> Floats:
    """Return an own copy of a start."""
    point = finite_array("start", start).copy()
    if not point.size or not np.ndim(start):
        raise InputError("start must be an array with an entry for each variable, not a number.")
    return point


def _check_functions(**given: Any) -> None:
    for name, function in given.items():
        if function is not None and (isinstance(function, type) or not callable(function)):
            raise InputError(f"{name} must be a function, not {told(function)}.")


def _where(lmo: Any, start: Floats, diameter: float | None) -> FeasibleSet:
    """Return the feasible set."""
    if lmo is None:
        if start.ndim != 1:
            raise InputError("start must be a vector where there is no lmo: flatten it.")
        return WholeSpace(start.size)
    where = FunctionSet(lmo, start, diameter=diameter) if not hasattr(lmo, "lo") else lmo
    if not where.contains(start):
        raise InputError(
            "start is outside the set that lmo minimises over: take a vertex that lmo returns, and "
            "see that it minimises <g, v>, or as copt's maximises <u, v>."
        )
    return cast(FeasibleSet, where)


def _check(problem: Functions, x: Floats) -> None:
    """Look once at what the functions return at the start."""
    with blamed("fun"):
        value = problem.value(x)
    real("f(start)", value)
    with blamed("jac" if callable(problem.jac) else "fun"):
        g = finite_array("the gradient at the start", problem.gradient(x), shape=x.shape)
    fw_gap(problem, State(x))
    if problem.n == 1 and problem.mean is None:
        return
    with blamed("grad(x, indices) of components"):
        mean = problem.batch(np.arange(problem.n), x)
    mean = finite_array("the mean of component gradients", mean, shape=x.shape)
    size = float(np.abs(g).max()) + float(np.abs(mean).max())
    if float(np.abs(g - mean).max()) > 1e-6 * size:
        raise InputError(
            f"grad(x, indices) over all {problem.n} components is not the gradient at the start: "
            "let it return the mean over the indices, not the sum."
        )
