"""The certified bounds of the zero chain: above every value, and close to the largest one."""

import decimal

import numpy as np
import pytest
from numpy.polynomial import Polynomial

from pfbench.problems.chain_bounds import CHAIN_BOUNDS, PAPER_SMOOTHNESS

COEFFICIENTS = {
    "psi": [1.0],
    "psi_slope": [0.0] * 3 + [4.0],
    "psi_curvature": [0.0] * 4 + [-24.0, 0.0, 16.0],
    "psi_third": [0.0] * 5 + [192.0, 0.0, -288.0, 0.0, 64.0],
    "phi_slope": [1.0],
    "phi_curvature": [0.0, -1.0],
    "phi_third": [-1.0, 0.0, 1.0],
}
"""Of p(x) exp(c (1 - x^2)): c = 1 for Psi as a function of r, and c = 1/2 for Phi."""


@pytest.mark.parametrize("name", COEFFICIENTS)
def test_each_bound_is_at_most_a_millionth_above_the_supremum(name):
    """By calculus: of p(x) exp(c (1 - x^2)), the largest modulus at 0 or where p' = 2 c x p."""
    p, c = Polynomial(COEFFICIENTS[name]), 0.5 if name.startswith("phi") else 1.0
    critical = (p.deriv() - 2.0 * c * Polynomial([0.0, 1.0]) * p).roots()
    points = [0.0, *(root.real for root in critical if abs(root.imag) < 1e-9 and root.real > 0.0)]
    with decimal.localcontext(prec=50):
        D = decimal.Decimal

        def modulus(x):
            total = D(0)
            for a in reversed(COEFFICIENTS[name]):
                total = total * D(x) + D(a)
            return abs(total) * (D(c) * (1 - D(x) * D(x))).exp()

        exact, bound = max(map(modulus, points)), D(getattr(CHAIN_BOUNDS, name))
        # A root in double precision is off by 1e-12 at most, the value there by its square.
        assert exact * (1 + D("1e-20")) <= bound <= exact * D("1.000001")


def test_the_bounds_of_sums_are_those_of_their_terms():
    with decimal.localcontext(prec=50):
        D, bound = decimal.Decimal, {k: decimal.Decimal(v) for k, v in vars(CHAIN_BOUNDS).items()}
        pi = D("3.14159265358979323846264338327950288419716939937510")
        phi = (2 * pi * D(1).exp()).sqrt()
        assert phi <= bound["phi"] <= phi * D("1.000000000000001")
        whole = bound["psi_curvature"] * bound["phi"] + bound["psi"] * bound["phi_curvature"]
        whole += 2 * bound["psi_slope"] * bound["phi_slope"]
        assert whole <= D(CHAIN_BOUNDS.smoothness_bound) <= whole * D("1.00000000000001")


def test_psi_is_taken_in_the_right_variable():
    """r = 1/(2 t - 1) runs through (0, inf) as t runs through (1/2, inf)."""
    t = np.linspace(0.51, 30.0, 400_001)
    z = t + 1e-30j
    slope = np.imag(np.exp(1.0 - 1.0 / (2.0 * z - 1.0) ** 2)) / 1e-30
    assert slope.max() <= CHAIN_BOUNDS.psi_slope <= 1.001 * slope.max()
    change = np.diff(slope) / np.diff(t)
    assert np.abs(change).max() <= CHAIN_BOUNDS.psi_curvature <= 1.001 * np.abs(change).max()
    second = np.diff(change) / np.diff(t)[1:]
    assert np.abs(second).max() <= CHAIN_BOUNDS.psi_third * (1.0 + 1e-4)
    assert CHAIN_BOUNDS.psi_third <= 1.001 * np.abs(second).max()


def test_what_the_bounds_make_of_the_chain():
    assert 151.2605 < CHAIN_BOUNDS.smoothness_bound < 151.2607
    assert CHAIN_BOUNDS.gradient_entry_bound < 23.0  # shen2019 lemma 7.1
    assert all(CHAIN_BOUNDS.minus_inf_bound(T) <= 12.0 * T for T in (1, 2, 50, 10**6))
    assert PAPER_SMOOTHNESS == 3**15
    assert 9.4e4 < PAPER_SMOOTHNESS / CHAIN_BOUNDS.smoothness_bound < 9.5e4
