"""The interfaces between the rooms: who answers, who asks, and what passes between them."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from pfbench.base.arrays import Floats
from pfbench.base.constants import Constants
from pfbench.base.sample import Indices
from pfbench.base.state import Point as Point
from pfbench.base.state import State as State

Gradient = npt.NDArray[np.float64]
"""A plain array in the problem's own order; for matrix recovery the observed entries."""


class Hessian(Protocol):
    """All component Hessians at one point, as linear operators."""

    def product(self, x: Point, y: Point) -> Gradient:
        """Return the mean Hessian times x - y."""

    def batch(self, sample: Indices, x: Point, y: Point) -> Gradient:
        """Return the mean of the sampled component Hessians times x - y."""


class Table(Protocol):
    """One stored gradient a_i for each component, in the most compact form the problem has."""

    @property
    def mean(self) -> Gradient:
        """The mean of all a_i."""

    def difference(self, sample: Indices, x: Point) -> Gradient:
        """Return the mean of grad f_i(x) - a_i over the sample."""

    def replace(self, sample: Indices, x: Point) -> Gradient:
        """As `difference`, then store grad f_i(x) as a_i, once for each distinct index."""


class OracleProtocol(Protocol):
    """The oracles."""

    def gradient(self, x: Point) -> Gradient:
        """Return the gradient of f at x; a recorded step of x is applied on the way."""

    def batch(self, sample: Indices, x: Point) -> Gradient:
        """Return the mean of the sampled component gradients at x."""

    def difference(self, sample: Indices, x: Point, y: Point) -> Gradient:
        """Return the mean of grad f_i(x) - grad f_i(y) over the sample."""

    def value(self, x: Point) -> float:
        """Return f(x); nothing is applied to x."""

    def lo(self, g: Any) -> Point:
        """Return a vertex of the set that minimises <g, v>."""

    def prox(self, x: Point, g: Any, lam: float) -> Point:
        """Return the proximal map of x - lam g."""

    def hessian(self, s: Point) -> Hessian:
        """Return all component Hessians at s."""

    def table(self, x: Point) -> Table:
        """Return a table filled with the component gradients at x."""

    def component_smoothness(self) -> Floats:
        """Return L_i for each component, shape (n,): the gradient of f_i is L_i-Lipschitz."""


class Backend(OracleProtocol, Protocol):
    """What answers the oracles during one run; it never counts and never knows who asks."""

    @property
    def n(self) -> int:
        """Number of components."""

    @property
    def unconstrained(self) -> bool:
        """Whether there is neither set nor penalty: prox is then x - lam g, and not counted."""


class PointFormat(Protocol):
    """What the points and gradients of a problem look like; see `pfbench.points.point_formats`."""

    @property
    def points_text(self) -> str:
        """What points are, in words."""

    @property
    def gradients_text(self) -> str:
        """What gradients are, in words."""

    def is_point(self, x: Any) -> bool:
        """Return whether x is a point of the problem's space."""

    def is_gradient(self, g: Any) -> bool:
        """Return whether g is a gradient there, or a tilted one."""

    def is_vertex(self, v: Any) -> bool:
        """Return whether v may be what a linear minimisation returns."""

    def describe(self, obj: Any) -> str:
        """Return what something is, in words."""


class FeasibleSet(Protocol):
    """A convex compact set, or the whole space."""

    @property
    def name(self) -> str:
        """As a selector writes it."""

    @property
    def has_projection(self) -> bool:
        """Whether `project` answers, or refuses."""

    @property
    def diameter(self) -> float:
        """Euclidean diameter."""

    def lo(self, g: Any) -> Point:
        """Return a vertex that minimises <g, v>."""

    def minimum(self, g: Any) -> tuple[float, float]:
        """Return certified lower and upper bounds of the minimum of <g, v> over the set."""

    def project(self, y: Any) -> Any:
        """Return the nearest point of the set."""

    def contains(self, x: Any, tolerance: float = 1e-9) -> bool:
        """Return whether x is in the set, up to a relative tolerance."""

    def random_vertex(self, rng: np.random.Generator) -> Point:
        """Return a random vertex."""

    def start(self) -> Point:
        """Return a fresh copy of the fixed start point: 0 where it is in the set, else a vertex."""


class Penalty(Protocol):
    """A convex penalty h >= 0 with an easy proximal map."""

    def value(self, x: Any) -> float:
        """Return h(x)."""

    def prox(self, y: Any, t: float) -> Any:
        """Return the minimiser of t h(x) + |x - y|^2/2."""


class Problem(Protocol):
    """A finite sum over a feasible set, with its constants; the same for every run.

    All derive from `pfbench.problems.base.FiniteSum`.
    """

    @property
    def name(self) -> str:
        """Its name, as a selector writes it."""

    @property
    def n(self) -> int:
        """Number of components."""

    @property
    def set(self) -> FeasibleSet:
        """The feasible set."""

    @property
    def penalty(self) -> Penalty | None:
        """The penalty h on the whole space, None for none."""

    @property
    def parameters(self) -> Mapping[str, Any]:
        """The parameters that define the problem, by name."""

    @property
    def digest(self) -> str:
        """A hash of the problem's data."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of a point."""

    @property
    def properties(self) -> frozenset[str]:
        """What is known of f, in the words of `pfbench.base.assumptions`."""

    @property
    def best_known(self) -> tuple[float, str] | None:
        """The least known value of f + h with where it comes from, None if none is known."""

    @property
    def lacks(self) -> Mapping[str, str]:
        """What the problem cannot offer, by what algorithms require, with the reason."""

    @property
    def unconstrained(self) -> bool:
        """Whether there is neither a set nor a penalty."""

    def start(self) -> Point:
        """Return a fresh copy of the fixed start point."""

    def constants(self, start: Point) -> Constants:
        """Return the constants, each with its derivation."""

    def open(self, rng: np.random.Generator) -> Backend:
        """Return a fresh backend for one run; `rng` is for its own approximate oracles."""

    def gradient(self, x: Point) -> Gradient:
        """Return the gradient of f at x, exactly."""

    def value(self, x: Point) -> float:
        """Return f(x)."""

    def minimum(self, g: Any) -> tuple[float, float]:
        """Return certified bounds of the minimum of <g, v> over the set."""

    def prox(self, x: Point, g: Any, lam: float) -> Point:
        """Return the exact projection of x - lam g; `Refused` where there is none."""

    def measures(self) -> "Mapping[str, Measure]":
        """Return the problem's own measures, by name."""


IntervalMeasure = tuple[float, float]
"""A certified interval [lower, upper] of a measure that is not computed exactly."""

Measure = Callable[[Problem, State], float | IntervalMeasure | None]
"""A function of problem and state that is never counted; None where it is not defined."""


class AlgorithmOracles(OracleProtocol, Protocol):
    """The oracles as an algorithm sees them."""

    n: int
    D: float


class Algorithm(Protocol):
    """A method with its parameters fixed."""

    name: ClassVar[str]
    requires: ClassVar[frozenset[str]]
    assumes: ClassVar[frozenset[str]]
    deterministic: ClassVar[bool]

    @property
    def output(self) -> str:
        """The declared output: last or uniform."""

    def run(self, ask: AlgorithmOracles, x: Point, rng: np.random.Generator) -> Iterator[State]:
        """Yield a state after each update, starting at x."""


@runtime_checkable
class AlgorithmSpec(Protocol):
    """An algorithm that still has to be resolved against a problem's constants."""

    @property
    def name(self) -> str:
        """Name of the algorithm."""

    @property
    def parameters(self) -> Mapping[str, Any]:
        """The parameters that were given, by name."""

    @property
    def schedule(self) -> str:
        """What they ask for: theory, practical or explicit."""

    @property
    def assumes(self) -> frozenset[str]:
        """What the theorem of the schedule assumes."""

    def resolve(self, constants: Constants) -> "tuple[Algorithm, str]":
        """Return the algorithm with its parameters fixed, and the name of its schedule."""
