"""wang2019 theorem 2: its bound by hand."""

from pfbench.claims.wang2019 import theorem2


def test_the_bound_by_hand():
    assert theorem2.bound(2.0, 3.0, 12) == 10.0
