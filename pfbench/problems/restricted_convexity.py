"""Restricted strong convexity of matrix regression on given data (li2019 (4), lemma 1).

For a quadratic f, it means (1/2) q(V) >= (sigma/2) |V|_F^2 - tau |V|_*^2 for all V, where q(V) = E
<Z, V>^2 - w |V|_F^2. Lemma 1 guarantees it with high probability for tau = c xi d/n with an
unknown constant c. Therefore pfbench estimates tau by a search.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy

from pfbench.base.arrays import Floats
from pfbench.problems.sensing import SensingData, row_blocks


class WorstDirection(NamedTuple):
    """Direction V, and the least tau for which restricted strong convexity holds along V."""

    tau: float
    direction: Floats


@dataclass(frozen=True)
class RestrictedConvexity:
    """Constants of restricted strong convexity of a function f on matrices.

    They satisfy f(y) - f(x) - <grad f(x), y - x> >= (sigma/2) |y - x|_F^2 - tau |y - x|_*^2.

    Attributes
    ----------
    sigma, tau
        As above (li2019 (4)); NaN if not known.
    sigma_hat
        sigma - 16 tau phi^2 with phi^2 = 2 r; at most 0 or NaN where the theorems do not apply.
    derivation
        Origin of the numbers, or the reason why there is no positive sigma_hat.
    """

    sigma: float
    tau: float
    sigma_hat: float
    derivation: str

    @property
    def has_positive_sigma_hat(self) -> bool:
        """Whether sigma_hat is positive, so that the theorems of li2019 apply."""
        return self.sigma_hat > 0.0


def compute_restricted_convexity(data: SensingData) -> RestrictedConvexity:
    """Return the constants sigma, tau and sigma_hat of restricted strong convexity on the data.

    If f is strongly convex, sigma is its modulus and tau is 0. Otherwise sigma is that of li2019
    lemma 1 with corrected constants: sigma/2 is lambda_min(Sigma_x)/4 for loss (7) and
    lambda_min(Sigma_x)/8 for loss (8). Then tau is a lower estimate: the largest value that
    `find_worst_direction` finds.
    """
    own = data.least_eigenvalue_bound - data.sensing_variance
    if own > 0.0:
        words = "least eigenvalue of the Hessian: f is strongly convex on these data, tau = 0"
        return RestrictedConvexity(own, 0.0, own, words)
    if data.truth is None or data.variances is None:
        return _unknown_convexity("neither rank nor covariance of the data are known")
    w, variance = data.sensing_variance, data.variances[0]
    if w > variance / 4.0:
        return _unknown_convexity(
            f"li2019 lemma 1 needs w <= lambda_min(Sigma_x)/4, which is {variance / 4.0:g}"
        )
    sigma = variance / 2.0 if w == 0.0 else variance / 4.0
    r = len(data.truth.weights)
    # Some V with at most k nonzero rows (or columns) has <Z_i, V> = 0 for all i, and
    # |V|_*^2 <= k |V|_F^2: tau is at least (sigma + w)/(2 k).
    k = data.n // max(data.shape) + 1
    if data.n < math.prod(data.shape) and sigma <= 16.0 * r * (sigma + w) / k:
        tau = (sigma + w) / (2.0 * k)
        words = (
            f"a matrix of rank at most {k} is seen by none of the {data.n} sensing matrices, "
            f"so tau >= {tau:.3g} and sigma - 32 r tau <= {sigma - 32.0 * r * tau:.3g}"
        )
        return RestrictedConvexity(sigma, tau, sigma - 32.0 * r * tau, words)
    side = min(data.shape)
    ranks = sorted({1, min(4, side), side})
    tau = max(find_worst_direction(data, sigma / 2.0, rank=rank).tau for rank in ranks)
    words = (
        f"sigma - 16 tau 2r with sigma = {sigma:g} (li2019 lemma 1, corrected) and tau = "
        f"{tau:.3g}, the largest found on these data: an estimate from below"
    )
    return RestrictedConvexity(sigma, tau, sigma - 32.0 * r * tau, words)


def find_worst_direction(
    data: SensingData, alpha: float, *, rank: int = 1, starts: int = 4, seed: int = 0
) -> WorstDirection:
    """Search for the direction with the largest tolerance tau of restricted strong convexity.

    The second-order part of f is q(V)/2 with q(V) = E <Z, V>^2 - w |V|_F^2. The search estimates
    the smallest tau >= 0 with q(V)/2 >= alpha |V|_F^2 - tau |V|_*^2 for all V. It is local, so the
    result is a lower bound. In li2019 lemma 1, tau is c xi d/n, and alpha is lambda_min(Sigma_x)/2
    for loss (7) and lambda_min(Sigma_x)/4 for loss (8). The corrected alpha is half of these.

    Parameters
    ----------
    data
        The sensing matrices.
    alpha
        The coefficient of |V|_F^2.
    rank
        With rank 1: alternating minimisation of q over the unit vectors of V = u v'. Above 1:
        L-BFGS over V = A B' with `rank` columns, where |V|_* <= (|A|_F^2 + |B|_F^2)/2.
    starts
        Number of random starts; the best direction is returned.
    seed
        Seed of the starts.

    Returns
    -------
    WorstDirection
        tau, and V of nuclear norm 1, shape (M, N).
    """
    rng = np.random.default_rng(np.random.SeedSequence(seed))
    directions = []
    for _ in range(starts):
        V = (
            _minimise_rank_one(data, rng)
            if rank == 1
            else _maximise_tau_over_rank(data, alpha, rank, rng)
        )
        V /= float(scipy.linalg.svdvals(V).sum())
        directions.append(WorstDirection(max(0.0, _min_tau_times_squared_norm(data, alpha, V)), V))
    return max(directions, key=lambda worst: worst.tau)


def _min_tau_times_squared_norm(data: SensingData, alpha: float, V: Floats) -> float:
    """Return the least tau |V|_*^2 for which restricted strong convexity holds along V.

    It is alpha |V|_F^2 - q(V)/2, where q(V)/2 is the second-order part of f.
    """
    products = data.products(data.all, V)
    square = float(np.vdot(V, V))
    q = float(products @ products) / data.n - data.sensing_variance * square
    return alpha * square - 0.5 * q


def _minimise_rank_one(data: SensingData, rng: np.random.Generator, limit: int = 100) -> Floats:
    """Return u v' for unit vectors u, v that locally minimise the mean of <Z, u v'>^2 over all Z.

    Each vector in turn is replaced by an eigenvector.
    """
    u = rng.standard_normal(data.shape[0])
    u /= np.linalg.norm(u)
    before = math.inf
    for _ in range(limit):
        _, v = _smallest_eigenpair(_contraction_gram(data, u, side=0))
        lower, u = _smallest_eigenpair(_contraction_gram(data, v, side=1))
        if lower >= before * (1.0 - 1e-9):
            break
        before = lower
    return np.outer(u, v)


def _contraction_gram(data: SensingData, vector: Floats, side: int) -> Floats:
    """Return the mean of v v' over the sensing matrices Z, where v is Z'u or, for side=1, Z u.

    Here u is `vector`.
    """
    M, N = data.shape
    gram = np.zeros((M, M) if side else (N, N))
    for block in row_blocks(*data.rows.shape):
        rows = data.rows[block].astype(np.float64, copy=False).reshape(-1, M, N)
        images = rows @ vector if side else vector @ rows
        gram += images.T @ images
    return gram / data.n


def _maximise_tau_over_rank(
    data: SensingData, alpha: float, rank: int, rng: np.random.Generator
) -> Floats:
    """Return a V = A B' of given rank that locally maximises the tolerance tau.

    The tau is `_min_tau_times_squared_norm` divided by ((|A|_F^2 + |B|_F^2)/2)^2, which is at least
    |V|_*^2.
    """
    M, N = data.shape
    share, zero = np.full(data.n, 1.0 / data.n), np.zeros(data.n)

    def loss(z: Floats) -> tuple[float, Floats]:
        A, B = z[: M * rank].reshape(M, rank), z[M * rank :].reshape(N, rank)
        V, size = A @ B.T, 0.5 * float(z @ z)
        slope = (2.0 * alpha + data.sensing_variance) * V - data.sum_weighted_residuals(
            data.all, share, zero, V
        )
        excess = 0.5 * float(np.vdot(slope, V))
        ascent = np.concatenate([(slope @ B).ravel(), (slope.T @ A).ravel()])
        return -excess / size**2, -ascent / size**2 + 2.0 * excess / size**3 * z

    z = rng.standard_normal((M + N) * rank)
    z /= np.linalg.norm(z)
    z = scipy.optimize.minimize(loss, z, jac=True, method="L-BFGS-B", options={"maxiter": 300}).x
    return np.asarray(z[: M * rank].reshape(M, rank) @ z[M * rank :].reshape(N, rank).T)


def _unknown_convexity(reason: str) -> RestrictedConvexity:
    return RestrictedConvexity(math.nan, math.nan, math.nan, reason)


def _smallest_eigenpair(gram: Floats) -> tuple[float, Floats]:
    """Return the smallest eigenvalue of a symmetric matrix and a unit eigenvector of it."""
    values, vectors = scipy.linalg.eigh(gram, subset_by_index=(0, 0))
    return float(values[0]), vectors[:, 0]
