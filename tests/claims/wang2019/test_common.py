"""What the checks of wang2019 share: models without noise, the chain, the gradient mapping."""

import numpy as np
import pytest

from pfbench.claims.wang2019.shared import chain, mapping_sq_function, noiseless_model
from pfbench.problems.linear_models import LeastSquares


def test_models_without_noise_have_value_0():
    problem = noiseless_model(3, kind=LeastSquares, n=30, d=3, scale=3.0)
    rows, labels = problem.features, problem.labels
    assert np.linalg.norm(rows, axis=1) == pytest.approx(np.full(30, 3.0))
    w = np.linalg.lstsq(rows, labels)[0]
    assert problem.value(w) == pytest.approx(0.0, abs=1e-20)


@pytest.mark.parametrize(("n", "links"), [(9, 3), (100, 3), (16, 5)])
def test_a_chain_has_the_wanted_links(n, links):
    problem = chain(n, links)
    assert problem.length == links
    constants = problem.constants(problem.start())
    assert pytest.approx(1.0) == constants.L
    assert 0.5 < constants.delta <= 1.0


def test_the_mapping_without_set_and_penalty_is_the_gradient():
    problem = noiseless_model(3, kind=LeastSquares, n=30, d=3)
    x = np.array([0.3, -1.0, 2.0])
    g = problem.gradient(x)
    assert mapping_sq_function(problem)(x) == pytest.approx(g @ g)
