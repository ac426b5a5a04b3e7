"""Exact counts of algorithm 1: the formula by hand, the catalogue's methods, a planted fault."""

from pfbench.base.counts import Counts
from pfbench.claims.shen2019.table1_counts import exact_counts


def test_counts_by_hand():
    """n=10, S=3, p=4, T=9: full gradients at 0, 4, 8; six differences."""
    assert exact_counts("sg", n=10, S=3, p=4, T=9) == Counts(sfo=27, lo=9)
    assert exact_counts("svrg", n=10, S=3, p=4, T=9) == Counts(fo=3, sfo=66, lo=9)
    assert exact_counts("casvrg", n=10, S=3, p=4, T=9) == Counts(fo=3, sfo=66, sso=30, hvp=78, lo=9)
