"""The lower bound: the floor on the methods it speaks of, planted faults, and the errata."""

import pytest

from pfbench.claims.shen2019.theorem51 import CHAIN, gap_floor


def test_the_floor_is_that_of_the_chain():
    """0.08 R; R = 230 sqrt T (shen2019 section 7.1)."""
    problem = CHAIN(T=9)
    assert problem.set.radius == pytest.approx(690.0)
    assert gap_floor(problem.set.diameter) == pytest.approx(0.08 * 690.0)
    assert CHAIN.example().horizon == 10
