"""Losses, their derivatives, and the tridiagonal helpers of Lanczos against NumPy."""

import math

import numpy as np
import pytest
from helpers import LOSSES
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.sparse import csr_array

from pfbench.kernels import linear, tridiagonal, welsch

KINDS = {
    "nonconvex-logistic": linear.LOGISTIC,
    "robust-regression": linear.ROBUST,
    "log-cosh": linear.LOG_COSH,
    "quadratic": linear.SQUARE,
}
EACH = pytest.mark.parametrize("name", KINDS)


@EACH
@given(z=st.floats(-600.0, 600.0), label=st.floats(-3.0, 3.0))
def test_losses_and_derivatives_are_what_they_say(name, z, label):
    b = math.copysign(1.0, label) if name == "nonconvex-logistic" else label
    functions = linear.loss, linear.slope, linear.curvature
    for function, definition in zip(functions, LOSSES[name], strict=True):
        exact = float(definition(z, b))
        found = function(KINDS[name], z, b)
        assert math.isclose(found, exact, rel_tol=1e-11, abs_tol=1e-15)


@EACH
@pytest.mark.parametrize("z", [-1e150, -1e4, 1e4, 1e150])
def test_nothing_overflows_far_out(name, z):
    for function in (linear.loss, linear.slope, linear.curvature):
        assert math.isfinite(function(KINDS[name], z, 1.0))


# --- rows in their forms, against dense numpy -----------------------------------------------------

N, D, ALPHA = 23, 7, 0.3
FORMS = {"ones": 0, "sparse": 1, "dense": 2}


def rows_of(form, rng):
    """Rows as an array, and as the loops read them."""
    there = rng.random((N, D)) < (1.1 if form == "dense" else 0.4)
    array = there * (1.0 if form == "ones" else rng.standard_normal((N, D)))
    data = linear.RowData.from_matrix(csr_array(array), np.where(rng.random(N) < 0.5, 1.0, -1.0))
    assert data.values.ndim == FORMS[form]
    return array, data


def drawn_of(counted, rng):
    """A sample as the loops take it, and its weights."""
    indices = rng.integers(N, size=9)
    counts = np.array([3, 0, 1, 1, 2, 1, 1, 1, 2]) if counted else np.empty(0, dtype=np.int64)
    counts.setflags(write=False)  # as in a run: other arrays would be compiled for
    size = int(counts.sum()) if counted else indices.size
    weights = np.zeros(N)
    np.add.at(weights, indices, counts / size if counted else 1.0 / size)
    return (indices, counts, size), weights


def slopes(name, data, array, x):
    return np.array([LOSSES[name][1](z, b) for z, b in zip(array @ x, data.labels, strict=True)])


def regulariser(x):
    return 2.0 * ALPHA * x / (1.0 + x * x) ** 2


@EACH
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("counted", [False, True])
def test_sampled_loops_are_what_they_say_for_every_form_of_rows(name, form, counted):
    rng, kind, close = np.random.default_rng(7), KINDS[name], {"rtol": 1e-11, "atol": 1e-13}
    array, data = rows_of(form, rng)
    drawn, weights = drawn_of(counted, rng)
    x, y, g = *rng.standard_normal((2, D)), np.full(D, np.nan)
    at_x, at_y = slopes(name, data, array, x), slopes(name, data, array, y)
    linear.write_mean_gradient(kind, data, ALPHA, *drawn, x, g)
    np.testing.assert_allclose(g, array.T @ (weights * at_x) + regulariser(x), **close)
    linear.write_mean_difference(kind, data, ALPHA, *drawn, x, y, g)
    expected = array.T @ (weights * (at_x - at_y)) + regulariser(x) - regulariser(y)
    np.testing.assert_allclose(g, expected, **close)
    stored, g, mean = at_y.copy(), np.zeros(D), np.zeros(D)
    linear.add_changes_from_stored_slopes(kind, data, *drawn, stored, x, g)
    np.testing.assert_allclose(g, array.T @ (weights * (at_x - at_y)), **close)
    np.testing.assert_array_equal(stored, at_y)
    again = np.zeros(D)
    linear.replace_slopes(kind, data, *drawn, stored, x, again, mean)
    np.testing.assert_array_equal(again, g)
    expected = np.where(np.isin(np.arange(N), drawn[0]), at_x, at_y)
    np.testing.assert_allclose(stored, expected, **close)
    np.testing.assert_allclose(mean, array.T @ (expected - at_y) / N, **close)


def test_rows_of_ones_give_the_same_bits_as_their_values():
    rng = np.random.default_rng(8)
    array, ones = rows_of("ones", rng)
    values = ones._replace(values=np.ones(csr_array(array).nnz))
    drawn, _ = drawn_of(False, rng)
    x, y, g, h = *rng.standard_normal((2, D)), np.empty(D), np.empty(D)
    linear.write_mean_difference(linear.LOGISTIC, ones, ALPHA, *drawn, x, y, g)
    linear.write_mean_difference(linear.LOGISTIC, values, ALPHA, *drawn, x, y, h)
    np.testing.assert_array_equal(g, h)


@pytest.mark.parametrize("wrong", [-1, N])
def test_an_index_outside_is_refused_before_anything_is_read(wrong):
    data = rows_of("sparse", np.random.default_rng(9))[1]
    (_, none, _), _ = drawn_of(False, np.random.default_rng(9))
    drawn = np.array([0, wrong]), none, 2
    with pytest.raises(IndexError, match="outside 0"):
        linear.write_mean_gradient(linear.LOGISTIC, data, 0.0, *drawn, np.zeros(D), np.zeros(D))
    with pytest.raises(IndexError, match="another size"):
        linear.write_mean_gradient(linear.LOGISTIC, data, 0.0, *drawn, np.zeros(D - 1), np.zeros(D))


# --- the bounded loss -----------------------------------------------------------------------------

SIGMAS = st.floats(1e-3, 1e3)
SCALED = st.floats(-8.0, 8.0)  # z / sqrt(sigma)


@given(st.floats(0.0, 13.0))
def test_decay_is_the_exponential(a):
    assert_allclose(welsch.exp_of_negative(a), np.exp(-a), rtol=1e-13)


@given(st.floats(0.0, 1e308))
def test_decay_is_the_exponential_on_the_scale_of_the_loss(a):
    # Far out the relative error grows; what is lost there is below rounding of a loss near 1.
    assert abs(welsch.exp_of_negative(a) - np.exp(-a)) <= 1e-14
    assert welsch.exp_of_negative(a) >= 0.0


@given(SCALED, SIGMAS)
def test_slope_is_the_first_derivative(scaled, sigma):
    z = scaled * np.sqrt(sigma)
    exact = z / sigma * np.exp(-z * z / (2 * sigma))
    assert abs(welsch.slope(z, sigma) - exact) <= 1e-13 * abs(exact) + 1e-14 * abs(z) / sigma


@given(SCALED, SIGMAS)
def test_curvature_is_the_second_derivative(scaled, sigma):
    z = scaled * np.sqrt(sigma)
    exact = (1.0 - z * z / sigma) / sigma * np.exp(-z * z / (2 * sigma))
    # Near z^2 = sigma the first factor cancels: compare on the scale of its terms.
    array = np.array([z])
    welsch.write_curvatures(array, sigma, array)  # which may write over its input
    assert abs(array[0] - exact) <= 1e-14 * (1.0 + z * z / sigma) / sigma


# --- the tridiagonal helpers of Lanczos -----------------------------------------------------------


def lanczos_coefficients(rng, k):
    """Diagonal and off-diagonal of B'B for a random upper bidiagonal B, as Lanczos makes them."""
    alphas = rng.uniform(0.2, 2.0, size=k)
    betas = rng.uniform(0.05, 2.0, size=k)
    a = alphas**2
    a[1:] += betas[:-1] ** 2
    return a, alphas * betas


def dense_tridiagonal(a, b, k):
    return np.diag(a[:k]) + np.diag(b[: k - 1], 1) + np.diag(b[: k - 1], -1)


@given(st.integers(1, 30), st.integers(0, 2**32 - 1))
def test_largest_eigenvalue_from_any_start_above_it(k, seed):
    rng = np.random.default_rng(seed)
    a, b = lanczos_coefficients(rng, k)
    top = np.linalg.eigvalsh(dense_tridiagonal(a, b, k))[-1]
    above = top * (1.0 + 10.0 ** rng.uniform(-14, 3))
    assert_allclose(tridiagonal.find_largest_eigenvalue(a, b, k, above), top, rtol=1e-12)


@given(st.integers(1, 30), st.integers(0, 2**32 - 1))
def test_leading_eigenvector(k, seed):
    a, b = lanczos_coefficients(np.random.default_rng(seed), k)
    T = dense_tridiagonal(a, b, k)
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
    T = dense_tridiagonal(a, b, k)
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
    top = np.linalg.eigvalsh(dense_tridiagonal(a, b, k))[-1]
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
