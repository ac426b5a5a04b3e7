"""wang2019 theorem 3: its momentum, faults of it, and a variant without a fault."""

import pytest
from judging import assert_same_steps, trial

from pfbench.algorithms.spider import ProxSpiderBoostM
from pfbench.claims.wang2019 import theorem3
from pfbench.claims.wang2019.common import without_noise
from pfbench.problems.linear_models import LeastSquares


def test_a_variant_without_a_fault_is_the_method_itself():
    problem = without_noise(1, kind=LeastSquares, n=30, d=3, weight=0.1)
    assert_same_steps(problem, theorem3.CLAIMS[0], ProxSpiderBoostM, theorem3.Faulty)


@pytest.mark.parametrize("mutant", theorem3.MUTANTS, ids=lambda mutant: mutant.name)
def test_faults_of_the_momentum_are_caught(mutant):
    assert theorem3.momentum(trial(theorem3.THM3)).verdict == "tight"
    found = theorem3.momentum(trial(theorem3.THM3, mutant.subject.algorithm))
    assert found.verdict == "violated"
