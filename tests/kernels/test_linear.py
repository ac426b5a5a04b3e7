"""The losses of linear models and their derivatives, also where a naive formula overflows."""

import math

import numpy as np
import pytest
from helpers import LOSSES
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from pfbench.kernels import linear

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
