"""Frank-Wolfe along estimates without epochs: leading terms of its schedules."""

import pytest

from pfbench.algorithms import ALGORITHMS
from pfbench.base.constants import Constants


@pytest.mark.parametrize(
    ("name", "cost"), [("nfwu-page", 5.66), ("nfwu-lsvrg", 4.76), ("nfwu-storm", 16.0)]
)
def test_the_leading_cost_of_a_normalised_update(name, cost):
    """SFO a step over sqrt n, n^(2/3), sigma/epsilon."""
    n, epsilon = 10**12, 1e-7
    constants = Constants(n=n, L_f=1.0, L_ms=1.0, D=1.0, delta=1.0, sigma2=1.0)
    a = ALGORITHMS[name].theory(epsilon, constants)
    if name == "nfwu-storm":
        assert 2 * a.batch * epsilon == pytest.approx(cost, rel=1e-3)
        return
    power = {"nfwu-page": 1 / 2, "nfwu-lsvrg": 2 / 3}[name]
    step = a.refresh * n + 2 * a.batch * (1 - a.refresh)
    assert step / n**power == pytest.approx(cost, rel=2e-3)


def test_the_leading_length_of_storm_is_that_of_a_cube():
    constants = Constants(n=9, L_f=2.0, L_ms=2.0, D=3.0, delta=1.5, sigma2=4.0)
    a = ALGORITHMS["storm-fw"].theory(1e-3, constants)
    leading = 27 / 2 * 2.0 * 2.0 * 3.0**3 * 1.5 / 1e-9
    assert a.iterations == pytest.approx(leading, rel=1e-3)


def bias(most):
    """The largest (t+1)^(1/3) S_t of S_t = (1 - alpha_t)(S_{t-1} + gamma_{t-1}), L_f D = 1."""
    S, largest = 0.0, 0.0
    for t in range(1, most):
        S = (1 - (t + 1) ** (-2 / 3)) * (S + 2 / (t + 1))
        largest = max(largest, S * (t + 1) ** (1 / 3))
    return largest


def test_the_bias_of_momentum_is_below_its_constant():
    assert 2.0 < bias(20_000) < 2.06
