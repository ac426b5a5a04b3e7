"""The turning bowl decides by the batch; what a run spends to the target; subjects without it."""

import math

import pytest
from judging import trial

from pfbench.algorithms.proximal import ProxSpiderBoost
from pfbench.claims.wang2019 import cheapest, table1
from pfbench.claims.wang2019.estimate import BOWL
from pfbench.verification.subject import NotTestable

ROOT = 100


def calls(**sizes):
    problem = cheapest.TURNING(n=ROOT**2)
    epsilon = cheapest._epsilon(problem)
    algorithm = ProxSpiderBoost(step=0.5, iterations=10**6, **sizes)
    return cheapest.calls_to_target(
        trial(table1.TABLE["prox-spiderboost"]), problem, algorithm, epsilon, 1, 30.0 * problem.n
    )


def test_the_batch_and_the_epoch_decide():
    wanted = calls(batch=ROOT // 2, period=ROOT)
    assert math.isfinite(wanted)
    assert calls(batch=1, period=ROOT) > 2.0 * wanted
    assert calls(batch=4 * ROOT, period=ROOT) > 2.0 * wanted
    assert calls(batch=ROOT // 2, period=16 * ROOT) > 1.5 * wanted
    assert calls(batch=ROOT // 2, period=ROOT // 16) > 2.0 * wanted


def test_the_bowl_has_smoothness_1():
    for problem in (cheapest.turning(), BOWL()):
        assert pytest.approx(1.0) == problem.constants(problem.start()).L


class Fixed(ProxSpiderBoost):
    """Its schedule takes nothing besides."""

    @classmethod
    def theory(cls, epsilon, constants):
        return super().theory(epsilon, constants)


def test_a_schedule_that_takes_no_batch_is_not_testable_here():
    with pytest.raises(NotTestable):
        cheapest.fit_min_sfo_exponent_in_n(trial(table1.TABLE["prox-spiderboost"], Fixed), 4.0)
