"""NFWU with each estimator against its reference, which is written from shen2019's pseudo-code."""

import numpy as np
import pytest

from pfbench.algorithms import ALGORITHMS
from pfbench.estimators import SPIDERG, SVRG
from pfbench.points import combine

NAMES = ["sg", "svrg", "spiderg", "casvrg", "caspiderg"]


@pytest.mark.parametrize("name", NAMES)
def test_an_estimate_is_never_changed_afterwards(small, name):
    parameters = {"iterations": 9, "step": 0.1, "batch": 3} | (
        {} if name == "sg" else {"period": 4}
    )
    algorithm = ALGORITHMS[f"nfwu-{name}"](**parameters)
    states = algorithm.run(small.ask(), small.problem.start(), np.random.default_rng(0))
    yielded = [(state.estimate, state.estimate.copy()) for state in states]
    assert all(np.array_equal(now, then) for now, then in yielded)


@pytest.mark.parametrize("estimator", [SVRG(2, 3), SPIDERG(2, 3)], ids=lambda e: e.name)
def test_two_runs_of_one_estimator_do_not_disturb_each_other(small, estimator):
    def run(interleaved):
        ask, x, rng = small.ask(), small.problem.start(), np.random.default_rng(3)
        estimate = estimator.start(ask, rng)
        other = estimator.start(small.ask(), np.random.default_rng(4)) if interleaved else None
        found = []
        for v, w in small.moves(7):
            found.append(np.array(estimate(x)))
            if other is not None:
                other(small.problem.start())
            x = combine(x, v, w)
        return found

    assert np.array_equal(run(False), run(True))
