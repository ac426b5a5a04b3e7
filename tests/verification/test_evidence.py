"""How the decisions of parts become one."""

import pytest

from pfbench.verification.statistics import (
    Decision,
    best_if_all_hold_else_worst,
    cap_at_holds_by_own_constant,
    cap_at_holds_by_schedule_alone,
    combine_all,
    combine_parts_and_conditions,
)
from pfbench.verification.verdict_tables import matching_claimed_exponent


def decided(verdict, ratio=0.5, p_value=None):
    tight_on = {"": ratio} if verdict in ("within-10", "attained") else {}
    return Decision(verdict, f"it {verdict}.", {"ratio": ratio}, p_value, tight_on=tight_on)


def joined(join, *verdicts):
    return join({f"part {k}": decided(verdict) for k, verdict in enumerate(verdicts)}).verdict


@pytest.mark.parametrize(
    ("verdicts", "all_verdict", "across_verdict"),
    [
        (("within-10", "within-10"), "within-10", "within-10"),
        (("within-10", "holds"), "holds", "within-10"),
        (("attained", "within-10"), "within-10", "attained"),
        (("holds", "holds"), "holds", "holds"),
        (("within-10", "inconclusive"), "inconclusive", "inconclusive"),
        (("holds", "violated", "inconclusive"), "violated", "violated"),
    ],
)
def test_all_must_hold_and_across_families_one_may_bind(verdicts, all_verdict, across_verdict):
    assert joined(combine_all, *verdicts) == all_verdict
    assert joined(best_if_all_hold_else_worst, *verdicts) == across_verdict


@pytest.mark.parametrize(
    ("main", "condition", "verdict"),
    [
        ("within-10", "holds", "within-10"),
        ("attained", "holds", "attained"),
        ("holds", "within-10", "holds"),
        ("within-10", "inconclusive", "inconclusive"),
        ("holds", "violated", "violated"),
        ("violated", "holds", "violated"),
    ],
)
def test_a_condition_need_only_hold(main, condition, verdict):
    assert (
        combine_parts_and_conditions({"a": decided(main)}, {"b": decided(condition)}).verdict
        == verdict
    )


def test_the_deciding_part_is_named_and_all_numbers_are_kept():
    parts = {"a": decided("holds", 0.1, 0.3), "b": decided("violated", 2.0, 1e-12)}
    decision = combine_all(parts)
    assert decision.reason == "b: it violated."
    assert dict(decision.measured) == {"a: ratio": 0.1, "b: ratio": 2.0}
    assert decision.p_value == 1e-12


# --- p-values -------------------------------------------------------------------------------------


def test_the_p_value_is_corrected_for_all_tests_at_every_depth():
    inner = combine_all({"a": decided("holds", p_value=1e-3), "b": decided("holds", p_value=0.5)})
    outer = combine_parts_and_conditions(
        {"x": inner, "y": decided("within-10")}, {"z": decided("holds", p_value=0.9)}
    )
    assert (outer.p_value, outer.test_count) == (1e-3, 3)
    assert outer.corrected_p_value == pytest.approx(3e-3)
    assert combine_all({"a": decided("holds", p_value=0.8), "b": inner}).corrected_p_value == 3e-3
    many = {str(k): decided("holds", p_value=0.5) for k in range(5)}
    assert best_if_all_hold_else_worst(many).corrected_p_value == 1.0


def test_without_chance_there_is_no_p_value():
    decision = combine_all({"a": decided("within-10"), "b": decided("within-10")})
    assert (decision.p_value, decision.test_count, decision.corrected_p_value) == (None, 0, None)
    broken = combine_all({"a": decided("violated"), "b": decided("holds", p_value=0.5)})
    assert broken.p_value is None


# --- where it is near its bound -------------------------------------------------------------------


def test_across_families_the_tightest_is_named():
    parts = {
        "a": decided("within-10", 0.3),
        "b": decided("within-10", 0.9),
        "c": decided("holds", 0.05),
    }
    decision = best_if_all_hold_else_worst(parts)
    assert decision.tight_on == {"b": 0.9}
    assert decision.reason == "b: it within-10."


def test_of_a_sum_every_term_is_named_with_its_instance():
    first = best_if_all_hold_else_worst(
        {"chain": decided("within-10", 0.7), "easy": decided("holds", 0.01)}
    )
    decision = combine_parts_and_conditions(
        {"n": first, "": decided("within-10", 0.2)}, {"(9)": decided("within-10", 1.0)}
    )
    assert decision.tight_on == {"n: chain": 0.7, "": 0.2}
    assert combine_all({"n": first, "m": decided("holds")}).tight_on == {}


@pytest.mark.parametrize(
    ("never", "mark"),
    [
        (cap_at_holds_by_schedule_alone, "by_schedule"),
        (cap_at_holds_by_own_constant, "by_own_constant"),
    ],
)
def test_what_could_not_come_out_otherwise_makes_nothing_tight(never, mark):
    part = never(decided("within-10", 1.0))
    assert (part.verdict, part.tight_on, part.measured[mark]) == ("holds", {}, True)
    assert never(decided("violated")).verdict == "violated"
    both = combine_all({"a": part, "b": decided("within-10")})
    assert (both.verdict, both.measured[mark]) == ("holds", True)
    best = best_if_all_hold_else_worst({"a": part, "b": decided("within-10", 0.4)})
    assert (best.verdict, best.tight_on) == ("within-10", {"b": 0.4})
    assert mark not in best.measured
    assert mark not in combine_parts_and_conditions({"b": decided("holds")}, {"a": part}).measured


@pytest.mark.parametrize(
    ("what", "stated"),
    [
        ("SFO, eps: line", "exponent of 1/eps in SFO"),
        ("SFO, n", "exponent of n in SFO"),
        ("LO, eps: l1 ball, best of (1.0, 0.5) L", "exponent of 1/eps in LO"),
    ],
)
def test_a_measured_exponent_stands_beside_the_claimed_one_that_it_is_of(what, stated):
    claimed = dict.fromkeys(
        ("exponent of 1/eps in SFO", "exponent of n in SFO", "exponent of 1/eps in LO"), 1.0
    )
    assert matching_claimed_exponent(what, claimed) == stated
    assert matching_claimed_exponent(stated, claimed) == stated
    assert matching_claimed_exponent(what, {"ratio": 1.0}) is None
