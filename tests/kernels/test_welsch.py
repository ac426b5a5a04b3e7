"""The bounded loss and its derivatives against numpy.exp."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from pfbench.kernels import welsch

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
    assert abs(welsch.curvature(z, sigma) - exact) <= 1e-14 * (1.0 + z * z / sigma) / sigma


def test_the_sweep_over_curvatures_may_write_over_its_input():
    z = np.linspace(-4.0, 4.0, 41)
    expected = np.array([welsch.curvature(t, 0.5) for t in z])
    welsch.write_curvatures(z, 0.5, z)
    assert_allclose(z, expected, rtol=1e-13, atol=1e-15)
