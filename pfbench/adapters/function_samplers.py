"""Samplers that are defined by plain functions."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from pfbench.base.arrays import Floats
from pfbench.base.checks import check_finite_array
from pfbench.base.constants import Constants
from pfbench.base.errors import InputError
from pfbench.base.user_code import blame_user_code
from pfbench.points.layers import flatten_layers, restore_layers
from pfbench.problems.base import FiniteSum
from pfbench.problems.sampler import Atoms, SampledFunction


@dataclass(frozen=True, eq=False, kw_only=True)
class FunctionSampler(SampledFunction):
    """Sampler whose draws and gradients come from user functions; see `from_functions`."""

    name: ClassVar[str] = "functions"
    source: ClassVar[str] = "user-defined"

    draw_function: Callable[[np.random.Generator, int], Any]
    sample_gradient: Callable[[Any, Floats], Any]
    atoms: Atoms | None = None

    def draw(self, rng: np.random.Generator, size: int) -> Any:
        """Return `size` draws of the user's sampling function."""
        return self.draw_function(rng, size)

    def mean_gradient(self, values: Any, x: Any) -> Floats:
        """Return the user's mean gradient over the draws at x, as a new float64 array."""
        start = self.function.start()
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
    """Return a sampler of `function` with user functions, which are checked at the start point.

    Raises
    ------
    InputError
        If equal seeds give different draws, a mean gradient is no finite array of a point's shape,
        or it differs between two calls with equal arguments.
    """
    sampler = FunctionSampler(
        function=function, draw_function=draw, sample_gradient=mean_gradient, atoms=atoms
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
