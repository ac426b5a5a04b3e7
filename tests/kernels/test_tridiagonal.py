"""The tridiagonal helpers of Lanczos against numpy.linalg.eigh."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from pfbench.kernels import tridiagonal


def lanczos_coefficients(rng, k):
    """Diagonal and off-diagonal of B'B for a random upper bidiagonal B, as Lanczos makes them."""
    alphas = rng.uniform(0.2, 2.0, size=k)
    betas = rng.uniform(0.05, 2.0, size=k)
    a = alphas**2
    a[1:] += betas[:-1] ** 2
    return a, alphas * betas


def dense(a, b, k):
    return np.diag(a[:k]) + np.diag(b[: k - 1], 1) + np.diag(b[: k - 1], -1)


@given(st.integers(1, 30), st.integers(0, 2**32 - 1))
def test_largest_eigenvalue_from_any_start_above_it(k, seed):
    rng = np.random.default_rng(seed)
    a, b = lanczos_coefficients(rng, k)
    top = np.linalg.eigvalsh(dense(a, b, k))[-1]
    above = top * (1.0 + 10.0 ** rng.uniform(-14, 3))
    assert_allclose(tridiagonal.find_largest_eigenvalue(a, b, k, above), top, rtol=1e-12)


@given(st.integers(1, 30), st.integers(0, 2**32 - 1))
def test_leading_eigenvector(k, seed):
    a, b = lanczos_coefficients(np.random.default_rng(seed), k)
    T = dense(a, b, k)
    top = np.linalg.eigvalsh(T)[-1]
    q = np.full(k + 3, np.nan)
    tridiagonal.write_leading_eigenvector(
        a, b, k, tridiagonal.find_largest_eigenvalue(a, b, k, 2 * top), q
    )
    assert np.isnan(q[k:]).all()  # only the first k entries are written
    assert_allclose(np.linalg.norm(q[:k]), 1.0, rtol=1e-13)
    assert_allclose(T @ q[:k], top * q[:k], atol=1e-11 * top)


def test_leading_eigenvector_that_grows_over_many_orders_of_magnitude():
    # A large last pivot: the vector's first entries are far below rounding of its last one.
    a, b = np.full(20, 1.0), np.full(20, 1e-3)
    a[-1] = 5.0
    q = np.empty(20)
    top = tridiagonal.find_largest_eigenvalue(a, b, 20, 6.0)
    tridiagonal.write_leading_eigenvector(a, b, 20, top, q)
    assert_allclose(np.abs(q / q[-1])[::-1][:5], (1e-3 / 4.0) ** np.arange(5), rtol=1e-3)


@given(st.integers(1, 20), st.integers(0, 2**32 - 1))
def test_log_polynomial_is_the_determinant(k, seed):
    a, b = lanczos_coefficients(np.random.default_rng(seed), k)
    T = dense(a, b, k)
    x = 1.5 * np.linalg.eigvalsh(T)[-1]
    log, slope = tridiagonal.log_polynomial_and_derivative(a, b, k, x)
    logdet = np.linalg.slogdet(x * np.eye(k) - T)[1]
    assert_allclose(log, logdet - np.log(b[:k]).sum(), rtol=1e-10, atol=1e-10)
    assert_allclose(slope, np.trace(np.linalg.inv(x * np.eye(k) - T)), rtol=1e-9)


def test_log_polynomial_is_minus_infinity_below_an_eigenvalue():
    a, b = np.array([1.0, 3.0]), np.array([0.5, 0.5])
    assert tridiagonal.log_polynomial_and_derivative(a, b, 2, 2.0)[0] == -np.inf


@given(st.integers(1, 20), st.integers(0, 2**32 - 1), st.floats(0.0, 60.0))
def test_polynomial_root_is_where_the_polynomial_reaches_the_target(k, seed, target):
    a, b = lanczos_coefficients(np.random.default_rng(seed), k)
    top = np.linalg.eigvalsh(dense(a, b, k))[-1]
    x = tridiagonal.find_log_polynomial_crossing(a, b, k, top, target)
    assert x >= top
    # The certificate needs the side: at the root the polynomial is at least the target.
    assert tridiagonal.log_polynomial_and_derivative(a, b, k, x)[0] >= target
    below = top + (x - top) * (1.0 - 1e-6) - 1e-12 * x
    if below > top:
        assert tridiagonal.log_polynomial_and_derivative(a, b, k, below)[0] < target


@pytest.mark.parametrize("target", [30.0, 60.0])
def test_polynomial_root_far_above_the_eigenvalue(target):
    # One step: the polynomial is (x - a)/b, so the root is a + b e^target, however far that is.
    a, b = np.array([1.0]), np.array([0.5])
    root = tridiagonal.find_log_polynomial_crossing(a, b, 1, 1.0, target)
    assert_allclose(root, 1.0 + 0.5 * np.exp(target), rtol=1e-9)
