"""Problems on which bounds of pethick2025 are nearly attained, and others for variety."""

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from pfbench.base.arrays import Floats
from pfbench.problems.additive_noise import MatrixLeastSquares, SeparableQuadratic, make_noise
from pfbench.problems.base import FiniteSum
from pfbench.problems.wrapper import NormedProblem
from pfbench.sets.balls import LinfBall
from pfbench.sets.catalogue import norm_ball
from pfbench.sets.norms import NormBall
from pfbench.sets.whole_space import WholeMatrices
from pfbench.verification.instruments.normed_quadratics import HorizonProblem, vector_quadratic


def make_distant_parabola(K: int, begin: float) -> HorizonProblem:
    """Return x^2/2 from a start so far away that all K steps lead toward the minimiser 0.

    Shorter steps do not reach 0. All terms of the bound but Delta/(rho gamma K) are small, and the
    mean |x| is half the initial distance.
    """
    return HorizonProblem.from_problem(vector_quadratic("linf", weights=(1.0,), begin=(begin,)), K)


def make_oscillation_parabola(K: int, step: float) -> HorizonProblem:
    """Return x^2/2, started half a step away from 0: with exact gradients, |x| stays the same.

    So the term L rho gamma/2 of the bound is attained.
    """
    return make_distant_parabola(K, 0.5 * step)


def make_two_point_noise_parabola(K: int, size: float) -> HorizonProblem:
    """Return x^2/2 with start `size` and gradient noise +-`size`: sign steps are a random walk."""
    problem = vector_quadratic("linf", weights=(1.0,), begin=(size,), noise=((size,), (-size,)))
    return HorizonProblem.from_problem(problem, K)


def make_pure_noise_problem(K: int) -> HorizonProblem:
    """Return f = 0 with gradient noise +-1, so that an averaged gradient is averaged noise."""
    problem = vector_quadratic("linf", weights=(0.0,), begin=(0.0,), noise=((1.0,), (-1.0,)))
    return HorizonProblem.from_problem(problem, K)


def make_linf_quadratic(K: int) -> HorizonProblem:
    """Return a quadratic of ten variables with normal noise and the l-infinity norm.

    The constant zeta of the norm is sqrt(10).
    """
    noise = make_noise("normal", 0.5, (10,), 16, np.random.default_rng(3)).tolist()
    weights = [0.1 * j for j in range(1, 11)]
    problem = vector_quadratic("linf", weights=weights, begin=[1.0] * 10, noise=noise)
    return HorizonProblem.from_problem(problem, K)


def make_spectral_least_squares(K: int) -> HorizonProblem:
    """Return |A W - B|^2/2 in a matrix W, with normal gradient noise and the spectral norm."""
    rng = np.random.default_rng(7)
    noise = make_noise("normal", 0.5, (3, 5), 16, rng)
    return _matrix_quadratic(K, "spectral", rng.standard_normal((4, 3)) / 2.0, noise, rng)


def line_instance(K: int) -> HorizonProblem:
    """Return (x - 1)^2/2 on [-1, 1], started at -1: the steps lead to 1 and shrink near it.

    With shorter steps, or only 1/gamma steps, a run ends far from 1.
    """
    return _cube_quadratic(K, np.ones(1), np.ones(1), np.zeros((1, 1)))


def noisy_cube_instance(K: int) -> HorizonProblem:
    """Return a quadratic on a cube in R^4, with its centre outside the cube, and normal noise."""
    noise = make_noise("normal", 0.5, (4,), 16, np.random.default_rng(3))
    weights, centre = np.array([0.1, 0.4, 0.7, 1.0]), np.array([0.5, -0.2, 1.5, 2.0])
    return _cube_quadratic(K, weights, centre, noise)


def distant_centre_instance(K: int, size: float) -> HorizonProblem:
    """Return (x - 100)^2/2 on [-1, 1] from -1, with gradient noise of plus or minus `size`.

    All steps lead toward 1.
    """
    noise = np.array([[size], [-size]]) if size else np.zeros((1, 1))
    return _cube_quadratic(K, np.ones(1), np.full(1, 100.0), noise)


def _cube_quadratic(K: int, weights: Floats, centre: Floats, noise: Floats) -> HorizonProblem:
    """Return a quadratic on the cube [-1, 1]^d, started at the corner (-1, ..., -1)."""
    d = weights.size
    plain = SeparableQuadratic(
        set=LinfBall(d, 1.0), start_point=-np.ones(d), noise=noise, weights=weights, centre=centre
    )
    return HorizonProblem.from_problem(NormedProblem(plain, norm_ball("linf", (d,))), K)


def make_noiseless_least_squares(K: int, norm: str) -> HorizonProblem:
    """Return the problem |A W - B|^2/2 in W of shape (3, 5), without noise, with steps in `norm`.

    So the momentum alone causes the error of the gradient estimate.
    """
    rng = np.random.default_rng(7)
    return _matrix_quadratic(K, norm, rng.standard_normal((4, 3)), np.zeros((1, 3, 5)), rng)


def _matrix_quadratic(
    K: int, norm: str, A: Floats, noise: Floats, rng: np.random.Generator
) -> HorizonProblem:
    """Return the problem of |A W - B|^2/2 in W, started at W = 0, with a random normal B."""
    shape, B = (3, 5), rng.standard_normal((4, 5))
    plain = MatrixLeastSquares(
        set=WholeMatrices(shape), start_point=np.zeros(shape), noise=noise, A=A, B=B
    )
    return HorizonProblem.from_problem(NormedProblem(plain, norm_ball(norm, shape)), K)


class RotatedQuadratic(FiniteSum):
    """Quadratic of the diagonal of Q'WP, for a matrix W and fixed orthogonal Q and P.

    It is the sum of h_j t_j^2/2 with t_j = (Q'WP)_jj.

    Attributes
    ----------
    weights, start_point
        The h_j, and the t_j at the start.
    """

    name: ClassVar[str] = "rotated-diagonal"
    n: ClassVar[int] = 1
    K: int

    def __init__(self, weights: Sequence[float], begin: Sequence[float]) -> None:
        d, rng = len(weights), np.random.default_rng(1)
        self.weights, self.start_point = weights, begin
        self._Q, self._P = (np.linalg.qr(rng.standard_normal((d, d)))[0] for _ in range(2))

    @property
    def set(self) -> WholeMatrices:
        """Feasible set: all matrices of shape (d, d)."""
        return WholeMatrices((len(self.weights),) * 2)

    @property
    def norm(self) -> NormBall:
        """Spectral norm of matrices of shape (d, d)."""
        return norm_ball("spectral", (len(self.weights),) * 2)

    def rotate_back(self, W: Floats) -> Floats:
        """Return Q'WP for a matrix W (or each of a stack) and the problem's orthogonal Q and P."""
        return np.asarray(self._Q.T @ W @ self._P)

    def start(self) -> Floats:
        """Return the start: the diagonal matrix of `start_point`, rotated; shape (d, d)."""
        return np.asarray(self._Q @ np.diag(self.start_point) @ self._P.T)

    def value(self, x: Floats) -> float:
        """Return f(x) = sum_j weights_j t_j^2/2, where t is the diagonal of `rotate_back(x)`."""
        t = np.diag(self.rotate_back(x))
        return 0.5 * float(np.asarray(self.weights) @ (t * t))

    def gradient(self, x: Floats) -> Floats:
        """Return the gradient: the diagonal matrix of weights * t, rotated; t is as in `value`."""
        slopes = np.asarray(self.weights) * np.diag(self.rotate_back(x))
        return np.asarray(self._Q @ np.diag(slopes) @ self._P.T)


def make_rotated_instance(K: int) -> RotatedQuadratic:
    """Return a quadratic of a matrix's singular values, on which Muon's steps are sign steps.

    The singular vectors Q and P do not change along a run.
    """
    quadratic = RotatedQuadratic((1.0, 2.0, 3.0, 4.0), (1.0, -2.0, 0.5, 3.0))
    quadratic.K = K
    return quadratic
