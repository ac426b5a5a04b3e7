"""Remark 3.1: the number of runs, the choice, a planted fault, and the erratum."""

import pytest

from pfbench.claims.shen2019.remark31 import REMARK, VALLEY


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
