"""Interfaces between the subpackages, and the assumptions of theorems.

Algorithms declare `assumes` and problems state `properties`; both use the names in `ASSUMPTIONS`.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from pfbench.base.arrays import Floats, LowerUpper
from pfbench.base.constants import Constants
from pfbench.base.sample import Indices
from pfbench.base.state import Point as Point
from pfbench.base.state import State as State

Gradient = npt.NDArray[np.float64]
"""Array in the problem's own order; for matrix recovery the observed entries."""


class Hessian(Protocol):
    """All component Hessians at one point, as linear operators."""

    def product(self, x: Point, y: Point) -> Gradient:
        """Return the mean Hessian times x - y."""

    def batch(self, sample: Indices, x: Point, y: Point) -> Gradient:
        """Return the mean of the sampled component Hessians times x - y."""


class Table(Protocol):
    """Table of stored gradients a_i, one for each component, in the problem's most compact form."""

    @property
    def mean(self) -> Gradient:
        """Mean of all stored gradients a_i."""

    def difference(self, sample: Indices, x: Point) -> Gradient:
        """Return the mean of grad f_i(x) - a_i over the sample, for the stored gradients a_i."""

    def replace(self, sample: Indices, x: Point) -> Gradient:
        """Return `difference(sample, x)`, then set a_i = grad f_i(x) for each i in the sample."""


class OracleProtocol(Protocol):
    """Interface of the oracles of a problem."""

    def gradient(self, x: Point) -> Gradient:
        """Return the gradient of f at x; for a factored matrix x, apply its recorded step first."""

    def batch(self, sample: Indices, x: Point) -> Gradient:
        """Return the mean of the sampled component gradients at x."""

    def difference(self, sample: Indices, x: Point, y: Point) -> Gradient:
        """Return the mean of grad f_i(x) - grad f_i(y) over the sample."""

    def value(self, x: Point) -> float:
        """Return f(x), without applying the recorded step of a factored matrix x."""

    def lo(self, g: Any) -> Point:
        """Return a vertex of the set that minimises <g, v>."""

    def prox(self, x: Point, g: Any, lam: float) -> Point:
        """Return the proximal map of the penalty, or the projection, at x - lam g."""

    def local_lo(self, x: Point, g: Any, radius: float) -> Point:
        """Return a point z of the set with |z - x| <= radius that minimises <g, z>."""

    def hessian(self, s: Point) -> Hessian:
        """Return all component Hessians at s."""

    def table(self, x: Point) -> Table:
        """Return a table filled with the component gradients at x."""

    def sample(self, rng: np.random.Generator, size: int) -> Any:
        """Return `size` independent draws, as component indices or `Draws` of a sampler."""

    def component_smoothness(self) -> Floats:
        """Return the smoothness L_i of each component: grad f_i is L_i-Lipschitz."""


class Backend(OracleProtocol, Protocol):
    """Interface of a problem's oracles for one run, which the counting oracles call."""

    @property
    def n(self) -> int:
        """Number of components; None for a sampler, which has no components."""

    @property
    def unconstrained(self) -> bool:
        """Whether the problem has neither set nor penalty, so that `prox` is not counted."""


class FeasibleSet(Protocol):
    """Interface of a convex compact set, or the whole space."""

    @property
    def name(self) -> str:
        """Name of the set in selectors, e.g. l1."""

    @property
    def has_projection(self) -> bool:
        """Whether the method `project` is available."""

    @property
    def diameter(self) -> float:
        """Euclidean diameter of the set."""

    def lo(self, g: Any) -> Point:
        """Return a vertex v that minimises <g, v>."""

    def minimum(self, g: Any) -> LowerUpper:
        """Return certified lower and upper bounds of the minimum of <g, v> over v in the set."""

    def project(self, y: Any) -> Any:
        """Return the point of the set that is nearest to y."""

    def contains(self, x: Any, tolerance: float = 1e-9) -> bool:
        """Return whether x is in the set, up to a relative tolerance."""

    def random_vertex(self, rng: np.random.Generator) -> Point:
        """Return a random vertex of the set."""

    def start(self) -> Point:
        """Return a fresh copy of the start point: 0 if it is in the set, else a fixed vertex."""


class Problem(Protocol):
    """Finite sum over a feasible set, with its constants; several runs may share one object.

    The base class of all problems is `pfbench.problems.base.FiniteSum`.
    """

    @property
    def name(self) -> str:
        """Name of the problem in selectors."""

    @property
    def n(self) -> int:
        """Number of components; None for a sampler."""

    @property
    def set(self) -> FeasibleSet:
        """Feasible set of the problem."""

    @property
    def penalty(self) -> Any:
        """Penalty h on the whole space; None if there is none."""

    @property
    def parameters(self) -> Mapping[str, Any]:
        """Parameters that define the problem, by name."""

    @property
    def digest(self) -> str:
        """Hash of the problem's data."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of a point."""

    @property
    def properties(self) -> frozenset[str]:
        """Known properties of f, by the names of `pfbench.base.protocols.ASSUMPTIONS`."""

    @property
    def best_known(self) -> tuple[float, str] | None:
        """Best known value of f + h, and its origin; None if none is known."""

    @property
    def lacks(self) -> Mapping[str, str]:
        """Reasons why the problem cannot meet certain requirements, by name of the requirement."""

    @property
    def unconstrained(self) -> bool:
        """Whether there is neither a set nor a penalty."""

    def start(self) -> Point:
        """Return a fresh copy of the fixed start point of the problem."""

    def constants(self, start: Point) -> Constants:
        """Return the constants of the problem for a start point, with their derivations."""

    def open(self, rng: np.random.Generator) -> Backend:
        """Return a fresh backend for one run; its approximate oracles draw from `rng`."""

    def gradient(self, x: Point) -> Gradient:
        """Return the exact gradient of f at x."""

    def value(self, x: Point) -> float:
        """Return f(x)."""

    def minimum(self, g: Any) -> LowerUpper:
        """Return certified bounds of the minimum of <g, v> over v in the feasible set."""

    def prox(self, x: Point, g: Any, lam: float) -> Point:
        """Return the exact proximal point of x - lam g; raise `RefusedError` if none."""

    def measures(self) -> "Mapping[str, Measure]":
        """Return the measures that are special to this problem, by name."""


IntervalMeasure = tuple[float, float]
"""Certified interval [lower, upper] of a measure that is not computed exactly."""

Measure = Callable[[Problem, State], float | IntervalMeasure | None]
"""Function of problem and state whose work is not counted; None where it is not defined."""


class AlgorithmOracles(OracleProtocol, Protocol):
    """Interface of the oracles that an algorithm can query."""

    n: int
    D: float


class Algorithm(Protocol):
    """Interface of a method with fixed parameters."""

    name: ClassVar[str]
    requires: ClassVar[frozenset[str]]
    assumes: ClassVar[frozenset[str]]
    deterministic: ClassVar[bool]

    @property
    def output(self) -> str:
        """Rule for the output, e.g. "last" or "uniform"."""

    def run(self, ask: AlgorithmOracles, x: Point, rng: np.random.Generator) -> Iterator[State]:
        """Yield a state after each update, starting at x."""


@runtime_checkable
class AlgorithmSpec(Protocol):
    """Interface of an algorithm whose parameters do not yet depend on a problem's constants."""

    @property
    def name(self) -> str:
        """Name of the algorithm."""

    @property
    def parameters(self) -> Mapping[str, Any]:
        """Parameters that are given explicitly, by name."""

    @property
    def schedule(self) -> str:
        """Requested schedule: "theory", "practical" or "explicit"."""

    @property
    def assumes(self) -> frozenset[str]:
        """Names of the assumptions of the schedule's theorem."""

    def resolve(self, constants: Constants) -> "tuple[Algorithm, str]":
        """Return the algorithm with parameters for these constants, and its schedule's name."""


ASSUMPTIONS: Mapping[str, str] = MappingProxyType(
    {
        "bounded domain": "the feasible set is compact, so that every proximal map lies in a ball",
        "convex": "f is convex",
        "restricted strong convexity": (
            "f grows quadratically along the directions that the penalty or the radius leaves, "
            "with sigma_hat > 0 (li2019)"
        ),
    }
)
"""Meaning of each assumption, by name."""


def list_known_assumptions(problem: Problem) -> frozenset[str]:
    """Return the assumptions known to hold: the problem's `properties` and those of its set."""
    properties = problem.properties
    return properties | {"bounded domain"} if math.isfinite(problem.set.diameter) else properties


def unmet_assumptions(assumes: Iterable[str], problem: Problem) -> tuple[str, ...]:
    """Return the assumptions that a problem is not known to meet, in alphabetical order.

    If nothing is assumed, the properties of the problem, which may be costly, are not computed.
    """
    needed = frozenset(assumes)
    return tuple(sorted(needed - list_known_assumptions(problem))) if needed else ()
