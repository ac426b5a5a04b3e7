"""Least squares over matrices with a spectral norm, on which bounds of Muon are attained."""

from typing import Any

import numpy as np

from pfbench.problems.additive_noise import MatrixLeastSquares, make_noise
from pfbench.problems.with_norm import NormedProblem
from pfbench.sets.named_norms import norm_ball
from pfbench.sets.whole_space import WholeMatrices
from pfbench.verification.instruments.normed_quadratics import HorizonProblem


def parabola(K: int) -> HorizonProblem:
    """Return w^2/2 with W of shape (1, 1), from 1; it attains the bound 1.5 sqrt(L Delta/K)."""
    return HorizonProblem.from_problem(
        _make_least_squares_problem(np.eye(1), np.zeros((1, 1)), np.ones((1, 1)), 0.0, "exact"), K
    )


def least_squares(K: int, sigma: float, lmo: str = "exact", size: float = 1.0) -> HorizonProblem:
    """Return |A W - B|^2/2, W of shape (3, 5), from 0, with normal noise of deviation sigma.

    With little or no noise, beta is capped at 0, and the bound is attained. B has normal entries
    times `size`. The measured share of the bound depends mainly on sigma sqrt(r K)/sqrt(L Delta).
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
