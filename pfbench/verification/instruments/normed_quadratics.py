"""Quadratics with a norm, on which bounds of methods that step in a norm ball are nearly tight."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from pfbench.problems.additive_noise import MatrixLeastSquares, SeparableQuadratic, make_noise
from pfbench.problems.wrapper import NormedProblem
from pfbench.sets.catalogue import norm_ball
from pfbench.sets.whole_space import WholeMatrices, WholeSpace


def vector_quadratic(
    norm: str,
    *,
    weights: Sequence[float],
    begin: Sequence[float],
    noise: Sequence[Sequence[float]] = (),
) -> NormedProblem:
    """Return a separable quadratic with a norm, as a finite sum with additional linear terms.

    f(x) is the sum of h_j x_j^2/2, and component i has the additional term <s_i, x>.

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
    """Problem with a norm, and with the number K of iterations of its runs."""

    K: int

    @classmethod
    def from_problem(cls, problem: Any, K: int) -> "HorizonProblem":
        """Return a copy of a problem with a norm that also has the number K of iterations."""
        created = cls(problem.inner, problem.norm)
        created.K = K
        return created


def parabola(K: int) -> HorizonProblem:
    """Return the problem w^2/2 with start 1, on which a known bound for K steps is attained.

    The bound is 1.5 sqrt(L Delta/K). The points have shape (1, 1).
    """
    return HorizonProblem.from_problem(
        _make_least_squares_problem(np.eye(1), np.zeros((1, 1)), np.ones((1, 1)), 0.0, "exact"), K
    )


def least_squares(K: int, sigma: float, lmo: str = "exact", size: float = 1.0) -> HorizonProblem:
    """Return the problem of |A W - B|^2/2 in W of shape (3, 5), for K steps from W = 0.

    The gradients have normal noise of deviation sigma. The norm is the spectral norm, whose linear
    minimisation is `lmo`. With little or no noise, beta is 0, and the bound is attained. The
    entries of B are normal numbers times `size`. The ratio of the measured quantity to the bound
    depends mainly on sigma sqrt(r K)/sqrt(L Delta).
    """
    rng = np.random.default_rng(11)
    A, B = rng.standard_normal((6, 3)), size * rng.standard_normal((6, 5))
    return HorizonProblem.from_problem(
        _make_least_squares_problem(A, B, np.zeros((3, 5)), sigma, lmo), K
    )


def _make_least_squares_problem(
    A: Any, B: Any, begin: Any, sigma: float, lmo: str
) -> NormedProblem:
    rng = np.random.default_rng(5)
    noise = make_noise("normal" if sigma else "none", sigma, begin.shape, 32, rng)
    plain = MatrixLeastSquares(
        set=WholeMatrices(begin.shape), start_point=begin, noise=noise, A=A, B=B
    )
    return NormedProblem(plain, norm_ball(f"spectral[lmo={lmo}]", begin.shape))
