"""li2019 corollary 3 and (30), summed by hand."""

from fractions import Fraction

import pytest

from pfbench.claims.li2019.corollary3 import inner_gap_bound_by_30


def test_inner_bound_is_30_summed_by_hand():
    """k = 2, L = 3, N = 5, D_t^2 = 2, |x_0 - theta_hat|^2 = 1, in fractions."""
    L, N, squared, F = 3, 5, 2, Fraction
    eta = [F(2 * L * squared, N * i) for i in (1, 2)]
    gamma, Gamma, beta = [F(1), F(2, 3)], [F(1), F(1, 3)], [F(3 * L), F(3 * L, 2)]
    sigma2 = [F(L * L * squared, N * (i + 1) ** 2) for i in (1, 2)]
    noise = sum(
        g * s / (2 * G * (b - L * g)) for g, s, G, b in zip(gamma, sigma2, Gamma, beta, strict=True)
    )
    printed = beta[0] * Gamma[1] + Gamma[1] * (
        sum(e / G for e, G in zip(eta, Gamma, strict=True)) + noise
    )
    weighted = sum(g * e / G for g, e, G in zip(gamma, eta, Gamma, strict=True))
    corrected = beta[0] * Gamma[1] / 2 + Gamma[1] * (weighted + noise)
    assert inner_gap_bound_by_30(2, L, N, squared, 1.0) == pytest.approx(float(printed))
    halved = inner_gap_bound_by_30(2, L, N, squared, 1.0, first=0.5, weighted=True)
    assert halved == pytest.approx(float(corrected))
    assert inner_gap_bound_by_30(2, L, N, squared, 1.0, noise=0.0) == pytest.approx(
        float(printed - Gamma[1] * noise)
    )
