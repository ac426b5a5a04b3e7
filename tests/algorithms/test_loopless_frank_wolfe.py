"""Frank-Wolfe along estimates without epochs, on both kinds of point."""

from math import sqrt

import pytest

from pfbench.algorithms import ALGORITHMS
from pfbench.base.constants import Constants
from pfbench.verification.schedule_homogeneity import USUAL

# --- iterates and counts --------------------------------------------------------------------------

T, B = 11, 3
COIN = {"batch": B, "step": 0.15, "refresh": 0.35}
CASES = {
    "spider-fw": {"batch": B, "step": 0.15, "period": 4},
    "page-fw": COIN,
    "lsvrg-fw": COIN,
    "zerosarah-fw": {"batch": B, "step": 0.15, "table_weight": 0.3},
    "storm-fw": {"batch": B, "step": 0.15, "alpha": 0.3, "snapshot": 5},
    "nfwu-page": COIN,
    "nfwu-lsvrg": COIN,
    "nfwu-storm": {"batch": B, "step": 0.15, "alpha": 0.3},
    "one-sfw": {"batch": B},
    "momentum-sfw": {},
    "page-fw-convex": {"batch": B, "refresh": 0.35, "delay": 6},
    "spider-fw-convex": {},
}


# --- schedules ------------------------------------------------------------------------------------

L, D, H0, SIGMA = 3.0, 2.0, 5.0, sqrt(1.1)


def error(name, a, n):
    """The root of the bound of E|g_t - grad f(x_t)|^2 for steps of length gamma D."""
    s = a.step * D
    if "storm" in name:
        return sqrt(max(SIGMA**2 / (a.snapshot or a.batch), 2 * L * s * SIGMA / a.batch))
    if "spider" in name:
        return L * s * sqrt((a.period - 1) / a.batch)
    if "zerosarah" in name:
        return 2 * L * s / sqrt(a.table_weight * (2 - a.table_weight) * a.batch)
    p = a.refresh
    return L * s * sqrt((1 - p) / (p * a.batch) * (1 if "page" in name else (2 - p) / p))


@pytest.mark.parametrize("constants", USUAL, ids=lambda c: f"n={c.n}")
@pytest.mark.parametrize("name", [one for one in CASES if one.endswith("-fw")])
def test_a_schedule_makes_its_bound_epsilon(name, constants):
    a = ALGORITHMS[name].theory(0.2, constants)
    off = error(name, a, constants.n)
    bound = H0 / (a.iterations * a.step) + L * D**2 * a.step / 2 + D * off
    assert bound <= 0.2 * (1 + 1e-9)
    assert bound >= 0.9 * 0.2


@pytest.mark.parametrize("constants", USUAL, ids=lambda c: f"n={c.n}")
@pytest.mark.parametrize("name", ["nfwu-page", "nfwu-lsvrg", "nfwu-storm"])
def test_the_error_of_normalised_updates_is_at_most_half_of_epsilon(name, constants):
    a = ALGORITHMS[name].theory(0.2, constants)
    assert a.step * D == pytest.approx(0.2 / L)
    assert error(name, a, constants.n) <= 0.1 * (1 + 1e-9)


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
