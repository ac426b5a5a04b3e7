"""The formulas of li2019 (THEORY section 6): schedule and bounds, in the paper's symbols."""

import math


def period(L: float, sigma_hat: float) -> int:
    """Return N_t = ceil(8 sqrt(L/sigma_hat)), the inner iterations of an outer one."""
    return math.ceil(8.0 * math.sqrt(L / sigma_hat) * (1.0 - 1e-12))


def restarts(delta0: float, epsilon: float) -> int:
    """Return ceil(log2(delta0/epsilon)), the outer iterations to accuracy epsilon."""
    return math.ceil(math.log2(delta0 / epsilon) * (1.0 - 1e-12))


def squared_distance(delta0: float, sigma_hat: float, t: int) -> float:
    """Return D_t^2 = 4 delta0 2^-t/sigma_hat, at least |theta_{t-1} - theta_hat|^2."""
    return 4.0 * delta0 * 2.0**-t / sigma_hat


def inner_gap(L: float, squared: float, k: int) -> float:
    """Return 8 L D_t^2/(k (k+1)), the bound of f(y_k) - f(theta_hat) (corollary 3)."""
    return 8.0 * L * squared / (k * (k + 1.0))


def linear_minimisations(
    L: float, D: float, sigma_hat: float, delta0: float, T: int
) -> float:
    """Return the bound of the LO of T outer iterations (theorem 1, D the diameter)."""
    N = period(L, sigma_hat)
    inner = 288.0 * L * D * D * 2.0**T / delta0 * (N * N * sigma_hat / (64.0 * L))
    return inner + 2.0 * N * T


def batch(L: float, L_max: float, sigma_hat: float) -> int:
    """Return m = 5200 N_t L_max/sigma_hat, rounded up (convex components)."""
    return math.ceil(5200.0 * period(L, sigma_hat) * L_max / sigma_hat * (1.0 - 1e-12))


def variance(L: float, squared: float, N: int, k: int) -> float:
    """Return L^2 D_t^2/(N_t (k+1)^2), the bound of E|v_k - grad f(z_k)|^2 (corollary 3)."""
    return L * L * squared / (N * (k + 1.0) ** 2)


def statistical_error(
    tau: float, sigma_hat: float, compatibility: float, outside: float, size: float, length: float
) -> float:
    """Return eps_stat^2 with the constant corrected.

    Parameters
    ----------
    tau, sigma_hat
        Of restricted strong convexity.
    compatibility
        phi_bar, of the model subspace.
    outside
        phi of the part of theta* outside the model subspace.
    size, length
        phi and Euclidean norm of Delta* = theta_hat - theta*.
    """
    return 8.0 * tau * (outside + size + compatibility * length) ** 2 / sigma_hat


COMPATIBLE = 4.0
"""The constant c of Lemma 1 as tested: tau = c xi(Sigma_x) d/n."""
