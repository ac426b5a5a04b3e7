"""Base class of problems: a finite sum over a set, or with a penalty.

A problem defines `n`, `set`, `value` and `gradient`, and component gradients if n > 1. The base
class derives the other oracles from these. `lacks` states why an oracle is missing.
"""

import hashlib
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from copy import copy
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from pfbench.base.arrays import Floats, Integers, LowerUpper, chunk_slices
from pfbench.base.constants import Constants
from pfbench.base.errors import InputError, RefusedError
from pfbench.base.protocols import Backend, FeasibleSet, Gradient, Hessian, Measure, Table
from pfbench.base.sample import IndexSampling, Indices, weight_indices
from pfbench.base.selectors import Selector, replace_file_by_module
from pfbench.base.state import Point
from pfbench.problems.moments import OF_NORMS, unmet_norm_requirement_reasons
from pfbench.sets.body import minimise_locally
from pfbench.sets.norms import NormBall

if TYPE_CHECKING:
    from pfbench.sets.penalties import NormPenalty

    overridable_property = property
else:

    class overridable_property:  # noqa: N801
        """Property that an attribute of the instance can override."""

        def __init__(self, function: Callable[[Any], Any]) -> None:
            self._function, self.__doc__ = function, function.__doc__

        def __get__(self, owner: Any, cls: type | None = None) -> Any:
            return self if owner is None else self._function(owner)


class FiniteSum(IndexSampling, ABC):
    """Finite sum f = (1/n) sum_i f_i over a feasible set, or over the whole space with a penalty.

    A problem is immutable. By default, `open` returns the problem itself, because its oracles are
    exact and have no state.

    Attributes
    ----------
    name
        Name in selectors.
    source
        Reference for the problem.
    n
        Number of components.
    set
        The feasible set; `WholeSpace` for none.
    penalty
        The penalty h on the whole space, None for none; excludes a set.
    norm
        Ball of a norm, None for none. Without a set `lo` minimises over this ball and returns 0
        wherever the gradient does not determine the minimiser.
    properties
        Known properties of f, by the names of `pfbench.base.protocols.ASSUMPTIONS`.
    best_known
        Best known value of f + h with its origin, None if none is known.
    parameters
        Parameters that define the problem, by name; see `with_selector`.
    """

    name: ClassVar[str] = "own"
    source: ClassVar[str] = "user-defined"

    if TYPE_CHECKING:  # a subclass has them as fields, attributes or properties

        @property
        @abstractmethod
        def n(self) -> int:
            """Number of components."""

        @property
        @abstractmethod
        def set(self) -> FeasibleSet:
            """Feasible set; `WholeSpace` for an unconstrained problem."""

        @property
        def penalty(self) -> NormPenalty | None:
            """Penalty h that is added to f on the whole space, or None."""
            return None

        @property
        def norm(self) -> NormBall | None:
            """Ball of the norm in which the problem measures gradients; None without a norm."""
            return None

        @property
        def properties(self) -> frozenset[str]:
            """Names of the known properties of f, from `pfbench.base.protocols.ASSUMPTIONS`."""
            return frozenset()

        @property
        def best_known(self) -> tuple[float, str] | None:
            """Best known value of f + h and its origin as text; None if no value is known."""
            return None

        @property
        def parameters(self) -> Mapping[str, Any]:
            """Parameters of the selector that builds the problem, by name."""
            return {}

    else:
        penalty = norm = best_known = None
        properties = frozenset()
        parameters = MappingProxyType({})

    def __init_subclass__(cls, **further: Any) -> None:
        """Keep the `__repr__` of this class in subclasses that are dataclasses.

        The generated one would print all arrays.
        """
        cls.__repr__ = vars(cls).get("__repr__", FiniteSum.__repr__)  # type: ignore[method-assign]

    def __repr__(self) -> str:
        """Return the problem's selector and its number of components as text."""
        size = "a sampler" if self.n is None else f"n={self.n}"
        return f"<{type(self).__name__} {Selector(self.name, self.parameters)}, {size}>"

    def with_selector(self, name: str, parameters: Mapping[str, Any]) -> Self:
        """Return a copy of this problem that stores the name and parameters that build it."""
        twin = copy(self)
        vars(twin).update(name=name, parameters=MappingProxyType(dict(parameters)))
        return twin

    @overridable_property
    def digest(self) -> str:
        """Hash that identifies the problem's data in stored runs.

        This default hashes the name and the parameters, so they and the module's source must
        determine the data. A problem that reads other data overrides it.
        """
        existing = (
            type(self).__qualname__,
            replace_file_by_module(self.name),
            sorted(self.parameters.items()),
        )
        return content_digest(existing)

    @overridable_property
    def shape(self) -> tuple[int, ...]:
        """Shape of a point."""
        return tuple(self.start().shape)

    @overridable_property
    def is_bounded(self) -> bool:
        """Whether the feasible set is bounded; false for the whole space."""
        return math.isfinite(self.set.diameter)

    @overridable_property
    def unconstrained(self) -> bool:
        """Whether the problem has neither a feasible set nor a penalty."""
        return self.penalty is None and not self.is_bounded

    @overridable_property
    def lacks(self) -> Mapping[str, str]:
        """Reason for each requirement that the problem does not meet, keyed by the requirement."""
        lacks: dict[str, str] = {}
        if self.is_bounded:
            lacks["smooth"] = "it has a feasible set"
            if not self.set.has_projection:
                lacks |= dict.fromkeys(
                    ("prox", "local_lo"),
                    f"there is no projection onto the set {self.set.name} of points of shape "
                    f"{self.shape}",
                )
        elif self.penalty is not None:
            reason = "it has a penalty and no feasible set"
            lacks |= {"smooth": "it has a penalty"}
            lacks |= dict.fromkeys(("lo", "local_lo", "set"), reason)
        elif self.norm is not None:
            lacks["set"] = "it has no feasible set"
        else:
            lacks |= dict.fromkeys(("lo", "set"), "it has no feasible set")
        if "set" in lacks:
            lacks["polytope"] = lacks["set"]
        elif not getattr(self.set, "polytope", False):
            lacks["polytope"] = f"the set {self.set.name} is not a polytope"
        return lacks | unmet_norm_requirement_reasons(self) | self._missing_function_oracles()

    def _missing_function_oracles(self) -> dict[str, str]:
        """Return the reason for each missing oracle of f, by the name of the oracle."""
        lacks: dict[str, str] = {}
        if self.n > 1 and not (self._overrides_verb("batch") or self._overrides_verb("component")):
            reason = "it defines neither component(i, x) nor batch(sample, x)"
            lacks |= dict.fromkeys(("batch", "difference", "table"), reason)
        if not self._overrides_verb("hessian"):
            lacks["hessian"] = "it defines no Hessians"
        if not self._overrides_verb("component_smoothness"):
            lacks["component_smoothness"] = (
                "it defines no L_i, the smoothness of each component, which sampling=importance "
                "needs"
            )
        return lacks

    def _overrides_verb(self, verb: str) -> bool:
        """Return whether the subclass overrides the oracle method named `verb`."""
        return getattr(type(self), verb) is not getattr(FiniteSum, verb)

    def start(self) -> Any:
        """Return a new copy of the start point, which is by default that of the feasible set."""
        return self.set.start()

    def constants(self, start: Any) -> Constants:
        """Return constants with derivations; by default only n and the set's diameter D."""
        return Constants.from_derivations(
            n=(self.n, "stated by the problem"), D=(self.set.diameter, "diameter of its set")
        )

    def smoothness_in_norm(self, norm: NormBall) -> tuple[float, str] | None:
        """Return an upper bound of the smoothness of f in `norm`, and its derivation as text.

        The default returns None: no bound sharper than the one from L_f is known.
        """
        return None

    def measures(self) -> Mapping[str, Measure]:
        """Return the additional measures of the problem by name; by default those of its norm."""
        return {} if self.norm is None else OF_NORMS

    def open(self, rng: np.random.Generator) -> Backend:
        """Return the object that answers one run's oracle calls; by default the problem itself.

        Approximate oracles draw their random numbers from `rng`; see `BackendWithStatefulLmo`.
        """
        return self

    # --- the function -----------------------------------------------------------------------------

    @abstractmethod
    def value(self, x: Any) -> float:
        """Return f(x)."""

    @abstractmethod
    def gradient(self, x: Any) -> Gradient:
        """Return the exact gradient of f at x."""

    def component(self, i: int, x: Any) -> Gradient:
        """Return the gradient of the component f_i at x."""
        if self._overrides_verb("batch"):
            return self.batch(np.array([i]), x)
        if self.n > 1:
            raise RefusedError(f"{self.name} has no component gradients: {self.lacks['batch']}.")
        return self.gradient(x)

    def batch(self, sample: Indices, x: Any) -> Gradient:
        """Return the mean of the sampled component gradients at x."""
        indices, weights = index_weights(sample, self.n)
        if self.n == 1:
            return self.gradient(x)
        pairs = zip(indices.tolist(), weights.tolist(), strict=True)
        return np.asarray(sum(weight * self.component(i, x) for i, weight in pairs))

    def hessian(self, s: Any) -> Hessian:
        """Return the Hessians of all components at s; the default implementation raises."""
        raise RefusedError(f"{self.name} offers no Hessians: define hessian(s).")

    def table(self, x: Any) -> Table:
        """Return a SAGA table that stores the gradient of every component at x."""
        return GradientSagaTable(self, x)

    def component_smoothness(self) -> Floats:
        """Return the smoothness L_i of each component, shape (n,); the default raises.

        The gradient of f_i is L_i-Lipschitz. The constant `L_mean` is the mean of the L_i.
        """
        raise RefusedError(f"{self.name} defines no L_i, the smoothness of each component.")

    # --- the set ----------------------------------------------------------------------------------

    def lo(self, g: Any) -> Point:
        """Return a vertex v of the set that minimises <g, v>; raise if there is no set.

        For a problem with a norm and no set, the minimisation is over the ball of the norm.
        """
        if self.norm is not None and not self.is_bounded:
            return self.norm.lo_zero_if_undetermined(g)
        return self.set.lo(g)

    def minimum(self, g: Any) -> LowerUpper:
        """Return certified lower and upper bounds of min <g, v> over the set that `lo` searches."""
        if self.norm is not None and not self.is_bounded:
            return self.norm.minimum(g)
        return self.set.minimum(g)

    def prox(self, x: Any, g: Any, lam: float) -> Any:
        """Return the projection of x - lam g onto the set or, for a penalty, its proximal map."""
        y = x - lam * g
        return self.set.project(y) if self.penalty is None else self.penalty.prox(y, lam)

    def local_lo(self, x: Any, g: Any, radius: float) -> Any:
        """Return a point z of the set with |z - x| <= radius that minimises <g, z>."""
        return minimise_locally(self.set, x, g, radius)


def check_dense_point(x: Any, shape: tuple[int, ...]) -> Floats:
    """Return x, or raise unless it is an array of this shape.

    Compiled loops do not check shapes.
    """
    if not isinstance(x, np.ndarray) or x.shape != shape:
        actual = x.shape if isinstance(x, np.ndarray) else type(x).__name__
        raise InputError(f"a point must be an array of shape {shape}, not {actual}.")
    return x


def content_digest(numbers: object, *arrays: npt.NDArray[Any] | Iterable[npt.NDArray[Any]]) -> str:
    """Return the SHA-256 of the text of `numbers` and the little-endian bytes of the arrays.

    An array may be passed as one array or in chunks.
    """
    digest = hashlib.sha256(repr(numbers).encode())
    for array in arrays:
        for part in (array,) if isinstance(array, np.ndarray) else array:
            digest.update(np.ascontiguousarray(part, part.dtype.newbyteorder("<")).data)
    return digest.hexdigest()


def iterate_chunks(array: npt.ArrayLike, dtype: npt.DTypeLike) -> Iterator[npt.NDArray[Any]]:
    """Yield consecutive chunks of a vector, each converted to `dtype`."""
    complete = np.asarray(array)
    return (np.asarray(complete[part], dtype=dtype) for part in chunk_slices(complete.size))


def index_weights(sample: Indices, n: int) -> tuple[Integers, Floats]:
    """Return the indices of a sample and their weights; raise IndexError for an index >= n."""
    indices, weights = weight_indices(sample)
    if indices.min() < 0 or indices.max() >= n:
        raise IndexError("a sampled component index is outside 0 .. n - 1")
    return indices, weights


class ComponentHessiansAtPoint:
    """Hessians of the n components at one point s; the methods return their products with x - y.

    Parameters
    ----------
    applied
        Function of a sample (None for all components) and u; returns the mean component Hessian
        times u.
    """

    def __init__(self, applied: Callable[[Indices | None, Any], Gradient]) -> None:
        self._apply = applied

    def product(self, x: Any, y: Any) -> Gradient:
        """Return the mean Hessian of all components, times x - y."""
        return self._apply(None, x - y)

    def batch(self, sample: Indices, x: Any, y: Any) -> Gradient:
        """Return the mean Hessian of the sampled components, times x - y."""
        return self._apply(sample, x - y)


class ConstantHessians(FiniteSum):
    """Base class of sums of quadratics: the Hessian of each f_i is the same at every point."""

    @abstractmethod
    def apply_mean_hessian(self, sample: Indices | None, u: Any) -> Gradient:
        """Return the mean Hessian of the sampled components (None: of all), times u."""

    def difference(self, sample: Indices, x: Any, y: Any) -> Gradient:
        """Return the mean of grad f_i(x) - grad f_i(y) over the sample.

        It is computed as the mean Hessian of the sample times x - y.
        """
        return self.apply_mean_hessian(sample, x - y)

    def hessian(self, s: Any) -> ComponentHessiansAtPoint:
        """Return the component Hessians; they are equal at all points, so s is not used."""
        return ComponentHessiansAtPoint(self.apply_mean_hessian)


class BackendWithStatefulLmo:
    """Oracles of one run whose linear minimisation keeps a state between calls (a warm start).

    Parameters
    ----------
    problem
        Source of all answers but `lo`.
    lo
        Returns a vertex that minimises <g, v>, possibly warm-started.
    """

    def __init__(self, problem: FiniteSum, lo: Callable[[Any], Point]) -> None:
        self.n, self.unconstrained = problem.n, problem.unconstrained
        self.gradient, self.value, self.prox = problem.gradient, problem.value, problem.prox
        self.batch, self.difference = problem.batch, problem.difference
        self.hessian, self.table, self.local_lo = problem.hessian, problem.table, problem.local_lo
        self.component_smoothness, self.sample = problem.component_smoothness, problem.sample
        self.lo = lo


class GradientSagaTable:
    """SAGA table of full gradients: one array of a point's shape for each component."""

    def __init__(self, problem: FiniteSum, x: Any) -> None:
        self._problem = problem
        self._gradients = np.array([problem.component(i, x) for i in range(problem.n)])
        self.mean: Gradient = self._gradients.mean(axis=0)

    def difference(self, sample: Indices, x: Any) -> Gradient:
        """Return the mean over the sample of (grad f_i(x) - stored gradient of f_i)."""
        fresh = self._problem.batch(sample, x)
        if self._problem.n == 1:
            return np.asarray(fresh - self._gradients[0])
        indices, weights = weight_indices(sample)
        return np.asarray(fresh - np.tensordot(weights, self._gradients[indices], axes=1))

    def replace(self, sample: Indices, x: Any) -> Gradient:
        """Return `difference(sample, x)`, then store grad f_i(x) for each sampled component i."""
        change = self.difference(sample, x)
        for i in np.unique(weight_indices(sample)[0]).tolist():
            self._gradients[i] = self._problem.component(i, x)
        self.mean = self._gradients.mean(axis=0)
        return change


MOST_ENTRIES = 10**8
"""Maximum number of entries of a point, or of a matrix that a problem draws: 800 MB."""


def check_entry_count(subject: str, entries: int) -> None:
    """Raise InputError if an array would have more than `MOST_ENTRIES` entries."""
    if entries > MOST_ENTRIES:
        raise InputError(
            f"{subject} would have {entries:,} entries, more than {MOST_ENTRIES:,}: lower its "
            "sizes."
        )
