"""Remark 3.1: the number of runs, the choice, a planted fault, and the erratum."""

import pytest
from judging import assert_shown

from pfbench.claims.shen2019.remark31 import (
    ERRATA,
    REMARK,
    VALLEY,
    examine_failure_probability,
    restart_count,
)


def test_the_runs_of_a_probability():
    assert [restart_count(delta) for delta in (0.5, 0.25, 0.2, 0.125)] == [1, 2, 3, 3]


@pytest.mark.claims
def test_the_best_of_three_runs_keeps_the_bound_at_its_cost(judgements):
    """Beyond the three runs it costs n SFO and 1 LO each."""
    found = judgements(REMARK)
    assert found.verdict == "holds"
    assert found.measured["missed: ratio"] == 0.0
    assert 0.05 < found.claimed["share above the level"] < 0.1
    assert found.measured["condition all runs miss the level: sampled ratio"] < 2.0
    assert found.measured["condition the choice has the least gap: ratio"] < 1.0
    assert found.measured["condition cost: sfo"] == found.claimed["sfo"] > 3 * VALLEY.example().n


@pytest.mark.parametrize("erratum", ERRATA, ids=lambda erratum: erratum.name)
def test_an_erratum_is_shown(erratum):
    assert_shown(erratum)


def test_what_the_remark_shows_is_not_seen_to_fail():
    """V <= 10 eps D, which its Markov inequality gives."""
    found = examine_failure_probability("quick", 1, level=10.0)
    assert not found.printed_fails
    assert found.corrected_holds


def test_it_is_right_with_runs_for_a_tenth_of_eps_only():
    tried = examine_failure_probability("quick", 1).readings
    assert [name for name, right in tried.items() if right] == ["runs for eps/10"]
