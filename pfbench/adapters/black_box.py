"""Base class of algorithms that run an external solver on the counted oracles."""

from abc import abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import Any, ClassVar, cast

import numpy as np

from pfbench.algorithms.base import Algorithm
from pfbench.base.arrays import Floats
from pfbench.base.errors import BudgetExhausted, InputError, TimeLimitReached
from pfbench.base.function_methods import iterate_callback
from pfbench.base.protocols import AlgorithmOracles
from pfbench.base.sample import Indices
from pfbench.base.state import Point, State
from pfbench.points.layers import Layers, restore_layers
from pfbench.points.point_formats import describe

Tell = Callable[[Any], None]
"""Callback for a new iterate, a flat vector, which the callback copies."""


class FlatOracles:
    """Counted oracles of one run, which take points as flat vectors.

    Parameters
    ----------
    ask
        The oracles.
    x
        The start point, an array of any shape; its entries in C order are the flat vectors.

    Attributes
    ----------
    start
        The start point, shape (d,).
    n
        Number of components; None for a sampler.
    stop_requested
        Exception of the budget or the time limit that ended the run; None before. It is stored
        because a library may swallow the exception.

    Raises
    ------
    InputError
        If the points of the problem are not arrays.
    """

    def __init__(self, ask: AlgorithmOracles, x: Any) -> None:
        if not isinstance(x, np.ndarray):
            raise InputError(
                f"the start point is {describe(x)}, but optimisers of libraries other than pfbench "
                "take only arrays: choose a problem whose points are arrays."
            )
        self._ask, self._start = ask, x
        self.start: Floats = np.array(x).ravel()
        self.n: int = getattr(ask, "n", None)  # type: ignore[assignment]
        self.stop_requested: BaseException | None = None

    def point(self, z: Any) -> Floats:
        """Return the vector z as a new point: an array shaped like the start point, or `Layers`."""
        copy = np.array(z, dtype=np.float64).reshape(self._start.shape)
        return cast(Floats, restore_layers(self._start, copy))

    def layers(self, z: Any) -> list[Floats]:
        """Return a flat vector as new arrays: one for each layer, or one if there are no layers."""
        point = self.point(z)
        return list(point.layers.values()) if isinstance(point, Layers) else [point]

    def value(self, z: Any) -> float:
        """Return f(z), and count n evaluations: one for each component of f."""
        return float(self._query(self._ask.value, self.point(z)))

    def gradient(self, z: Any) -> Floats:
        """Return the gradient of f at z, shape (d,); count it and its n component gradients."""
        return self._query_and_flatten(self._ask.gradient, self.point(z))

    def sample(self, rng: np.random.Generator, size: int) -> Any:
        """Return `size` independent draws for `batch`, without counting oracle calls."""
        return self._ask.sample(rng, size)

    def batch(self, sample: Indices, z: Any) -> Floats:
        """Return the mean of the sampled component gradients at z; count each sampled gradient."""
        return self._query_and_flatten(self._ask.batch, sample, self.point(z))

    def lo(self, g: Any) -> Floats:
        """Return a vertex v that minimises <g, v>, shape (d,); count one linear minimisation."""
        v = self._query(self._ask.lo, self.point(g))
        return np.asarray(v if isinstance(v, np.ndarray) else v.matrix()).ravel()

    def lmo(self, u: Any, z: Any, active_set: Any = None) -> tuple[Floats, None, None, float]:
        """Return (v - z, None, None, 1), as copt expects; the vertex v maximises <u, v>."""
        return self.lo(-np.asarray(u)) - z, None, None, 1.0

    def prox(self, z: Any, lam: float) -> Floats:
        """Return the proximal map of `lam` times the penalty at z, or the projection of z."""
        y = self.point(z)
        return self._query_and_flatten(self._ask.prox, y, np.zeros_like(y), float(lam))

    def _query_and_flatten(self, verb: Callable[..., Any], *args: Any) -> Floats:
        return np.asarray(self._query(verb, *args)).ravel()

    def _query(self, verb: Callable[..., Any], *args: Any) -> Any:
        try:
            return verb(*args)
        except (BudgetExhausted, TimeLimitReached) as error:
            self.stop_requested = error
            raise


@dataclass(frozen=True, kw_only=True)
class BlackBox(Algorithm):
    """Base class of algorithms that run a solver of another library, which calls the oracles.

    The solver reports each iterate by a callback. A subclass defines `minimise`, its parameters as
    fields, and the attributes of an algorithm, such as `requires`. pfbench counts the oracle calls
    outside the solver. A budget stops the solver before the call that would exceed it.

    Attributes
    ----------
    libraries
        Packages whose code the solver runs; a stored run is reused only with the same versions.
    """

    libraries: ClassVar[tuple[str, ...]] = ()

    @abstractmethod
    def minimise(self, oracles: FlatOracles, tell: Tell, rng: np.random.Generator) -> Floats | None:
        """Run the solver from `oracles.start`, and report each iterate by calling `tell`.

        Parameters
        ----------
        oracles
            The oracles, as functions of flat vectors.
        tell
            Callback for each new iterate.
        rng
            Random generator for all draws.

        Returns
        -------
        Floats or None
            The solution, which becomes one more iterate unless it equals the last reported one.
            None if all iterates are reported.
        """

    def run(self, ask: AlgorithmOracles, x: Point, rng: np.random.Generator) -> Iterator[State]:
        """Yield a state for each iterate that the solver reports.

        The solver is suspended between two iterates.
        """
        plain = FlatOracles(ask, x)

        def work(hand_over: Callable[[State], None]) -> None:
            last: list[Floats] = []

            def tell(z: Any) -> None:
                last[:] = [plain.point(z)]
                hand_over(State(last[0]))

            solution = self.minimise(plain, tell, rng)
            if plain.stop_requested is not None:  # and was swallowed
                raise plain.stop_requested
            if solution is not None and not (
                last and np.array_equal(last[0], plain.point(solution))
            ):
                tell(solution)

        return iterate_callback(work)


def import_optional_library(name: str, extra: str = "") -> Any:
    """Import and return a module of an optional library; raise an error if it is missing.

    The error names the extra of pfbench that installs the library.

    Raises
    ------
    InputError
        If the library is not installed.
    """
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        package = name.partition(".")[0]
        package = {"sklearn": "scikit-learn"}.get(package, package)
        raise InputError(
            f"{package} is not installed: install it with pip install {extra or package}."
        ) from error
