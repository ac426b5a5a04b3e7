"""The losses of linear models and their derivatives, also where a naive formula overflows."""

import math

import numpy as np
import pytest
from helpers import LOSSES
from hypothesis import given
from hypothesis import strategies as st

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
def test_derivatives_are_slopes_of_what_they_derive(name):
    h = 1e-5
    for z in np.linspace(-4.0, 4.0, 17):
        for function, derivative in ((linear.loss, linear.slope), (linear.slope, linear.curvature)):
            rise = function(KINDS[name], z + h, 1.0) - function(KINDS[name], z - h, 1.0)
            assert math.isclose(derivative(KINDS[name], z, 1.0), rise / (2 * h), abs_tol=1e-9)


@EACH
@pytest.mark.parametrize("z", [-1e150, -1e4, 1e4, 1e150])
def test_nothing_overflows_far_out(name, z):
    for function in (linear.loss, linear.slope, linear.curvature):
        assert math.isfinite(function(KINDS[name], z, 1.0))
