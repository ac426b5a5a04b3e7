"""The certified bounds of the zero chain: above every value, and close to the largest one."""

import decimal
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pfbench.problems.chain_bounds import FUNCTIONS, PAPER_SMOOTHNESS, RoundedInterval, chain_bounds

R = np.linspace(1e-6, 40.0, 2_000_001)
BOUND = chain_bounds()
POLYNOMIALS = {
    "psi": lambda r: np.exp(1.0 - r**2),
    "psi_slope": lambda r: 4.0 * r**3 * np.exp(1.0 - r**2),
    "psi_curvature": lambda r: (16.0 * r**6 - 24.0 * r**4) * np.exp(1.0 - r**2),
    "psi_third": lambda r: (64.0 * r**9 - 288.0 * r**7 + 192.0 * r**5) * np.exp(1.0 - r**2),
    "phi_slope": lambda t: np.exp((1.0 - t**2) / 2.0),
    "phi_curvature": lambda t: -t * np.exp((1.0 - t**2) / 2.0),
    "phi_third": lambda t: (t**2 - 1.0) * np.exp((1.0 - t**2) / 2.0),
}


@pytest.mark.parametrize("name", POLYNOMIALS)
def test_each_bound_is_above_a_dense_grid_and_within_a_thousandth(name):
    largest = np.abs(POLYNOMIALS[name](R)).max()
    assert largest <= getattr(BOUND, name) <= 1.001 * largest


@pytest.mark.parametrize("name", POLYNOMIALS)
def test_each_supremum_is_enclosed(name):
    lower, upper = FUNCTIONS[name].supremum_bounds()
    largest = np.abs(POLYNOMIALS[name](R)).max()
    assert lower <= largest * (1.0 + 1e-9)
    assert largest * (1.0 - 1e-9) <= upper <= lower * (1.0 + 1e-6)


def test_the_bounds_are_those_of_calculus():
    """Psi' is largest at r^2 = 3/2, |Psi''| at r^2 = (9 + sqrt 33)/4, |Phi''| at t = 1."""
    with decimal.localcontext(prec=50):
        D = decimal.Decimal
        e = D(1).exp()
        q = (9 + D(33).sqrt()) / 4
        slope = 4 * (D(3) / 2) ** D("1.5") * (-D(1) / 2).exp()
        curvature = (16 * q**3 - 24 * q**2) * (1 - q).exp()
        pi = D("3.14159265358979323846264338327950288419716939937510")
        exact = {
            "psi": e,
            "psi_slope": slope,
            "psi_curvature": curvature,
            "phi": (2 * pi * e).sqrt(),
            "phi_slope": e.sqrt(),
            "phi_curvature": D(1),
        }
        for name, number in exact.items():
            bound = D(getattr(BOUND, name))
            assert number <= bound <= number * D("1.000002"), name
        whole = curvature * exact["phi"] + e + 2 * slope * e.sqrt()
        assert whole <= D(BOUND.smoothness_bound) <= whole * D("1.000002")


def test_psi_is_taken_in_the_right_variable():
    """r = 1/(2 t - 1) runs through (0, inf) as t runs through (1/2, inf)."""
    t = np.linspace(0.51, 30.0, 400_001)
    z = t + 1e-30j
    slope = np.imag(np.exp(1.0 - 1.0 / (2.0 * z - 1.0) ** 2)) / 1e-30
    assert slope.max() <= BOUND.psi_slope <= 1.001 * slope.max()
    change = np.diff(slope) / np.diff(t)
    assert np.abs(change).max() <= BOUND.psi_curvature <= 1.001 * np.abs(change).max()
    second = np.diff(change) / np.diff(t)[1:]
    assert np.abs(second).max() <= BOUND.psi_third * (1.0 + 1e-4)
    assert BOUND.psi_third <= 1.001 * np.abs(second).max()


def test_what_the_bounds_make_of_the_chain():
    assert 151.2605 < BOUND.smoothness_bound < 151.2607
    assert BOUND.gradient_entry_bound < 23.0  # shen2019 lemma 7.1
    assert all(BOUND.minus_inf_bound(T) <= 12.0 * T for T in (1, 2, 50, 10**6))
    assert PAPER_SMOOTHNESS == 3**15
    assert 9.4e4 < PAPER_SMOOTHNESS / BOUND.smoothness_bound < 9.5e4


# --- the interval arithmetic ----------------------------------------------------------------------

NUMBERS = st.floats(-1e3, 1e3)


def inside(number, interval):
    """Whether an exact number lies in an interval of floats."""
    return (
        decimal.Decimal(float(interval.lower)) <= number <= decimal.Decimal(float(interval.upper))
    )


@given(NUMBERS, NUMBERS, NUMBERS, NUMBERS, st.floats(0.0, 1.0), st.floats(0.0, 1.0))
def test_operations_enclose_the_exact_result(a, b, c, d, s, t):
    x, y = (RoundedInterval(np.array(min(pair)), np.array(max(pair))) for pair in ((a, b), (c, d)))
    with decimal.localcontext(prec=2500, Emin=-5000, Emax=5000):
        # Exact points of the two intervals, ends included.
        p, q = (
            decimal.Decimal(float(i.lower)) * (1 - decimal.Decimal(w))
            + decimal.Decimal(float(i.upper)) * decimal.Decimal(w)
            for i, w in ((x, s), (y, t))
        )
        assert inside(p + q, x + y)
        assert inside(p - q, x - y)
        assert inside(p * q, x * y)
        assert inside(abs(p), x.modulus())


@given(st.floats(-700.0, 700.0))
def test_exp_and_sqrt_enclose_the_exact_result(a):
    point = RoundedInterval.from_float(a)
    with decimal.localcontext(prec=40):
        assert inside(decimal.Decimal(a).exp(), point.exp())
        assert inside(decimal.Decimal(abs(a)).sqrt(), point.modulus().sqrt())
    assert float(point.exp().upper) <= math.exp(a) * (1.0 + 1e-14)


def test_exp_over_many_arguments():
    """The error of exp that the enclosures rest on, on the arguments where they are evaluated."""
    a = -np.random.default_rng(0).uniform(0.0, 50.0, size=4000) + 1.0
    enclosed = RoundedInterval(a, a).exp()
    with decimal.localcontext(prec=40):
        for number, lower, upper in zip(a, enclosed.lower, enclosed.upper, strict=True):
            assert decimal.Decimal(lower) <= decimal.Decimal(number).exp() <= decimal.Decimal(upper)
