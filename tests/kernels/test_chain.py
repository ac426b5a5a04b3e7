"""The compiled zero chain against its definition, and the four properties of shen2019 lemma 7.1."""

import decimal
import math

import numpy as np
import pytest
import scipy.linalg
from chain_reference import chain_gradient, chain_hessian, chain_value, phi
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize
from scipy.special import log_ndtr

from pfbench.kernels import chain
from pfbench.problems.chain_bounds import CHAIN_BOUNDS, PAPER_SMOOTHNESS

NUMBERS = st.integers(-3000, 3000).map(lambda k: k / 1000.0)
"""With three digits, so that |y| < 1 means |y| <= 0.999 and strict inequalities stay strict."""

POINTS = st.lists(NUMBERS, min_size=1, max_size=9).map(np.array)


def gradient(y):
    g = np.full(y.size, np.nan)
    chain.write_chain_gradient(y, g)
    return g


def hessian(y):
    """The Hessian as a full matrix."""
    diagonal, off = np.full(y.size, np.nan), np.full(y.size - 1, np.nan)
    chain.write_chain_hessian(y, diagonal, off)
    return np.diag(diagonal) + np.diag(off, 1) + np.diag(off, -1)


def largest_eigenvalue(y):
    """The spectral norm of the Hessian at y."""
    diagonal, off = np.empty(y.size), np.empty(y.size - 1)
    chain.write_chain_hessian(y, diagonal, off)
    return np.abs(scipy.linalg.eigvalsh_tridiagonal(diagonal, off)).max()


# --- the functions of one variable ----------------------------------------------------------------


@pytest.mark.parametrize("t", [0.52, 0.55, 0.6, 0.75, 1.0, 1.3, 4.0, 1e3])
def test_psi_and_its_derivatives_in_high_precision(t):
    with decimal.localcontext(prec=60):
        r = 1 / (2 * decimal.Decimal(t) - 1)
        e = (1 - r * r).exp()
        expected = [float(e), float(4 * r**3 * e), float((16 * r**6 - 24 * r**4) * e)]
    found = [chain.psi(t), chain.psi_slope(t), chain.psi_curvature(t)]
    # r^2 loses up to its own size in units in the last place when it is the exponent.
    assert_allclose(found, expected, rtol=4e-16 * (4.0 + float(r * r)))


def test_psi_is_1_at_1_and_e_far_out():
    assert chain.psi(1.0) == 1.0
    assert_allclose(chain.psi(1e9), math.e, rtol=1e-15)


@pytest.mark.parametrize("function", [chain.psi, chain.psi_slope, chain.psi_curvature])
@pytest.mark.parametrize("t", [0.5, 0.499999, 0.0, -0.0, -0.7, -1e300, -math.inf])
def test_psi_and_its_derivatives_are_exactly_0_up_to_a_half(function, t):
    assert function(t) == 0.0


@pytest.mark.parametrize("function", [chain.psi, chain.psi_slope, chain.psi_curvature])
def test_nothing_overflows_just_above_a_half_or_far_away(function):
    close = [math.nextafter(0.5, 1.0), *(0.5 + 2.0**-k for k in range(3, 53)), 0.5 + 1.0 / 54.0]
    for t in close:
        assert 0.0 <= function(t) < 1.0 or t > 0.55
    for t in (1e10, 1e160, 1e300, 1.7e308):
        assert math.isfinite(function(t))
    assert math.isnan(function(math.nan))


def test_phi_keeps_its_relative_accuracy_in_the_tails():
    t = np.array([-37.0, -30.0, -12.0, -5.0, -1.0, 0.0, 0.3, 2.0, 9.0, 40.0])
    found = [chain.phi(each) for each in t]
    # log_ndtr is another algorithm than erfc; its relative error is amplified by its own size.
    expected = math.sqrt(2.0 * math.pi * math.e) * np.exp(log_ndtr(t))
    assert_allclose(found, expected, rtol=3e-13)
    assert_allclose(found[5], math.sqrt(math.pi * math.e / 2.0), rtol=1e-15)
    assert chain.phi(-1e3) == 0.0
    assert_allclose(chain.phi(1e3), math.sqrt(2.0 * math.pi * math.e), rtol=1e-15)


def test_the_slope_of_phi():
    for t in (-6.0, -1.0, 0.0, 0.5, 3.0):
        slope = np.imag(phi(t + 1e-30j)) / 1e-30
        assert_allclose(chain.phi_slope(t), slope, rtol=1e-13)


# --- value, gradient, Hessian ---------------------------------------------------------------------


@given(POINTS)
def test_value_gradient_and_hessian_are_those_of_the_definition(y):
    assert_allclose(chain.chain_value(y), chain_value(y), rtol=1e-13, atol=1e-13)
    assert_allclose(gradient(y), chain_gradient(y), rtol=1e-12, atol=1e-12)
    assert_allclose(hessian(y), chain_hessian(y), rtol=1e-7, atol=1e-5)


def test_a_nan_is_not_passed_over():
    for y in ([math.nan, 0.0], [0.0, math.nan, 0.0]):
        assert math.isnan(chain.chain_value(np.array(y)))
        assert np.isnan(gradient(np.array(y))).any()


# --- the zero-chain property ----------------------------------------------------------------------


@given(POINTS, st.integers(0, 9))
def test_a_point_that_is_0_from_k_on_shows_coordinate_k_and_no_more(y, k):
    y[k:] = 0.0
    g = gradient(y)
    assert_array_equal(g[k + 1 :], 0.0)
    if k == 0:
        assert g[0] < -1.0


@given(POINTS, st.integers(0, 8), NUMBERS)
def test_what_follows_a_small_coordinate_is_not_seen(y, k, z):
    """While |y_k| <= 1/2 neither value nor gradient depends on y_{k+1} through that link."""
    k = min(k, y.size - 1)
    y[k:] = 0.0
    y[k] = 0.5 if z > 0.0 else -0.5
    before, g = chain.chain_value(y), gradient(y)
    if k + 1 < y.size:
        y[k + 1] = z / 6.0  # |z|/6 <= 1/2, so that what follows stays hidden too
    assert chain.chain_value(y) == before
    assert_array_equal(gradient(y), g)


# --- shen2019 lemma 7.1 ---------------------------------------------------------------------------


@given(POINTS)
def test_large_gradient(y):
    """If |y_i| < 1 there is j <= i with |y_j| < 1 and |g_j| > 1."""
    small, large = np.abs(y) < 1.0, np.abs(gradient(y)) > 1.0
    for i in np.flatnonzero(small):
        assert (small & large)[: i + 1].any()


@given(POINTS)
def test_the_gradient_is_bounded_and_so_is_the_value(y):
    T, bounds = y.size, CHAIN_BOUNDS
    g = gradient(y)
    assert np.abs(g).max() <= bounds.gradient_entry_bound <= 23.0
    assert np.linalg.norm(g) <= 23.0 * math.sqrt(T)
    assert -chain.chain_value(y) <= bounds.minus_inf_bound(T)
    assert chain.chain_value(np.zeros(T)) - chain.chain_value(y) <= 12.0 * T


@pytest.mark.parametrize("T", [1, 2, 7, 50])
def test_the_bound_of_the_value_is_nearly_attained(T):
    """All coordinates large: H_T = -(1 + (T - 1) e) sup Phi, the certified depth."""
    decrease = chain.chain_value(np.zeros(T)) - chain.chain_value(np.full(T, 1e6))
    assert decrease <= 12.0 * T
    assert_allclose(
        -chain.chain_value(np.full(T, 1e6)), CHAIN_BOUNDS.minus_inf_bound(T), rtol=1e-11
    )


@given(POINTS, st.integers(0, 2**32 - 1), st.integers(-6, 0))
def test_smoothness(y, seed, scale):
    step = 10.0**scale * np.random.default_rng(seed).standard_normal(y.size)
    change = np.linalg.norm(gradient(y + step) - gradient(y))
    smoothness = CHAIN_BOUNDS.smoothness_bound
    assert change <= smoothness * np.linalg.norm(step) * (1.0 + 1e-9)
    assert largest_eigenvalue(y) <= smoothness <= PAPER_SMOOTHNESS


@given(POINTS, st.integers(0, 2**32 - 1), st.integers(-5, 0))
def test_smoothness_of_the_hessian(y, seed, scale):
    step = 10.0**scale * np.random.default_rng(seed).standard_normal(y.size)
    change = np.linalg.norm(hessian(y + step) - hessian(y), 2)
    assert change <= CHAIN_BOUNDS.hessian_smoothness_bound * np.linalg.norm(step) * (1.0 + 1e-9)


def test_a_search_comes_within_13_percent_of_the_smoothness():
    """The largest norm found is 134.02, so that the certified bound is not loose."""
    rng = np.random.default_rng(0)
    best = 0.0
    for _ in range(12):
        start = rng.choice([-1.0, 1.0], size=3) * rng.uniform(0.6, 1.5, size=3)
        found = minimize(lambda y: -largest_eigenvalue(y), start, method="Nelder-Mead")
        best = max(best, -found.fun)
    assert 134.0 < best < CHAIN_BOUNDS.smoothness_bound < 1.13 * best


def test_a_search_comes_within_13_percent_of_the_smoothness_of_the_hessian():
    rng = np.random.default_rng(0)
    best = 0.0

    def change(z):
        y, v = z[:3], 1e-5 * z[3:] / np.linalg.norm(z[3:])
        return -np.linalg.norm(hessian(y + v) - hessian(y - v), 2) / 2e-5

    for _ in range(12):
        y = rng.choice([-1.0, 1.0], size=3) * rng.uniform(0.6, 1.2, size=3)
        start = np.append(y, rng.standard_normal(3))
        found = minimize(change, start, method="Nelder-Mead", options={"maxiter": 1500})
        best = max(best, -found.fun)
    assert 1890.0 < best < CHAIN_BOUNDS.hessian_smoothness_bound < 1.13 * best


# --- many chains ----------------------------------------------------------------------------------


@pytest.mark.parametrize("length", [1, 2, 5])
def test_blocks_are_chains_of_their_own(length):
    rng = np.random.default_rng(length)
    n, inverse = 4, 0.7
    x, v = (rng.uniform(-2.0, 2.0, size=n * length) for _ in range(2))
    blocks, directions = (inverse * x).reshape(n, length), v.reshape(n, length)
    total = sum(chain_value(block) for block in blocks)
    assert_allclose(chain.sum_of_block_values(x, length, inverse), total, rtol=1e-13)

    indices, weights = np.array([2, 0, 2]), np.array([0.5, -1.0, 2.0])
    each = np.array([chain_gradient(block) for block in blocks])
    expected = np.zeros((n, length))
    np.add.at(expected, indices, weights[:, None] * each[indices])
    g = np.ones(n * length)
    chain.add_gradients(indices, weights, x, length, inverse, g)
    assert_allclose(g, 1.0 + expected.ravel(), rtol=1e-12, atol=1e-12)
    rows = np.empty((3, length))
    chain.write_gradients(indices, x, length, inverse, rows)
    assert_allclose(rows, each[indices], rtol=1e-12, atol=1e-12)

    diagonals, offs = np.empty((n, length)), np.empty((n, length - 1))
    chain.write_block_hessians(x, length, inverse, diagonals, offs)
    each = np.array([hessian(b) @ u for b, u in zip(blocks, directions, strict=True)])
    expected = np.zeros((n, length))
    np.add.at(expected, indices, weights[:, None] * each[indices])
    g = np.ones(n * length)
    chain.add_hessian_products(indices, weights, diagonals, offs, v, g)
    assert_allclose(g, 1.0 + expected.ravel(), rtol=1e-12, atol=1e-12)


def test_a_block_outside_is_an_index_error():
    x, g, bad = np.zeros(6), np.zeros(6), np.array([0, 3])
    with pytest.raises(IndexError, match="outside 0"):
        chain.add_gradients(bad, np.ones(2), x, 2, 1.0, g)
    with pytest.raises(IndexError, match="outside 0"):
        chain.write_gradients(bad, x, 2, 1.0, np.zeros((2, 2)))
    with pytest.raises(IndexError, match="outside 0"):
        chain.add_hessian_products(bad, np.ones(2), np.ones((3, 2)), np.ones((3, 1)), x, g)
