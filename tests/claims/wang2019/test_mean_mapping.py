"""wang2019 theorems 1 and 2: a method that makes no step."""

from judging import judge

from pfbench.algorithms.proximal import SpiderBoost
from pfbench.claims.wang2019 import mean_mapping
from pfbench.verification.subject import Subject


class Still(SpiderBoost):
    """Makes no step."""

    def run(self, ask, x, rng):
        yield from ()


def test_a_method_that_makes_no_step_is_failed():
    row = judge(mean_mapping.THM1, Subject(Still))
    assert (row.verdict, row.catches_fault) == ("failed", True)
    assert "no step" in row.reason
