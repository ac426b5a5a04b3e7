"""condg: its bound, its verdicts, and the faults they must catch."""

import pytest

from pfbench.claims.qu2018 import condg_statements


def test_a_condg_of_a_loose_tolerance_may_make_two_calls():
    assert condg_statements.max_calls(2.0, 1.0, 24.0) == 2
    assert condg_statements.max_calls(2.0, 1.0, 23.9) == 3
    assert condg_statements.max_calls(1.0, 0.5, 0.01) == 1201


def test_the_inner_calls_are_a_twelfth_of_their_bound_where_eta_is_small(judgements):
    measured = judgements(condg_statements.COUNT).measured
    share = measured["option 1, spread over a face, eta=0.03: ratio"]
    assert share == pytest.approx(1 / 12, rel=0.05)
