"""Table 1: the least cost by trying everything, the exponents as counted, and the errata."""

import math

import numpy as np
import pytest

from pfbench.claims.shen2019.epoch_estimators import METHODS, error_law
from pfbench.claims.shen2019.table1 import (
    GRIDS,
    ORDERS,
    PATHS,
    TABLE,
    PathCase,
    find_min_cost,
    make_path_case,
)
from pfbench.verification.trial import Trial

NUMBERS = {"L": 1.7, "L2": 0.6, "sigma2": 2.3}


@pytest.mark.parametrize("estimator", ["svrg", "spiderg", "casvrg", "caspiderg"])
@pytest.mark.parametrize(("n", "epsilon"), [(500, 0.03), (3000, 0.002)])
def test_the_least_cost_is_the_least(estimator, n, epsilon):
    found = find_min_cost(estimator, n, epsilon, **NUMBERS)

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
    assert find_min_cost(estimator, n, epsilon).cost == pytest.approx(expected, rel=1.5e-2)


@pytest.mark.parametrize("estimator", METHODS)
def test_the_orders_are_the_exponents_for_so_many_iterations(estimator):
    """T = L Delta/eps^2 iterations: two more powers of 1/epsilon."""
    sfo = ORDERS[estimator].orders["SFO"]
    claimed = {of: exponent for of, (_, _, exponent) in GRIDS[estimator].items()}
    assert sfo.n == pytest.approx(claimed.get("n", 0.0))
    assert sfo.eps == pytest.approx(2.0 + claimed.get("1/epsilon", 0.0))


@pytest.mark.parametrize(
    ("estimator", "n", "epsilon"),
    [("svrg", 3e4, 1e-3), pytest.param("casvrg", 1e4, 1e-3, marks=pytest.mark.long)],
)
def test_the_batch_and_period_are_those_of_the_law(estimator, n, epsilon):
    """They are found from measured errors, whose noise moves a batch by an eighth."""
    here = make_path_case(Trial(TABLE[estimator]), PATHS[estimator], n, epsilon)
    least = find_min_cost(estimator, here.n, epsilon)
    assert here.cheapest_period(range(4)) in (least.p, round(1.5 * least.p), round(least.p / 1.5))
    costs = [here.min_sfo_per_iteration(least.p, seed) for seed in range(40)]
    assert np.mean(costs) == pytest.approx(least.cost, rel=0.05)


@pytest.mark.parametrize("ratio", [0.0, 0.3, 5.0])
def test_the_batch_is_the_least_whose_error_keeps_the_limit(ratio):
    """Errors that are known: 100 ratio/S over the limit; where there is none, 1 is enough."""
    tried = []

    class Known(PathCase):
        def sfo_per_iteration_and_final_error_ratio(self, S, p, seed):
            tried.append(S)
            return float(S), 100.0 * ratio / S

    assert Known(None, None, 10**6, 0.1).min_sfo_per_iteration(3, 0) == max(1.0, 100.0 * ratio)
    assert tried[0] == 16


def test_where_no_batch_keeps_the_limit_the_cost_is_that_of_the_gradient():
    class Hopeless(PathCase):
        def sfo_per_iteration_and_final_error_ratio(self, S, p, seed):
            return float(S), 7.0

    assert Hopeless(None, None, 5000, 0.1).min_sfo_per_iteration(3, 0) == 5000.0
