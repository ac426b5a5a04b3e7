"""The lower bound: the floor on the methods it speaks of, planted faults, and the errata."""

import pytest

from pfbench.claims.shen2019.theorem51 import CHAIN, LOWER_BOUND, gap_floor


def test_the_floor_is_that_of_the_chain():
    """0.08 R; R = 230 sqrt T (shen2019 section 7.1)."""
    problem = CHAIN(T=9)
    assert problem.set.radius == pytest.approx(690.0)
    assert gap_floor(problem.set.diameter) == pytest.approx(0.08 * 690.0)
    assert CHAIN.example().horizon == 10


@pytest.mark.long
def test_every_method_keeps_above_the_floor_and_line_search_is_near_the_bound(judgements):
    found = judgements(LOWER_BOUND)
    assert found.verdict == "within-10"
    floors = {name: r for name, r in found.measured.items() if name.endswith("0: ratio")}
    assert len(floors) >= 16
    assert max(floors.values()) <= 1.0
    calls = found.measured["frank-wolfe[step=line-search], T(eps)/calls: ratio"]
    assert 0.9 < calls <= 1.0
