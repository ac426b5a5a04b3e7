"""Base class of algorithms that run an external solver on counted oracle functions."""

from abc import abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import Any, ClassVar

import numpy as np

from pfbench.adapters.flat_oracles import FlatOracles
from pfbench.algorithms.base import Algorithm
from pfbench.base.arrays import Floats
from pfbench.base.errors import InputError
from pfbench.base.function_methods import iterate_callback
from pfbench.base.protocols import AlgorithmOracles
from pfbench.base.state import Point, State

Tell = Callable[[Any], None]
"""Callback for a new iterate, a flat vector, which it copies."""


@dataclass(frozen=True, kw_only=True)
class BlackBox(Algorithm):
    """Solver that receives oracles as functions, and reports each iterate by a callback.

    A subclass defines `minimise`, its parameters as fields, and the attributes of an algorithm,
    such as `requires`. Calls are counted outside the solver. A budget stops the solver before the
    call that would exceed the budget.

    Attributes
    ----------
    libraries
        Packages whose code the solver runs; a stored run is reused only with the same versions.
    """

    libraries: ClassVar[tuple[str, ...]] = ()

    @abstractmethod
    def minimise(self, oracles: FlatOracles, tell: Tell, rng: np.random.Generator) -> Floats | None:
        """Run the solver from `oracles.start`.

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
        """Yield a state for each iterate that the solver reports; the solver waits meanwhile."""
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
    """Import a module of an optional library.

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
