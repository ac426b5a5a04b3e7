"""wang2019 section 3: calls of a pair of runs, and where a method that never gets there shows."""

import math

import pytest
from judging import judge, trial

from pfbench.algorithms.proximal import SpiderBoost
from pfbench.claims.wang2019 import step
from pfbench.verification.subject import Subject


def test_a_pair_counts_calls_to_both_accuracies():
    problem = step.STEP.instances[0](3)
    near, below, reached = step._sfo_ratios_and_spider_success(trial(step.STEP), problem, 3)
    assert 0.0 < near < 1.0
    assert 0.0 < below < 1.0
    assert reached in (0.0, 1.0)


class Still(SpiderBoost):
    """Pays and stays where it is."""

    def run(self, ask, x, rng):
        for state in super().run(ask, x, rng):
            yield state._replace(x=x)


def test_a_method_that_never_gets_there_needs_infinitely_many_calls():
    problem = step.STEP.instances[0](3)
    near, below, _ = step._sfo_ratios_and_spider_success(trial(step.STEP, Still), problem, 3)
    assert math.isinf(near)
    assert math.isinf(below)


@pytest.mark.long
def test_a_method_that_never_gets_there_is_violated():
    assert judge(step.STEP, Subject(Still)).verdict == "violated"
