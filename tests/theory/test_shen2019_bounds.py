"""Formulas of shen2019: laws by summing increments, least cost by trying everything."""

import math

import pytest

from pfbench.base.counts import Counts
from pfbench.theory.shen2019_bounds import CROSSOVERS, error_law, exact_counts, least_cost

NUMBERS = {"L": 1.7, "L2": 0.6, "sigma2": 2.3}


@pytest.mark.parametrize("j", [1, 2, 7, 30])
def test_laws_are_sums_of_their_increments(j):
    """On a straight path the recursive laws add up what each step costs."""
    eta, S, L, L2 = 0.01, 5, NUMBERS["L"], NUMBERS["L2"]
    steps = range(1, j + 1)
    expected = {
        "sg": 2.3 / S,
        "svrg": (L * j * eta) ** 2 / S,
        "spiderg": sum((L * eta) ** 2 for _ in steps) / S,
        "casvrg": (L2 * (j * eta) ** 2 / 2) ** 2 / S,
        "caspiderg": sum((L2 * eta**2 * (i - 0.5)) ** 2 for i in steps) / S,
    }
    for name, value in expected.items():
        assert error_law(name, j, eta, S, **NUMBERS) == pytest.approx(value)


def test_counts_by_hand():
    """n=10, S=3, p=4, T=9: full gradients at 0, 4, 8; six differences."""
    assert exact_counts("sg", n=10, S=3, p=4, T=9) == Counts(sfo=27, lo=9)
    assert exact_counts("svrg", n=10, S=3, p=4, T=9) == Counts(fo=3, sfo=66, lo=9)
    assert exact_counts("casvrg", n=10, S=3, p=4, T=9) == Counts(fo=3, sfo=66, sso=30, hvp=78, lo=9)


@pytest.mark.parametrize("estimator", ["svrg", "spiderg", "casvrg", "caspiderg"])
@pytest.mark.parametrize(("n", "epsilon"), [(500, 0.03), (3000, 0.002)])
def test_the_least_cost_is_the_least(estimator, n, epsilon):
    found = least_cost(estimator, n, epsilon, **NUMBERS)

    def cost(p):
        law = error_law(estimator, p - 1, epsilon / NUMBERS["L"], 1.0, **NUMBERS)
        S = max(1, math.ceil(4.0 * law / epsilon**2 * (1 - 1e-12)))
        return (n + 2 * S * (p - 1)) / p

    best = min(cost(p) for p in range(2, n + 1))
    assert found.cost == pytest.approx(cost(found.p))
    assert best <= found.cost <= 1.002 * best
    error = error_law(estimator, found.p - 1, epsilon / NUMBERS["L"], found.S, **NUMBERS)
    assert error <= epsilon**2 / 4.0 * (1 + 1e-9)


@pytest.mark.parametrize(
    ("estimator", "constant", "n_power", "epsilon_power"),
    [
        ("svrg", 3.78, 2 / 3, 0.0),
        ("spiderg", 5.66, 1 / 2, 0.0),
        ("casvrg", 1.90, 0.8, 0.4),
        ("caspiderg", 2.24, 0.75, 0.5),
    ],
)
def test_the_constants_of_the_least_cost(estimator, constant, n_power, epsilon_power):
    n, epsilon = 10**7, 1e-6
    expected = constant * n**n_power * epsilon**epsilon_power
    assert least_cost(estimator, n, epsilon).cost == pytest.approx(expected, rel=1.5e-2)


@pytest.mark.parametrize("estimator", CROSSOVERS)
def test_at_the_crossover_the_costs_are_equal(estimator):
    constant, power = CROSSOVERS[estimator]
    n = 10**8
    at = constant * n**power
    assert least_cost(estimator, n, at).cost == pytest.approx(
        least_cost("spiderg", n, at).cost, rel=0.02
    )
