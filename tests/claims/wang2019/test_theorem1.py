"""wang2019 theorems 1 and 2: their bounds by hand, and a method that makes no step."""

from judging import judge

from pfbench.algorithms.proximal import SpiderBoost
from pfbench.claims.wang2019 import theorem1, theorem2
from pfbench.verification.subject import Subject


def test_the_bounds_by_hand():
    assert theorem1.bound(2.0, 3.0, 12) == 2.0
    assert theorem2.bound(2.0, 3.0, 12) == 10.0


class Still(SpiderBoost):
    """Makes no step."""

    def run(self, ask, x, rng):
        yield from ()


def test_a_method_that_makes_no_step_is_failed():
    row = judge(theorem1.THM1, Subject(Still))
    assert (row.verdict, row.catches_fault) == ("failed", True)
    assert "no step" in row.reason
