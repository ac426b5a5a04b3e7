"""Samplers: problems whose objective is an expectation, f(x) = E f(x, xi), without components.

A method draws by ``ask.sample(rng, size)`` and queries `batch` and `difference` at the draws. The
exact f and its gradient serve the measures; a method that queries them is refused.
"""

from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from pfbench.base.arrays import Floats
from pfbench.base.checks import brief_repr
from pfbench.base.constants import Constants
from pfbench.base.errors import InputError
from pfbench.base.parameters import DelegatedAttribute
from pfbench.base.protocols import FeasibleSet, Gradient, Measure
from pfbench.base.sample import Draws, Indices
from pfbench.problems.base import FiniteSum
from pfbench.sets.norms import NormBall

_REASON = "it is a sampler: f is an expectation, of which samples alone can be queried"


class Atoms(NamedTuple):
    """Finite distribution of xi: all values, in the form of a draw, and their probabilities."""

    values: Any
    probabilities: Floats


class Sampler(FiniteSum):
    """Problem f(x) = E f(x, xi); it has no n.

    A subclass defines `draw`, `mean_gradient`, `value`, `gradient`, `set` and `constants`. The
    value and the gradient are exact and serve the measures alone.

    Attributes
    ----------
    atoms
        The distribution of xi where it is finite, else None.
    """

    n: ClassVar[None] = None  # type: ignore[assignment]
    atoms: Atoms | None = None

    @abstractmethod
    def draw(self, rng: np.random.Generator, size: int) -> Any:
        """Return `size` independent draws of xi, by `rng` alone, in a form of the problem's own."""

    @abstractmethod
    def mean_gradient(self, values: Any, x: Any) -> Gradient:
        """Return the mean of grad f(x, xi) over draws; it depends on the two arguments alone."""

    def sample(self, rng: np.random.Generator, size: int) -> Draws:
        """Return `size` independent draws of xi; nothing is counted."""
        if isinstance(size, bool) or not isinstance(size, int | np.integer) or size < 1:
            raise InputError(f"size={brief_repr(size)} of ask.sample must be a positive integer.")
        return Draws(self.draw(rng, int(size)), int(size))

    def batch(self, sample: Indices, x: Any) -> Gradient:
        """Return the mean of grad f(x, xi) over what `sample` returned.

        Raises
        ------
        InputError
            If it is anything else, such as indices.
        """
        if not isinstance(sample, Draws):
            raise InputError(
                f"{self.name} is a sampler: batch and difference take what ask.sample(rng, size) "
                "returned, not indices."
            )
        return self.mean_gradient(sample.values, x)

    def _missing_function_oracles(self) -> dict[str, str]:
        verbs = ("gradient", "value", "table", "hessian", "component_smoothness")
        return dict.fromkeys(verbs, _REASON)


# --- a function whose samples are drawn -----------------------------------------------------------


@dataclass(frozen=True, eq=False, kw_only=True)
class SampledFunction(Sampler):
    """Sampler of a function whose exact value and gradient are those of a problem.

    Attributes
    ----------
    function
        f, with its set, start, constants and measures: a problem of one component.
    """

    function: FiniteSum

    set = DelegatedAttribute[FeasibleSet]("function")
    properties = DelegatedAttribute[frozenset[str]]("function")
    best_known = DelegatedAttribute[tuple[float, str] | None]("function")
    start = DelegatedAttribute[Callable[[], Any]]("function")
    measures = DelegatedAttribute[Callable[[], Mapping[str, Measure]]]("function")

    def value(self, x: Any) -> float:
        """Return f(x)."""
        return self.function.value(x)

    def gradient(self, x: Any) -> Gradient:
        """Return the gradient at x, exactly."""
        return self.function.gradient(x)

    def smoothness_in_norm(self, norm: NormBall) -> tuple[float, str] | None:
        """Return the bound of L_norm of the function; see `FiniteSum`."""
        return self.function.smoothness_in_norm(norm)

    def function_constants(self, start: Any, *names: str, **further: Any) -> Constants:
        """Return the function's constants of these names, by default all but n, and `further`."""
        constants = self.function.constants(start)
        chosen = names or [name for name in constants.derivations if name != "n"]
        selected = {
            n: (getattr(constants, n), constants.derivations[n])
            for n in chosen
            if n in constants.derivations
        }
        return Constants.from_derivations(**selected | further)
