"""The bounds of qu2018 (THEORY section 6), in the paper's symbols.

L is the smoothness, ell the lower smoothness, Delta = f(theta_0) - min f, D the diameter of C,
M the largest norm in C, N or T the iterations.
"""

import math


def condg_calls(D: float, lam: float, eta: float) -> int:
    """Return 1 + ceil(6 D^2/(lambda eta)), the most LO of one condg (Jaggi 2013 theorem 2)."""
    return 1 + math.ceil(6.0 * D * D / (lam * eta) * (1.0 - 1e-12))


def option1_least(L: float, delta: float, N: int) -> float:
    """Return (12 L Delta + 16 L)/N, the bound of min_k |G|^2 (theorem 1, option I)."""
    return (12.0 * L * delta + 16.0 * L) / N


def option1_mean(L: float, delta: float, N: int) -> float:
    """Return (16 L Delta + 28 L)/(3N), the bound of the mean over k of |G|^2 (sharp form)."""
    return (16.0 * L * delta + 28.0 * L) / (3.0 * N)


def option2_least(L: float, ell: float, first: float, norm: float, M: float, N: int) -> float:
    """Return the bound of min_k |G|^2 of theorem 1, option II, eta = chi = 1/N.

    `first` is |theta_0 - theta*|, `norm` is |theta*|; larger numbers are allowed for both.
    """
    return (
        192.0 * L * L * first**2 / (N * N * (N + 1.0))
        + 48.0 * ell * L / N * (norm**2 + 2.0 * M * M)
        + 96.0 * L / N
    )


def option2_mean(L: float, ell: float, first: float, norm: float, M: float, N: int) -> float:
    """Return the bound of the mean of |G|^2 with p_k proportional to k (k+1), eta = chi = 1/N."""
    return (
        192.0 * L * L * first**2 / (N * (N + 1.0) * (N + 2.0))
        + 48.0 * ell * L * (norm**2 + M * M) / (N + 2.0)
        + 48.0 * L / (N * (N + 2.0))
        + 20.0 * L / N
    )


def stochastic(
    L: float, ell: float, first: float, norm: float, M: float, sigma2: float, N: int
) -> float:
    """Return the bound of the mean of E|g|^2, g the stochastic mapping (theorem 2, derived)."""
    return (
        384.0 * L * L * first**2 / (N * (N + 1.0) * (N + 2.0))
        + 96.0 * L * ell * (norm**2 + M * M) / (N + 2.0)
        + 96.0 * L / (N * (N + 2.0))
        + 36.0 * L / N
        + 48.0 * sigma2 * (N + 3.0) / ((N + 1.0) * (N + 2.0))
    )


def variance_reduced(L: float, delta: float, T: int) -> float:
    """Return 18 L (Delta+1)/T, the bound of E|G|^2 at a uniform output (theorem 3)."""
    return 18.0 * L * (delta + 1.0) / T


def variance_reduced_calls(n: int, batch: int, period: int, T: int) -> int:
    """Return (T/m)(n + 2bm), the IFO of T iterations, m a divisor of T."""
    return T // period * (n + 2 * batch * period)


def momentum_reach(N: int) -> float:
    """Return how far option II comes on a slope g, in units of beta g: theta_md_N + 1.

    On f = -g x with room, theta moves by lambda_k g = (k/2) beta g, and theta_ag to one beta g
    beyond theta_md. So with this much room every mapping is still g.
    """
    theta = ag = md = 0.0
    for k in range(1, N + 1):
        md = ag + 2.0 / (k + 1.0) * (theta - ag)
        theta, ag = theta + k / 2.0, md + 1.0
    return max(md + 1.0, theta - N / 2.0)
