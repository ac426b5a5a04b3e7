"""The logistic loss and its derivatives, also where a naive formula overflows."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from pfbench.kernels import linear

SCORES = st.floats(-700.0, 700.0)
LABELS = st.sampled_from([-1.0, 1.0])


@given(SCORES, LABELS)
def test_loss_is_log_one_plus_exp(z, b):
    assert_allclose(linear.loss(linear.LOGISTIC, z, b), np.logaddexp(0.0, -b * z), rtol=1e-13)


@given(SCORES, LABELS)
def test_slope_is_the_first_derivative(z, b):
    expected = -b * np.exp(-np.logaddexp(0.0, b * z))
    assert_allclose(linear.slope(linear.LOGISTIC, z, b), expected, rtol=1e-11)


@given(SCORES, LABELS)
def test_curvature_is_the_second_derivative(z, b):
    expected = np.exp(-np.logaddexp(0.0, z) - np.logaddexp(0.0, -z))
    assert_allclose(linear.curvature(linear.LOGISTIC, z, b), expected, rtol=1e-11)


@pytest.mark.parametrize("z", [-1e308, -1e4, 1e4, 1e308])
def test_nothing_overflows_far_out(z):
    for function in (linear.loss, linear.slope, linear.curvature):
        assert np.isfinite(function(linear.LOGISTIC, z, 1.0))


def test_an_unknown_loss_is_not_a_number():
    assert np.isnan(linear.loss(99, 0.5, 1.0))
