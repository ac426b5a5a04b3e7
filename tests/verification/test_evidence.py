"""How the decisions of parts become one."""

import pytest

from pfbench.verification.statistics import Decision, across, all_of, given


def decided(verdict, ratio=0.5, p_value=None):
    return Decision(verdict, f"it {verdict}.", {"ratio": ratio}, p_value)


def joined(join, *verdicts):
    return join({f"part {k}": decided(verdict) for k, verdict in enumerate(verdicts)}).verdict


@pytest.mark.parametrize(
    ("verdicts", "all_verdict", "across_verdict"),
    [
        (("tight", "tight"), "tight", "tight"),
        (("tight", "holds"), "holds", "tight"),
        (("holds", "holds"), "holds", "holds"),
        (("tight", "inconclusive"), "inconclusive", "inconclusive"),
        (("holds", "violated", "inconclusive"), "violated", "violated"),
    ],
)
def test_all_must_hold_and_across_families_one_may_bind(verdicts, all_verdict, across_verdict):
    assert joined(all_of, *verdicts) == all_verdict
    assert joined(across, *verdicts) == across_verdict


@pytest.mark.parametrize(
    ("main", "condition", "verdict"),
    [
        ("tight", "holds", "tight"),
        ("holds", "tight", "holds"),
        ("tight", "inconclusive", "inconclusive"),
        ("holds", "violated", "violated"),
        ("violated", "holds", "violated"),
    ],
)
def test_a_condition_need_only_hold(main, condition, verdict):
    assert given({"a": decided(main)}, {"b": decided(condition)}).verdict == verdict


def test_the_deciding_part_is_named_and_all_numbers_are_kept():
    parts = {"a": decided("holds", 0.1, 0.3), "b": decided("violated", 2.0, 1e-12)}
    found = all_of(parts)
    assert found.reason == "b: it violated."
    assert dict(found.measured) == {"a: ratio": 0.1, "b: ratio": 2.0}
    assert found.p_value == 1e-12
