"""The rates of wang2019: their exponents, and the slopes on which they are fitted."""

import numpy as np
import pytest
from judging import trial

from pfbench.algorithms.proximal import ProxGD
from pfbench.claims.wang2019 import table1, theorem3
from pfbench.claims.wang2019.mapping_rates import long_slope_problem
from pfbench.verification.criteria import MAPPING, ComplexityOrder

ORDERS = {
    "wang2019-thm3": ("prox-spiderboost-m", ComplexityOrder(2.0, 1 / 2), 2.0),
    "wang2019-table1-prox-gd": ("prox-gd", ComplexityOrder(2.0, 1.0), 2.0),
    "wang2019-table1-prox-sgd": ("prox-sgd", ComplexityOrder(4.0), 2.0),
    "wang2019-table1-prox-svrg": ("prox-svrg", ComplexityOrder(2.0, 2 / 3), 2.0),
    "wang2019-table1-prox-saga": ("prox-saga", ComplexityOrder(2.0, 2 / 3), 2.0),
    "wang2019-table1-prox-svrg-plus": ("prox-svrg-plus", ComplexityOrder(2.0, 2 / 3), 2.0),
    "wang2019-table1-natasha15": ("natasha15", ComplexityOrder(10 / 3), 10 / 3),
    "wang2019-table1-prox-spiderboost": ("prox-spiderboost", ComplexityOrder(2.0, 1 / 2), 2.0),
    "wang2019-table1-prox-spiderboost-online": ("prox-spiderboost", ComplexityOrder(3.0), 2.0),
}


def test_every_rate_states_its_orders():
    claims = (*theorem3.CLAIMS, *table1.CLAIMS)
    assert [claim.name for claim in claims] == list(ORDERS)
    for claim in claims:
        method, sfo, po = ORDERS[claim.name]
        assert (claim.complexity.method, claim.complexity.criterion) == (method, MAPPING)
        assert claim.complexity.orders == {"SFO": sfo, "PO": ComplexityOrder(po)}


@pytest.mark.parametrize("epsilon", [1.0, 0.1])
def test_a_long_slope_takes_as_many_steps_as_wanted(epsilon):
    """Gradient steps 1/L move by 2 epsilon/L and lower f + h by 4 epsilon^2/L: a stride of 1."""
    problem = long_slope_problem(
        np.random.default_rng(3), epsilon, n=2, sigma=0.0, stride=1.0, steps=50, shrink=0.0
    )
    algorithm = ProxGD(iterations=200_000, step=1.0 / problem.L)
    steps = enumerate(trial(table1.TABLE["prox-gd"]).follow(problem, algorithm), 1)
    walked = next(k for k, step in steps if abs(step.state.x[0]) <= epsilon)
    assert 50 / epsilon**2 <= walked <= 105 / epsilon**2
