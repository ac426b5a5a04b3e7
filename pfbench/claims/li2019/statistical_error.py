"""The statistical error of li2019, and a problem whose minimiser misses the truth by it."""

import math

import numpy as np
import scipy

from pfbench.sets import L1Ball
from pfbench.verification.instruments.quadratics import KnownQuadratic


def statistical_error_squared(
    tau: float, sigma_hat: float, compatibility: float, outside: float, size: float, length: float
) -> float:
    """Return eps_stat^2, with the corrected constant 8.

    Parameters
    ----------
    tau
        tau of restricted strong convexity.
    sigma_hat
        Effective strong convexity, positive.
    compatibility
        phi_bar of the model subspace.
    outside
        phi of the part of theta* outside the model subspace.
    size, length
        phi and the Euclidean norm of Delta* = theta_hat - theta*.
    """
    return 8.0 * tau * (outside + size + compatibility * length) ** 2 / sigma_hat


def make_biased_minimiser_problem(d: int, support: int, share: float) -> KnownQuadratic:
    """Return a problem on the l1 ball whose minimiser is off the truth along a flat line.

    The Hessian is I - d w w' with w' = (+-1/d, ...), so that sigma = 1 and tau = 1/(2 d), exactly.
    The truth has `support` equal entries and l1 norm 1 - share; theta_hat = truth - share w has l1
    norm 1. eps_stat is positive, and the claim binds: truth + share w is in the ball and near the
    start. It differs from theta_hat only along w, where f is flat.

    Parameters
    ----------
    d
        Dimension, a power of 2.
    support
        s < d/8.
    share
        l1 norm of theta_hat - truth.
    """
    hadamard = scipy.linalg.hadamard(d).astype(np.float64)
    w, product = hadamard[-1] / d, hadamard[:-1] * math.sqrt((d - 1) / d)
    truth = np.where(np.arange(d) < support, -(1.0 - share) / support * np.sign(w), 0.0)
    begin = 0.5 * (truth + share * w) + 0.5 * np.eye(d)[d // 2]
    sigma_hat, slope = 1.0 - 8.0 * support / d, 1e-6 * np.sign(w)
    return KnownQuadratic(L1Ball(d), product, truth - share * w, slope, begin, sigma_hat)


def error_squared_of_biased_minimiser(d: int, support: int, share: float) -> float:
    """Return eps_stat^2 of `make_biased_minimiser_problem`."""
    sigma_hat, length = 1.0 - 8.0 * support / d, share / math.sqrt(d)
    return statistical_error_squared(0.5 / d, sigma_hat, math.sqrt(support), 0.0, share, length)
