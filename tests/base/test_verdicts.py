"""The verdicts: their order, and the names that older stores have."""

import json

import pytest

from pfbench.base.status import VERDICT_NAMES, Verdict


def test_every_verdict_has_a_place_and_a_style():
    assert sorted(one.rank_from_worst for one in Verdict) == list(range(len(Verdict)))
    assert all(one.terminal_style for one in Verdict)


def test_only_what_is_wrong_or_kept_is_called_so():
    assert {one for one in Verdict if one.is_wrong} == {"violated", "failed"}
    kept = {one for one in Verdict if one.keeps_bound}
    assert kept == {"holds", "within-10", "attained"}
    assert max(Verdict, key=lambda one: one.rank_from_worst) == "attained"
    assert all(
        one.rank_from_worst > other.rank_from_worst for one in kept for other in set(Verdict) - kept
    )


def test_a_former_name_is_read_and_never_written():
    assert Verdict("tight") is Verdict.WITHIN_10
    assert "tight" in VERDICT_NAMES
    assert json.dumps([Verdict("tight")]) == '["within-10"]'
    with pytest.raises(ValueError, match="proved"):
        Verdict("proved")
