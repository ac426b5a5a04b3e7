"""Where the bounds of pethick2025 bind: a parabola on the line, and where they are only kept."""

from typing import Any

import numpy as np

from pfbench.problems.additive_noise import MatrixLeastSquares, SeparableQuadratic, noise_of
from pfbench.problems.with_norm import Normed
from pfbench.sets.balls import LinfBall
from pfbench.sets.named_norms import norm_ball
from pfbench.sets.whole import WholeMatrices
from pfbench.verification.instruments.normed import on_vectors


class Until(Normed):
    """A problem with a norm, and the horizon K of runs on it."""

    K: int

    @classmethod
    def of(cls, problem: Any, K: int) -> "Until":
        """Return the problem of a norm with a horizon."""
        made = cls(problem.inner, problem.norm)
        made.K = K
        return made


def travel(K: int, begin: float) -> Until:
    """Return x^2/2 from far away: all steps lead to 0, and with a shorter step it is not reached.

    Of the bound all but Delta/(rho gamma K) is small, and the mean of |x| is half the way.
    """
    return Until.of(on_vectors("linf", weights=(1.0,), begin=(begin,)), K)


def oscillation(K: int, step: float) -> Until:
    """Return x^2/2 from half a step: with exact gradients |x| stays, and L rho gamma/2 binds."""
    return travel(K, 0.5 * step)


def two_points(K: int, size: float) -> Until:
    """Return x^2/2 from `size` with noise of plus or minus `size`: unaveraged signs are a walk."""
    made = on_vectors("linf", weights=(1.0,), begin=(size,), noise=((size,), (-size,)))
    return Until.of(made, K)


def affine(K: int) -> Until:
    """Return 0 with noise of plus or minus 1: an average's error is that of its noise alone."""
    made = on_vectors("linf", weights=(0.0,), begin=(0.0,), noise=((1.0,), (-1.0,)))
    return Until.of(made, K)


def signs(K: int) -> Until:
    """Return a quadratic of ten variables with normal noise, over l-infinity: zeta = sqrt(10)."""
    rng = np.random.default_rng(3)
    noise = noise_of("normal", 0.5, (10,), 16, rng).tolist()
    weights = [0.1 * j for j in range(1, 11)]
    made = on_vectors("linf", weights=weights, begin=[1.0] * 10, noise=noise)
    return Until.of(made, K)


def spectral(K: int) -> Until:
    """Return |A W - B|^2/2, W of shape (3, 5), with normal noise, over the spectral norm."""
    rng = np.random.default_rng(7)
    plain = MatrixLeastSquares(
        set=WholeMatrices((3, 5)),
        begin=np.zeros((3, 5)),
        noise=noise_of("normal", 0.5, (3, 5), 16, rng),
        A=rng.standard_normal((4, 3)) / 2.0,
        B=rng.standard_normal((4, 5)),
    )
    return Until.of(Normed(plain, norm_ball("spectral", (3, 5))), K)


def held(K: int) -> Until:
    """Return (x - 1)^2/2 on [-1, 1] from -1: steps point to 1, and shrink with the way left.

    A shorter step, or as many as 1/gamma, leaves it far from there.
    """
    plain = SeparableQuadratic(
        set=LinfBall(1, 1.0),
        begin=np.array([-1.0]),
        noise=np.zeros((1, 1)),
        weights=np.ones(1),
        centre=np.ones(1),
    )
    return Until.of(Normed(plain, norm_ball("linf", (1,))), K)


def held_with_noise(K: int) -> Until:
    """Return a quadratic of four variables with normal noise on a cube, its centre outside."""
    rng = np.random.default_rng(3)
    plain = SeparableQuadratic(
        set=LinfBall(4, 1.0),
        begin=-np.ones(4),
        noise=noise_of("normal", 0.5, (4,), 16, rng),
        weights=np.array([0.1, 0.4, 0.7, 1.0]),
        centre=np.array([0.5, -0.2, 1.5, 2.0]),
    )
    return Until.of(Normed(plain, norm_ball("linf", (4,))), K)


def far_in_ball(K: int, size: float) -> Until:
    """Return (x - 100)^2/2 on [-1, 1] from -1, with noise of plus or minus `size`: one way."""
    plain = SeparableQuadratic(
        set=LinfBall(1, 1.0),
        begin=np.array([-1.0]),
        noise=np.array([[size], [-size]]) if size else np.zeros((1, 1)),
        weights=np.ones(1),
        centre=np.full(1, 100.0),
    )
    return Until.of(Normed(plain, norm_ball("linf", (1,))), K)
