"""wang2019 theorem 2: its bound by hand, and a variant without a fault."""

from judging import assert_same_steps

from pfbench.algorithms.proximal import ProxSpiderBoost
from pfbench.claims.wang2019 import theorem2
from pfbench.claims.wang2019.common import without_noise
from pfbench.problems.linear_models import LeastSquares


def test_the_bound_by_hand():
    assert theorem2.bound(2.0, 3.0, 12) == 10.0


def test_a_variant_without_a_fault_is_the_method_itself():
    problem = without_noise(1, kind=LeastSquares, n=30, d=3, weight=0.1)
    assert_same_steps(problem, theorem2.CLAIMS[0], ProxSpiderBoost, theorem2.Faulty)
