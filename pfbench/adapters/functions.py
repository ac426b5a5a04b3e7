"""Problems and samplers from plain functions."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import Any, ClassVar, cast

import numpy as np

from pfbench.base.arrays import Floats
from pfbench.base.checks import check_finite_array, check_integer, check_real, unwrap_scalar
from pfbench.base.constants import MEANING, Constants
from pfbench.base.errors import InputError
from pfbench.base.names import unknown_name_error
from pfbench.base.protocols import ASSUMPTIONS, FeasibleSet
from pfbench.base.sample import Indices, Sample
from pfbench.base.state import State
from pfbench.base.user_code import blame_user_code
from pfbench.measures.common import fw_gap
from pfbench.points.layers import Layers, flatten_layers, restore_layers
from pfbench.problems.base import FiniteSum, check_dense_point, index_weights
from pfbench.problems.sampler import Atoms, SamplerWithKnownMean
from pfbench.problems.wrapper import NormedProblem
from pfbench.sets.body import ConvexBody, check_gradient, is_point
from pfbench.sets.catalogue import layer_norm_ball, norm_ball
from pfbench.sets.norms import NormBall
from pfbench.sets.polytope_distance import hull_distance_bounds
from pfbench.sets.whole_space import WholeSpace


class FunctionSet(ConvexBody):
    """Feasible set given by a user's function that minimises <g, v> over it.

    Parameters
    ----------
    lmo
        ``lmo(g)`` returns a vertex that minimises <g, v>.
    start
        A point of the set, any shape.
    diameter
        Euclidean diameter of the set. The default is an upper bound, the diagonal of the box around
        the set, from two linear minimisations for each entry of a point.
    project
        Function that returns the nearest point of the set; None if there is none.
    contains
        Function (x, tolerance) -> whether x is in the set. By default, a point is outside if linear
        minimisations find a linear function that separates it from the set.

    Raises
    ------
    InputError
        If `start` is not an array of numbers, or `lmo` does not return a vertex of its shape.
    """

    name = "functions"
    summary = "set defined by a linear minimisation function"
    source = "user-defined"
    points = "arrays"
    required_arguments = "pfbench.adapters.FunctionSet(lmo, start)"
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
        self._start = _copy_start(start)
        self._minimise, self._project, self._contains = lmo, project, contains
        self.user_functions = {"lo": lmo, "project": project, "contains": contains}
        if diameter is not None:
            self.diameter = check_real("diameter", diameter, above=0.0)
        with blame_user_code("lmo"):
            v = self.lo(np.ones_like(self._start))
        if v.shape != self._start.shape:
            raise InputError(
                f"lmo returns an array of shape {v.shape}, and the start has shape "
                f"{self._start.shape}: let lmo return a vertex of that shape."
            )

    def __repr__(self) -> str:
        return f"FunctionSet(lmo, shape={self.shape})"

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of a point."""
        return self._start.shape

    @property
    def has_projection(self) -> bool:
        """Whether the user gave a function that projects onto the set."""
        return self._project is not None

    @cached_property
    def diameter(self) -> float:
        """Euclidean diameter; if none was given, that of the smallest box that contains the set."""
        sides = []
        for k in range(self._start.size):
            e = np.zeros(self.shape)
            e.flat[k] = 1.0
            sides.append(self.lo(-e).flat[k] - self.lo(e).flat[k])
        return float(np.linalg.norm(sides))

    def lo(self, g: Any) -> Floats:
        """Return a vertex v that minimises <g, v>, computed by the user's function."""
        g = check_gradient(g, self.shape)
        v = _copy_as_real_array("lmo", self._minimise(g.copy()))
        if not np.isfinite(v).all() and np.isfinite(g).all():
            raise InputError("lmo returns NaN or infinite entries: at 0, return any vertex.")
        return v

    def project(self, y: Any) -> Floats:
        """Return the Euclidean projection of y onto the set; raise if no projection was given."""
        if self._project is None:
            return super().project(y)
        return np.array(self._project(np.array(y)), dtype=np.float64)

    def contains(self, x: Any, tolerance: float = 1e-9) -> bool:
        """Return whether x is in the set, by the user's function or by linear minimisations."""
        if not is_point(x, self.shape):
            return False
        if self._contains is not None:
            return bool(self._contains(x.copy(), tolerance))
        tolerance *= max(1.0, float(np.abs(x).max(initial=0.0)))

        def flat_minimiser(g: Floats) -> Floats:
            return self.lo(g.reshape(self.shape)).ravel()

        return hull_distance_bounds(flat_minimiser, x.ravel(), tolerance)[0] <= tolerance

    def random_vertex(self, rng: np.random.Generator) -> Floats:
        """Return a vertex that minimises <g, v> for a random gradient g."""
        return self.lo(rng.standard_normal(self.shape))

    def start(self) -> Floats:
        """Return a new copy of the start point."""
        return self._start.copy()


def _copy_as_real_array(source: str, value: Any) -> Floats:
    """Return the result of a user function as a new float64 array; raise if it is complex."""
    if hasattr(value, "toarray"):
        value = value.toarray()
        value = value.ravel() if 1 in value.shape else value
    if np.iscomplexobj(value):
        raise InputError(f"{source} returns complex numbers: return real ones.")
    return np.array(value, dtype=np.float64)


@dataclass(frozen=True, eq=False, kw_only=True)
class FunctionProblem(FiniteSum):
    """Problem whose f and gradient are user functions; `from_functions` validates them."""

    name: ClassVar[str] = "functions"

    fun: Callable[[Any], Any]
    jac: Callable[[Any], Any]
    start_point: Floats
    set: FeasibleSet
    n: int = 1
    mean: Callable[[Floats, Any], Any] | None = None
    stated_constants: Mapping[str, float] = field(default_factory=dict)
    properties: frozenset[str] = frozenset()

    @property
    def user_functions(self) -> dict[str, Any]:
        """The user's function that each method calls."""
        return {"value": self.fun, "gradient": self.jac, "batch": self.mean}

    def start(self) -> Floats:
        """Return a new copy of the start point."""
        return self.start_point.copy()

    def value(self, x: Any) -> float:
        """Return f(x)."""
        return float(unwrap_scalar("f(x)", self.fun(self._copy_point(x))))

    def gradient(self, x: Any) -> Floats:
        """Return the gradient of f at x."""
        x = self._copy_point(x)
        return _copy_as_real_array("jac", flatten_layers(x, self.jac(x)))

    def batch(self, sample: Indices, x: Any) -> Floats:
        """Return the mean of the sampled component gradients at x."""
        indices, _ = index_weights(sample, self.n)
        if self.mean is None:
            return self.gradient(x)
        counts = sample.counts if isinstance(sample, Sample) else 1
        x = self._copy_point(x)
        g = self.mean(x, np.repeat(indices, counts))
        return _copy_as_real_array("the component gradients", flatten_layers(x, g))

    def _copy_point(self, x: Any) -> Floats:
        """Return a copy of a point, split into layers if the start has layers.

        A copy is necessary because a user function may change its argument.
        """
        copy = np.array(check_dense_point(x, self.shape))
        return cast(Floats, restore_layers(self.start_point, copy))

    def constants(self, start: Any) -> Constants:
        """Return the constants that the user stated, and the diameter of the set."""
        D = "stated" if "D" in self.stated_constants else "the diagonal of the box around the set"
        statement = {name: (value, "stated") for name, value in self.stated_constants.items()}
        derived: dict[str, Any] = {"D": (self.set.diameter, D)} | statement
        return Constants.from_derivations(n=(self.n, "stated"), **derived)


def from_functions(
    fun: Callable[[Any], Any],
    jac: Callable[[Any], Any] | None = None,
    lmo: Callable[..., Any] | FeasibleSet | None = None,
    *,
    start: Any,
    components: tuple[int, Callable[..., Any]] | None = None,
    constants: Mapping[str, float] = MappingProxyType({}),
    properties: tuple[str, ...] = (),
    sampler: Callable[[np.random.Generator, int], Any] | None = None,
    sample_grad: Callable[[Any, Floats], Any] | None = None,
    norm: str | NormBall | None = None,
) -> FiniteSum:
    """Return a problem built from plain functions.

    Parameters
    ----------
    fun
        ``fun(x)`` returns f(x).
    jac
        ``jac(x)`` returns the gradient.
    lmo
        Linear minimisation in a form that `FunctionSet` accepts, or a feasible set. None for the
        whole space.
    start
        The start, a point of the set: an array, or a dict of arrays. For a dict, points are
        `pfbench.points.Layers`, so that a function reads ``x["W1"]``, and gradients may be dicts.
    components
        For a finite sum: n, and ``grad(x, indices)``, which returns the *mean* of the component
        gradients over an array of indices, with multiplicity.
    constants
        Known constants, by their names in `pfbench.base.constants`: ``{"L_f": 1.0, "D": 2.0}``. A
        schedule that needs a constant not given here raises an error that names it.
    properties
        Known properties of f: ``("convex",)``.
    sampler, sample_grad
        For an expectation f(x) = E f(x, xi): ``sampler(rng, size)`` returns S, independent draws of
        xi in any form, and ``sample_grad(S, x)`` the mean of grad f(x, xi) over S. `fun` and `jac`
        then serve the measures alone.
    norm
        Norm in place of a set, or in addition to it, as in a problem's ``norm=``; of layers as in
        ``spectral*linf``.

    Raises
    ------
    InputError
        If a function returns an invalid value at the start, or a name is unknown.
    """
    point = _copy_start(start)
    if jac is None:
        raise InputError(
            "jac is missing: pass a function that returns the gradient of f, or, if f is given by "
            "a sampler, the mean gradient over one large sample that is drawn in advance."
        )
    if (sampler is None) != (sample_grad is None) or (sampler and components):
        raise InputError("sampler and sample_grad must be given together, without components.")
    is_pair = isinstance(components, tuple | list) and len(components) == 2
    if not (
        isinstance(constants, Mapping)
        and isinstance(properties, tuple | list)
        and (is_pair or components is None)
    ):
        raise InputError(
            'constants must be a dict, as in {"L_f": 1.0}, properties a tuple of names, and '
            "components a pair (n, grad)."
        )
    for name, value in constants.items():
        if name not in MEANING or name == "n":
            raise unknown_name_error("constant", name, [name for name in MEANING if name != "n"])
        check_real(name, value, minimum=0.0)
    for name in properties:
        if name not in ASSUMPTIONS:
            raise unknown_name_error("property", name, ASSUMPTIONS)
    n, mean = components or (1, None)
    check_integer("n of components", n, minimum=1)
    feasible_set = _make_feasible_set(lmo, point, constants.get("D"))
    problem = FunctionProblem(
        fun=fun,
        jac=jac,
        start_point=point,
        set=feasible_set,
        n=n,
        mean=mean,
        stated_constants=dict(constants),
        properties=frozenset(properties),
    )
    _check_functions_at_start(problem, point)
    if sampler is not None and sample_grad is not None:
        return with_point_norm(sample_function(problem, sampler, sample_grad), norm)
    return with_point_norm(problem, norm)


def with_point_norm(problem: FiniteSum, norm: str | NormBall | None) -> FiniteSum:
    """Return the problem with its points measured in a norm; unchanged if `norm` is None.

    Raises
    ------
    InputError
        If the norm is unknown, or does not fit the points.
    """
    if norm is None:
        return problem
    start = problem.start()
    if isinstance(norm, str):
        norm = (
            layer_norm_ball(norm, [shape for _, shape in start.shapes])
            if isinstance(start, Layers)
            else norm_ball(norm, start.shape)
        )
    return NormedProblem(problem, norm)


def _copy_start(start: Any) -> Floats:
    """Return a copy of a start point, a float64 array or `Layers`; raise if it is a number."""
    if isinstance(start, Mapping | Layers):
        return Layers.from_arrays(start if isinstance(start, Mapping) else start.layers)
    point = check_finite_array("start", start).copy()
    if not point.size or not np.ndim(start):
        raise InputError("start must be an array with an entry for each variable, not a number.")
    return point


def _make_feasible_set(lmo: Any, start: Floats, diameter: float | None) -> FeasibleSet:
    """Return the feasible set that `lmo` defines; raise if it does not contain the start."""
    if lmo is None:
        if start.ndim != 1:
            raise InputError("start must be a vector if there is no lmo: flatten it.")
        return WholeSpace(start.size)
    location = FunctionSet(lmo, start, diameter=diameter) if not hasattr(lmo, "lo") else lmo
    if not location.contains(start):
        raise InputError(
            "start is outside the set of lmo: use a vertex that lmo returns as start, and check "
            "that lmo minimises <g, v>."
        )
    return cast(FeasibleSet, location)


def _check_functions_at_start(problem: FunctionProblem, x: Floats) -> None:
    """Raise unless the user's functions return valid and consistent results at the start."""
    with blame_user_code("fun"):
        value = problem.value(x)
    check_real("f(start)", value)
    with blame_user_code("jac"):
        g = check_finite_array("the gradient at the start", problem.gradient(x), shape=x.shape)
    fw_gap(problem, State(x))
    if problem.n == 1 and problem.mean is None:
        return
    with blame_user_code("grad(x, indices) of components"):
        mean = problem.batch(np.arange(problem.n), x)
    mean = check_finite_array("the mean of component gradients", mean, shape=x.shape)
    size = float(np.abs(g).max()) + float(np.abs(mean).max())
    if float(np.abs(g - mean).max()) > 1e-6 * size:
        raise InputError(
            f"grad(x, indices) over all {problem.n} components differs from the gradient at the "
            "start: let grad return the mean over the indices, not the sum."
        )


# --- samplers -------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False, kw_only=True)
class FunctionSampler(SamplerWithKnownMean):
    """Sampler whose draws and gradients come from user functions; see `from_functions`."""

    name: ClassVar[str] = "functions"
    source: ClassVar[str] = "user-defined"

    draw_function: Callable[[np.random.Generator, int], Any]
    sample_gradient: Callable[[Any, Floats], Any]
    atoms: Atoms | None = None

    @property
    def user_functions(self) -> dict[str, Any]:
        """The user's function that each method calls."""
        own = {"draw": self.draw_function, "mean_gradient": self.sample_gradient}
        return {**getattr(self.inner, "user_functions", {}), **own}

    def draw(self, rng: np.random.Generator, size: int) -> Any:
        """Return `size` draws of the user's sampling function."""
        return self.draw_function(rng, size)

    def mean_gradient(self, values: Any, x: Any) -> Floats:
        """Return the mean gradient at x over the draws, computed by the user's function."""
        start = self.inner.start()
        g = self.sample_gradient(values, restore_layers(start, np.array(x)))
        return np.array(flatten_layers(start, g), dtype=np.float64)

    def constants(self, start: Any) -> Constants:
        """Return the constants that the user stated for the function."""
        return self.function_constants(start)


def sample_function(
    function: FiniteSum,
    draw: Callable[[np.random.Generator, int], Any],
    mean_gradient: Callable[[Any, Floats], Any],
    atoms: Atoms | None = None,
) -> FunctionSampler:
    """Return a sampler of `function` that calls `draw` and `mean_gradient`, after checking both.

    Raises
    ------
    InputError
        If equal seeds give different draws, a mean gradient is no finite array of a point's shape,
        or it differs between two calls with equal arguments.
    """
    sampler = FunctionSampler(
        inner=function, draw_function=draw, sample_gradient=mean_gradient, atoms=atoms
    )
    x = function.start()
    first, second, third = (_batch_gradient(sampler, seed, x) for seed in (0, 0, 1))
    for result in (first, third):
        check_finite_array("sample_grad(S, x)", result, shape=np.shape(x))
    if not np.array_equal(first, second):
        raise InputError(
            "sampler(rng, size) and sample_grad(S, x) give different gradients for equal seeds: "
            "draw from rng alone, and let sample_grad depend on S and x alone."
        )
    return sampler


def _batch_gradient(sampler: FunctionSampler, seed: int, x: Any) -> Floats:
    with blame_user_code("sampler(rng, size)"):
        S = sampler.sample(np.random.default_rng(seed), 3)
    with blame_user_code("sample_grad(S, x)"):
        return np.asarray(sampler.batch(S, x))
