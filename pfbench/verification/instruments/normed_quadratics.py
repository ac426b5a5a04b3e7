"""Quadratics with a norm, on which bounds of methods that step in a norm ball are nearly tight."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from pfbench.base.arrays import Floats
from pfbench.base.constants import Constants
from pfbench.points import Layers, keep
from pfbench.problems.additive_noise import MatrixLeastSquares, SeparableQuadratic, make_noise
from pfbench.problems.base import FiniteSum, content_digest
from pfbench.problems.wrapper import NormedProblem
from pfbench.sets.catalogue import norm_ball
from pfbench.sets.norms import NormBall, NormProduct
from pfbench.sets.whole_space import WholeMatrices, WholeSpace


def vector_quadratic(
    norm: str,
    *,
    weights: Sequence[float],
    begin: Sequence[float],
    noise: Sequence[Sequence[float]] = (),
) -> NormedProblem:
    """Return sum_j h_j x_j^2/2 with weights h_j, for methods that query the LMO of a norm ball.

    It is a finite sum, in which component i has the additional term <s_i, x>.

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
    """Problem for methods whose steps use a norm ball, with the number K of the steps."""

    K: int

    @classmethod
    def from_problem(cls, problem: Any, K: int) -> "HorizonProblem":
        """Return a copy of a problem with a norm; the copy stores the number K of iterations."""
        created = cls(problem.inner, problem.norm)
        created.K = K
        return created


def parabola(K: int) -> HorizonProblem:
    """Return the problem w^2/2 with start 1, on which a known bound for K steps is attained.

    The bound is 1.5 sqrt(L Delta/K). The points have shape (1, 1).
    """
    unit = np.ones((1, 1))
    return _make_least_squares_problem(unit, 0.0 * unit, unit, 0.0, "exact", K)


def least_squares(K: int, sigma: float, lmo: str = "exact", size: float = 1.0) -> HorizonProblem:
    """Return a least-squares problem |A W - B|^2/2 in W of shape (3, 5), for K steps from W = 0.

    The gradients have normal noise of deviation sigma. The norm is the spectral norm, whose linear
    minimisation is `lmo`. With little or no noise, beta is 0, and the bound is attained. The
    entries of B are normal numbers times `size`. The ratio of the measured quantity to the bound
    depends mainly on sigma sqrt(r K)/sqrt(L Delta).
    """
    rng = np.random.default_rng(11)
    A, B = rng.standard_normal((6, 3)), size * rng.standard_normal((6, 5))
    return _make_least_squares_problem(A, B, np.zeros((3, 5)), sigma, lmo, K)


def _make_least_squares_problem(
    A: Any, B: Any, begin: Any, sigma: float, lmo: str, K: int
) -> HorizonProblem:
    rng = np.random.default_rng(5)
    noise = make_noise("normal" if sigma else "none", sigma, begin.shape, 32, rng)
    plain = MatrixLeastSquares(
        set=WholeMatrices(begin.shape), start_point=begin, noise=noise, A=A, B=B
    )
    normed = NormedProblem(plain, norm_ball(f"spectral[lmo={lmo}]", begin.shape))
    return HorizonProblem.from_problem(normed, K)


SHAPE = (4, 6)
"""Shape of matrices with given singular values."""


def make_orthogonalised_problem(lmo: str, degree: int, steps: int) -> NormedProblem:
    """Return |W|^2/2 with the spectral norm, whose LMO is approximated by a matrix polynomial.

    Checks query the linear minimisation `lmo`, of this degree and number of steps, at matrices
    whose singular values are known.
    """
    return make_half_frobenius_square(
        norm_ball(f"spectral[lmo={lmo},degree={degree},steps={steps}]", SHAPE)
    )


def make_half_frobenius_square(ball: NormBall) -> NormedProblem:
    """Return the problem of minimising |W|^2/2 by methods that use the norm ball `ball`."""
    zero = np.zeros(SHAPE)
    plain = MatrixLeastSquares(
        set=WholeMatrices(SHAPE), start_point=zero, noise=zero[None], A=np.eye(4), B=zero
    )
    return NormedProblem(plain, ball)


def draw_singular_values(rng: np.random.Generator, count: int, minimum: float = 1e-6) -> Floats:
    """Draw vectors of four singular values, log-uniform on [`minimum`, 1], then scaled to norm 1.

    The result has shape (count, 4).
    """
    s = np.exp(rng.uniform(np.log(minimum), 0.0, (count, SHAPE[0])))
    return np.asarray(s / np.linalg.norm(s, axis=1, keepdims=True))


def matrix_and_polar_factor(s: Floats, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Return a random matrix with the singular values s, and its polar factor; shapes (4, 6)."""
    m, n = SHAPE
    U = np.linalg.qr(rng.standard_normal((m, m)))[0]
    V = np.linalg.qr(rng.standard_normal((n, m)))[0]
    return np.asarray(U @ np.diag(s) @ V.T), np.asarray(U @ V.T)


@dataclass(frozen=True, eq=False, kw_only=True)
class LayeredQuadratic(FiniteSum):
    """Function x'Hx/2 of points x that consist of several layers.

    Parameters
    ----------
    H
        Symmetric, shape (d, d).
    blocks
        The L_lm, the largest |H_lm x_m|_* over |x_m| <= 1 in norms of radius 1, shape (p, p).
    begin
        The start.
    set
        All vectors of length d.
    """

    name: ClassVar[str] = "layered-quadratic"
    source: ClassVar[str] = "pfbench"
    n: ClassVar[int] = 1
    properties: ClassVar[frozenset[str]] = frozenset()

    H: Floats
    blocks: Floats
    begin: Layers
    set: WholeSpace

    @property
    def digest(self) -> str:
        """Hash of all arrays and shapes that define the problem."""
        return content_digest(self.begin.shapes, self.H, self.blocks, self.begin.vector)

    def start(self) -> Layers:
        """Return a fresh copy of the start point."""
        return keep(self.begin)  # type: ignore[no-any-return]

    def value(self, x: Any) -> float:
        """Return the objective value x'Hx/2."""
        return 0.5 * float(np.vdot(x, self.gradient(x)))

    def gradient(self, x: Any) -> Floats:
        """Return the gradient Hx, shape (d,)."""
        return np.asarray(self.H @ np.asarray(x))

    def smoothness_in_norm(self, norm: NormBall) -> tuple[float, str] | None:
        """Return the smoothness constant with respect to a norm, and its formula as text.

        It is the sum of rho_l rho_m L_lm over all layers l and m, for the norm max |x_l|/rho_l, and
        an upper bound for larger norms. The result is None for a norm that is no product over
        layers.
        """
        if not isinstance(norm, NormProduct):
            return None
        rho = np.array([ball.radius for ball in norm.balls])
        return float(rho @ self.blocks @ rho), "the sum of rho_l rho_m L_lm"

    def constants(self, start: Any) -> Constants:
        """Return the problem's constants n, D, L_f and delta."""
        L = float(np.abs(np.linalg.eigvalsh(self.H)).max())
        return Constants.from_derivations(
            n=(1, "stated"),
            D=(self.set.diameter, "diameter of its set"),
            L_f=(L, "the largest absolute eigenvalue of H"),
            delta=(self.value(start), "f(start) - 0, if H is positive semidefinite"),
        )
