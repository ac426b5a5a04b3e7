"""Quadratics with a norm, on which bounds of methods with norm balls are nearly attained."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from pfbench.problems.additive_noise import SeparableQuadratic
from pfbench.problems.with_norm import NormedProblem
from pfbench.sets.named_norms import norm_ball
from pfbench.sets.whole_space import WholeSpace


def vector_quadratic(
    norm: str,
    *,
    weights: Sequence[float],
    begin: Sequence[float],
    noise: Sequence[Sequence[float]] = (),
) -> NormedProblem:
    """Return sum h_j x_j^2/2 with a norm; component i has the further term <s_i, x>.

    Parameters
    ----------
    norm
        Name of the norm, as in the parameter ``norm=`` of a problem.
    weights
        The h_j.
    begin
        The start.
    noise
        The s_i; none if not given.
    """
    d = len(weights)
    rows = np.asarray(noise, dtype=np.float64) if len(noise) else np.zeros((1, d))
    problem = SeparableQuadratic(
        set=WholeSpace(d),
        start_point=np.asarray(begin, dtype=np.float64),
        noise=rows,
        weights=np.asarray(weights, dtype=np.float64),
    )
    return NormedProblem(problem, norm_ball(norm, (d,)))


class HorizonProblem(NormedProblem):
    """A problem with a norm, and the horizon K of its runs."""

    K: int

    @classmethod
    def from_problem(cls, problem: Any, K: int) -> "HorizonProblem":
        """Return a normed problem with the horizon K added."""
        created = cls(problem.inner, problem.norm)
        created.K = K
        return created
