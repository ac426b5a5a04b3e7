"""wang2019 theorem 1: its bound by hand, a method that makes no step, a variant without a fault."""

from judging import assert_same_steps, judge

from pfbench.algorithms.proximal import SpiderBoost
from pfbench.claims.wang2019 import theorem1
from pfbench.claims.wang2019.common import without_noise
from pfbench.problems.linear_models import LeastSquares
from pfbench.verification.subject import Subject


def test_the_bound_by_hand():
    assert theorem1.bound(2.0, 3.0, 12) == 2.0


class Still(SpiderBoost):
    """Makes no step."""

    def run(self, ask, x, rng):
        yield from ()


def test_a_method_that_makes_no_step_is_failed():
    row = judge(theorem1.THM1, Subject(Still))
    assert (row.verdict, row.catches) == ("failed", True)
    assert "no step" in row.reason


def test_a_variant_without_a_fault_is_the_method_itself():
    problem = without_noise(1, kind=LeastSquares, n=30, d=3, weight=0.0)
    assert_same_steps(problem, theorem1.CLAIMS[0], SpiderBoost, theorem1.Faulty)
