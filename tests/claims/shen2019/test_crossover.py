"""Crossovers with SPIDERG: where the least costs are equal, and as counted."""

import pytest

from pfbench.claims.shen2019.table1 import CROSSOVERS, min_cost


@pytest.mark.parametrize("estimator", CROSSOVERS)
def test_at_the_crossover_the_costs_are_equal(estimator):
    n = 10**8
    at = CROSSOVERS[estimator].epsilon(n)
    spider = min_cost("spiderg", n, at).cost
    assert min_cost(estimator, n, at).cost == pytest.approx(spider, rel=0.02)
