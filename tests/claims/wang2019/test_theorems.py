"""wang2019 theorems 1 to 3: their bounds, what a run must do, and momentum."""

import numpy as np
import pytest
from judging import judge, trial

from pfbench.algorithms.proximal import ProxSpiderBoost, SpiderBoost
from pfbench.algorithms.spider import ProxSpiderBoostM
from pfbench.claims.wang2019 import theorem1, theorem2, theorem3
from pfbench.claims.wang2019.common import chain, mapping_sq, without_noise
from pfbench.problems.linear_models import LeastSquares
from pfbench.verification.subject import Subject


def test_the_bounds_by_hand():
    assert theorem1.bound(2.0, 3.0, 12) == 2.0
    assert theorem2.bound(2.0, 3.0, 12) == 10.0


def test_models_without_noise_have_value_0():
    problem = without_noise(3, kind=LeastSquares, n=30, d=3, scale=3.0)
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
    problem = without_noise(3, kind=LeastSquares, n=30, d=3)
    x = np.array([0.3, -1.0, 2.0])
    g = problem.gradient(x)
    assert mapping_sq(problem)(x) == pytest.approx(g @ g)


class Still(SpiderBoost):
    """Makes no step."""

    def run(self, ask, x, rng):
        yield from ()


def test_a_method_that_makes_no_step_is_broken():
    row = judge(theorem1.THM1, Subject(Still))
    assert (row.verdict, row.failed) == ("violated", True)
    assert "no step" in row.reason


SIZES = {"iterations": 12, "step": 0.1, "batch": 3, "period": 4}


@pytest.mark.parametrize(
    ("right", "variant", "penalty"),
    [
        (SpiderBoost, theorem1.Faulty, 0.0),
        (ProxSpiderBoost, theorem2.Faulty, 0.1),
        (ProxSpiderBoostM, theorem3.Faulty, 0.1),
    ],
)
def test_a_variant_without_a_fault_is_the_method_itself(right, variant, penalty):
    problem = without_noise(1, kind=LeastSquares, n=30, d=3, weight=penalty)
    steps = [
        [step.state.x for step in trial(theorem1.THM1).follow(problem, kind(**SIZES), seed=2)]
        for kind in (right, variant)
    ]
    assert len(steps[0]) == 12
    assert all(np.array_equal(a, b) for a, b in zip(*steps, strict=True))


@pytest.mark.parametrize("mutant", theorem3.MUTANTS, ids=lambda mutant: mutant.name)
def test_faults_of_the_momentum_are_caught(mutant):
    assert theorem3.momentum(trial(theorem3.THM3)).verdict == "tight"
    found = theorem3.momentum(trial(theorem3.THM3, mutant.subject.algorithm))
    assert found.verdict == "violated"
