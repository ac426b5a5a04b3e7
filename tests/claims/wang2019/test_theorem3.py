"""wang2019 theorem 3: its momentum, and faults of it."""

import pytest
from judging import trial

from pfbench.claims.wang2019 import PAPER, theorem3

FAULTS = [mutant for mutant in PAPER.mutants if theorem3.THM3 in mutant.expected_claims]


@pytest.mark.parametrize("mutant", FAULTS, ids=lambda mutant: mutant.name)
def test_faults_of_the_momentum_are_caught(mutant):
    assert theorem3.decide_if_momentum_is_admissible(trial(theorem3.THM3)).verdict == "attained"
    decision = theorem3.decide_if_momentum_is_admissible(
        trial(theorem3.THM3, mutant.subject.algorithm_under_test())
    )
    assert decision.verdict == "violated"
