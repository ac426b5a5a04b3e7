"""The formulas of li2019 (THEORY section 6): schedule and bounds, in the paper's symbols.

L is the smoothness, sigma_hat the effective strong convexity, delta0 >= f(theta_0) - f(theta_hat),
D the diameter of the set, t = 1, 2, ... the outer iteration and k = 1 .. N_t the inner one.
"""

import math

LEMMA1_CONSTANT = 4.0
"""The constant c of lemma 1, tau = c xi(Sigma_x) d/n, as tested.

The paper leaves it open. For isotropic X and curvature lambda_min/4 Gordon's inequality gives
<X_i, V>^2 >= (1 - 2 y)^2 |V|_F^2 on average, y = sqrt(d/n) |V|_*/|V|_F, up to fluctuations; then
c = 2 is enough, and is needed at y = 1/4. The factor 2 is room for the fluctuations.
"""


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


def linear_minimisations(L: float, D: float, sigma_hat: float, delta0: float, T: int) -> float:
    """Return the bound of the LO of T outer iterations (theorem 1)."""
    N = period(L, sigma_hat)
    return 288.0 * L * D**2 * 2.0**T / delta0 * (N**2 * sigma_hat / (64.0 * L)) + 2.0 * N * T


def batch(L: float, L_max: float, sigma_hat: float) -> int:
    """Return m = 5200 N_t L_max/sigma_hat, rounded up (theorem 2, convex components)."""
    return math.ceil(5200.0 * period(L, sigma_hat) * L_max / sigma_hat * (1.0 - 1e-12))


def variance(L: float, squared: float, N: int, k: int) -> float:
    """Return L^2 D_t^2/(N_t (k+1)^2), the bound of E|v_k - grad f(z_k)|^2 (corollary 3)."""
    return L**2 * squared / (N * (k + 1.0) ** 2)


def statistical_error(
    tau: float, sigma_hat: float, compatibility: float, outside: float, size: float, length: float
) -> float:
    """Return eps_stat^2, with the constant corrected.

    Parameters
    ----------
    tau
        Of restricted strong convexity.
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


def printed_statistical_error(
    tau: float, sigma_hat: float, compatibility: float, outside: float, size: float, length: float
) -> float:
    """Return eps_stat^2 as the paper prints it; the arguments are those of `statistical_error`."""
    return tau * (outside + 2.0 * size + compatibility * length) ** 2 / sigma_hat
