"""Matrices of known singular values, and a problem that minimises over the spectral ball."""

import numpy as np

from pfbench.base.arrays import Floats
from pfbench.problems.additive_noise import MatrixLeastSquares
from pfbench.problems.wrapper import NormedProblem
from pfbench.sets.catalogue import norm_ball
from pfbench.sets.norms import NormBall
from pfbench.sets.whole_space import WholeMatrices

SHAPE = (4, 6)
"""Shape of the matrices."""


def make_orthogonalised_problem(lmo: str, degree: int, steps: int) -> NormedProblem:
    """Return the problem |W|^2/2 with a spectral norm whose LMO uses matrix products.

    The checks query the linear minimisation at matrices whose singular values are known.
    """
    return make_half_square(norm_ball(f"spectral[lmo={lmo},degree={degree},steps={steps}]", SHAPE))


def make_half_square(ball: NormBall) -> NormedProblem:
    """Return the problem |W|^2/2 with the norm whose ball is `ball`."""
    zero = np.zeros(SHAPE)
    plain = MatrixLeastSquares(
        set=WholeMatrices(SHAPE), start_point=zero, noise=zero[None], A=np.eye(4), B=zero
    )
    return NormedProblem(plain, ball)


def spectra(rng: np.random.Generator, count: int, minimum: float = 1e-6) -> Floats:
    """Draw vectors of four singular values, log-uniform on [`minimum`, 1], then scaled to norm 1.

    The result has shape (count, 4).
    """
    s = np.exp(rng.uniform(np.log(minimum), 0.0, (count, SHAPE[0])))
    return np.asarray(s / np.linalg.norm(s, axis=1, keepdims=True))


def matrix_with_singular_values(s: Floats, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Return a random matrix with the singular values s, and its polar factor; shapes (4, 6)."""
    m, n = SHAPE
    U = np.linalg.qr(rng.standard_normal((m, m)))[0]
    V = np.linalg.qr(rng.standard_normal((n, m)))[0]
    return np.asarray(U @ np.diag(s) @ V.T), np.asarray(U @ V.T)
