"""Theorem 2 and corollary 2: their bound, a verdict, and a fault."""

import pytest

from pfbench.algorithms.sliding import StochasticNCGS
from pfbench.base.constants import Constants
from pfbench.claims.qu2018 import PAPER, theorem2

KNOWN = Constants(n=27, D=2.0, L_f=0.5, L_ms=0.5, delta=3.0, sigma2=0.7, M=1.0, ell=0.1)


def test_the_schedule_is_the_least_iterations_of_the_bound():
    epsilon, known = 0.4, (0.5, 0.1, 2.0, 1.0, 1.0, 0.7)
    N = StochasticNCGS.theory(epsilon, KNOWN).iterations
    assert (
        theorem2.stochastic_mapping_bound(*known, N)
        <= epsilon
        < theorem2.stochastic_mapping_bound(*known, N - 1)
    )


@pytest.mark.long
def test_stochastic_ncgs_keeps_its_rate_and_ascent_does_not(judgements):
    found = judgements(theorem2.RATE)
    assert (found.verdict, found.lost) == ("holds", False), found.reason
    (ascent,) = (m for m in PAPER.mutants if theorem2.RATE in m.expected_claims)
    judgements.assert_caught(ascent, theorem2.RATE)
