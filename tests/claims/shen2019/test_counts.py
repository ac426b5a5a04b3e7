"""Exact counts of algorithm 1: the formula by hand, the catalogue's methods, a planted fault."""

import pytest
from judging import judge

from pfbench.algorithms.nfwu import NFWUSVRG
from pfbench.base.counts import Counts
from pfbench.claims.shen2019.table1_counts import COUNT, FAMILIES, SIZES, exact_counts
from pfbench.verification.subject import Subject


def test_counts_by_hand():
    """n=10, S=3, p=4, T=9: full gradients at 0, 4, 8; six differences."""
    assert exact_counts("sg", n=10, S=3, p=4, T=9) == Counts(sfo=27, lo=9)
    assert exact_counts("svrg", n=10, S=3, p=4, T=9) == Counts(fo=3, sfo=66, lo=9)
    assert exact_counts("casvrg", n=10, S=3, p=4, T=9) == Counts(fo=3, sfo=66, sso=30, hvp=78, lo=9)


def test_epochs_are_cut_short_and_nothing_divides_n():
    for S, p, T in SIZES[:2]:
        assert T % p
        assert all(family.example().n % d for family in FAMILIES for d in (S, p))


@pytest.mark.claims
def test_the_counts_of_one_method_are_not_anothers():
    found = judge(COUNT["sg"], Subject(NFWUSVRG))
    assert found.verdict == "violated"
    assert "sfo is" in found.reason
