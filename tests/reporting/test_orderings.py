"""Published orders against runs that are made to follow, to reverse, or to leave them open."""

import math
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_runs import SEEDS, descending, failing, fast, group, idle, results, run, slow, slower

from pfbench.reporting import ordering_text, tested_orderings
from pfbench.reporting.report import Report
from pfbench.reporting.report_contents import make_contents
from pfbench.reporting.tested_orderings import (
    FLIPS,
    KEPT,
    OPEN,
    REPRODUCED,
    REVERSED,
    TURNS,
    UNTESTED,
)
from pfbench.reporting.writer import html_page
from pfbench.runs.planning.published import OWN_COUNTS, CostUnit, PublishedOrdering
from pfbench.runs.planning.study import Spec


def judged_orders(*groups, orderings, **fields):
    return tested_orderings.test_orderings(results(*groups, orderings=tuple(orderings), **fields))


def put_to_the_test(*groups, order, target=1.0, **more):
    places = tuple((p,) if isinstance(p, str) else p for p in order)
    return judged_orders(
        *groups, orderings=[PublishedOrdering("a paper", "", places, "m", target, **more)]
    )


def verdicts(*groups, **more):
    return {one.cost_unit.title: one.verdict for one in put_to_the_test(*groups, **more)}


@pytest.mark.parametrize("target", [4.0, 1.0, None])
def test_a_right_order_a_flipped_one_and_a_tie(target):
    right = verdicts(fast(), slow(), order=["fast", "slow"], target=target)
    flipped = verdicts(fast(), slow(), order=["slow", "fast"], target=target)
    tie = verdicts(slow(), slower(), order=["slow", "slower"], target=target)
    assert right == {"SFO": KEPT, "seconds": KEPT}
    assert flipped == {"SFO": REVERSED, "seconds": REVERSED}
    assert set(tie.values()) == {OPEN}


def test_one_flipped_pair_flips_the_order_and_an_open_one_leaves_it_open():
    everyone = fast(), slow(), slower()
    assert verdicts(*everyone, order=["fast", "slow", "slower"])["SFO"] == OPEN
    assert verdicts(*everyone, order=["slow", "fast", "slower"])["SFO"] == REVERSED
    # Those of one place are not compared with each other.
    assert verdicts(*everyone, order=["fast", ("slow", "slower")])["SFO"] == KEPT


def test_who_misses_the_target_or_fails_is_behind():
    # Who makes no calls of a kind is not compared by it.
    assert verdicts(fast(), idle(), order=["idle", "fast"]) == {"seconds": REVERSED}
    assert verdicts(slow(), failing(), order=["slow", "failing"])["SFO"] == KEPT
    assert verdicts(slow(), failing(), order=["failing", "slow"], target=None)["SFO"] == REVERSED
    (pair,) = put_to_the_test(failing(), slow(), order=["failing", "slow"])[0].pairs
    assert pair.values[0] == float("inf")


def test_where_nothing_varies_the_counts_decide_and_the_seconds_are_tested():
    def constant(label, calls):
        return group(label, [run([4, 1], [0, calls], status="target") for _ in SEEDS])

    found = put_to_the_test(constant("a", 10), constant("b", 11), order=["b", "a"])
    assert [one.verdict for one in found] == [REVERSED, REVERSED]
    assert [one.deciding_pair.p_value == 0.0 for one in found] == [True, False]


def test_values_are_compared_at_the_calls_that_both_have_spent():
    far = group("far", [run([16, 8, 1], [0, 10, 500], seed=k) for k in SEEDS])
    near = group("near", [run([16, 6], [0, 10], seed=k) for k in SEEDS])
    (one, _) = put_to_the_test(near, far, order=["near", "far"], target=None)
    assert (one.verdict, one.deciding_pair.values) == (KEPT, (6.0, 8.0))


def test_a_value_of_the_start_is_said_to_be_one():
    far = group("far", [run([16, 8, 1], [0, 10, 50], seed=k) for k in SEEDS])
    near = group("near", [run([16, 6], [0, 60], seed=k) for k in SEEDS])
    (one, _) = put_to_the_test(near, far, order=["near", "far"], target=None)
    assert one.deciding_pair.values == (16.0, 1.0)
    assert one.deciding_pair.is_at_start == (True, False)
    said = ordering_text.order_verdict_table(results().study, [one]).rows[0].cells[2]
    assert said.startswith("near 16.0 (its start), far 1.00, ")


def test_an_order_speaks_of_its_panels_alone():
    assert verdicts(fast(), slow(), order=["fast", "slow"], settings=("hard",)) == {}
    assert verdicts(fast(), slow(), order=["fast", "slow"], problems=("q",)) == {}
    assert verdicts(fast(), slow(), order=["fast", "slow"], settings=("easy",), problems=("p",))


def test_what_speaks_against_an_order_is_said_first_with_numbers():
    of = [
        PublishedOrdering("right", "", (("fast",), ("slow",)), "m", 1.0),
        PublishedOrdering("open", "", (("slow",), ("slower",)), "m", 1.0),
        PublishedOrdering("wrong", "it says so", (("slow",), ("fast",)), "m", 1.0),
    ]
    several = judged_orders(fast(), slow(), slower(), orderings=of)
    brief = (
        "Published orders that are the other way round, 1 of 3: slow before fast (by SFO and "
        "seconds)."
    )
    assert ordering_text.sentences_on_reversed_rankings(several) == [brief]
    others = [result for result in several if result.ordering.source != "wrong"]
    assert ordering_text.sentences_on_reversed_rankings(others) == [
        "No published order is the other way round; 1 of 2 hold throughout."
    ]
    table = ordering_text.order_verdict_table(results().study, several)
    wrong = table.rows[-2]
    assert wrong.group.endswith("(wrong: “it says so”; one form each)")
    assert wrong.cells[0] == "SFO"
    assert wrong.cells[2].startswith("slow 244, fast 83.5, p = ")
    assert [row.cells[1] for row in table.rows] == [KEPT] * 2 + [OPEN] * 2 + [REVERSED] * 2
    assert [one["verdict"] for one in ordering_text.as_json(several)] == [
        r.cells[1] for r in table.rows
    ]


def test_values_that_rounding_alone_tells_apart_are_equal():
    def ending(label, last):
        runs = [descending(40, seed=seed) for seed in SEEDS]
        at = runs[0].columns.index("m")
        return group(
            label,
            [
                replace(
                    run, rows=(run.rows[0], *((*r[:at], last, *r[at + 1 :]) for r in run.rows[1:]))
                )
                for run in runs
            ],
        )

    def verdict(last):
        both = ending("a", 1e-15), ending("b", last)
        return put_to_the_test(*both, order=["a", "b"], target=None)[0].verdict

    assert [verdict(last) for last in (-3e-14, 1e-6, -1e-6)] == [OPEN, KEPT, REVERSED]


# --- the unit of a paper --------------------------------------------------------------------------


def in_units(*units, order=(("slow",), ("fast",)), groups=None, **fields):
    ordering = PublishedOrdering("a paper", "it says so", order, "m", 1.0, location="section 2")
    return results(*(groups or (fast(), slow())), orderings=(ordering,), units=units, **fields)


CALLS = CostUnit(
    "component gradients", "sfo=1", quotation="calls are counted", location="section 2"
)
"""What a paper counts that states an order in its section 2."""


PASSES = CostUnit("passes", "sfo=0.1", {"fast": "sfo=10"}, "a pass is a pass", "section 2")
"""Slow is ahead in it, and fast in our counts."""


@pytest.mark.parametrize(
    ("source", "place", "of_unit", "says", "theirs"),
    [
        ("Wang, figure 2", "section 5.2", "section 5.2", "it says so", True),
        ("Wang, figure 2", "section 5.2", "figure 2", "it says so", True),
        ("Wang, figure 2 left", "section 5.2", "figure 2", "it says so", True),
        ("Wang, figure 2", "section 5.2", "section 5.1", "it says so", False),
        ("Wang, figure 2", "section 5.2", "figure 1", "it says so", False),
        ("Wang, figure 21", "section 5.2", "figure 2", "it says so", False),
        ("Wang, figure 2", "section 5.2", "section 5.2", "", False),
        ("Wang, figure 2", "", "", "it says so", False),
        (OWN_COUNTS, "section 5.2", "section 5.2", "it says so", False),
        (f"{OWN_COUNTS}: figure 1 on figure 2", "section 5.2", "figure 2", "it says so", False),
    ],
)
def test_a_unit_is_the_papers_only_where_it_states_it_for_that_figure(
    source, place, of_unit, says, theirs
):
    ordering = PublishedOrdering(
        source, "it says so", (("slow",), ("fast",)), "m", 1.0, location=place
    )
    unit = replace(CALLS, quotation=says, location=of_unit)
    found = results(fast(), slow(), orderings=(ordering,), units=(unit,))
    several, study = tested_orderings.test_orderings(found), found.study
    assert several[0].uses_paper_unit == theirs
    assert several[0].verdict == (FLIPS if theirs else REVERSED)
    (said,) = ordering_text.ordering_setup_sentences(study)
    assert said.startswith("The paper counts in") == theirs
    heading = ordering_text.order_verdict_table(study, several).caption
    assert heading.endswith(": orders" if source.startswith(OWN_COUNTS) else ": published orders")


def test_an_order_is_judged_in_the_unit_of_the_paper_first():
    found = in_units(PASSES)
    several = tested_orderings.test_orderings(found)
    assert [(result.cost_unit.title, result.verdict) for result in several] == [
        *(("passes", REPRODUCED), ("SFO", REVERSED), ("seconds", REVERSED))
    ]
    # Slow is charged a tenth of its SFO, fast ten times its own.
    (pair,) = several[0].pairs
    assert pair.values == (24.35, 835.0)
    (brief,) = ordering_text.sentences_on_reversed_rankings(several)
    assert brief == (
        "In the unit of the paper (passes): No published order flips; 1 of 1 are reproduced "
        "throughout."
    )
    row = ordering_text.order_verdict_table(found.study, several).rows[0]
    assert row.cells[:2] == ["passes (the paper's)", "reproduced"]
    assert row.cells[2].startswith("slow 24.4, fast 835, ")
    (judging,) = ordering_text.ordering_setup_sentences(found.study)
    assert judging == (
        "The paper counts in passes (section 2, “a pass is a pass”): sfo=0.1; sfo=10 for fast."
    )
    assert [one["unit_of_paper"] for one in ordering_text.as_json(several)] == [True, False, False]


def test_a_count_that_is_the_papers_unit_is_not_judged_twice():
    several = tested_orderings.test_orderings(in_units(CostUnit("component gradients", "sfo=1")))
    assert [result.cost_unit.title for result in several] == ["component gradients", "seconds"]
    assert ordering_text.sentences_on_reversed_rankings(several)[1:] == []


@pytest.mark.parametrize("seeds", [3, 4, 5])
def test_seeds_that_can_decide_no_order_are_said_to_be_too_few(seeds):
    def few(group):
        return replace(group, plans=group.plans[:seeds], runs=group.runs[:seeds])

    ordering = PublishedOrdering("a", "", (("fast",), ("slow",)), "m", 1.0)
    two = replace(ordering, order=(("fast", "slow"), ("slower",)), problems=("elsewhere",))
    fields = {"seeds": tuple(range(seeds)), "orderings": (ordering, two)}
    found = results(few(fast()), few(slow()), **fields)
    study = found.study
    # 2 / C(2n, n) is the least p-value of n and n values: 0.1, 0.029 and 0.008.
    assert study.ordering_test_count == 1
    several = tested_orderings.test_orderings(found)
    note = ordering_text.order_verdict_table(study, several).note
    expected = "3 seeds can decide no published order in a test of 1 pair,"
    assert (expected in note) == (ordering_text.seed_warning(study) != "") == (seeds == 3)
    assert {result.verdict for result in several} == {OPEN if seeds == 3 else KEPT}


def test_a_page_begins_with_what_flips_and_has_the_evidence_below_the_figure():
    ordering = PublishedOrdering("a paper", "it says so", (("slow",), ("fast",)), "m", 1.0)
    found = results(fast(), slow(), orderings=(ordering,))
    report = Report(Spec("s", "S", "", (found.study,)), (found,), ())
    created = datetime(2026, 11, 23, tzinfo=UTC)
    text = html_page(make_contents(report, "pfbench", "c", created))
    brief = "Published orders that are the other way round, 1 of 1: slow before fast (by SFO and "
    assert text.index(brief) < text.index('class="workbench"') < text.index("“it says so”")


@given(
    st.lists(st.integers(1, 50), min_size=8, max_size=8),
    st.lists(st.integers(1, 50), min_size=8, max_size=8),
)
def test_turning_an_order_round_turns_its_verdict_round(x, y):
    def made(label, calls):
        return group(
            label, [run([4, 1], [0, k], seed=s) for s, k in zip(SEEDS, calls, strict=True)]
        )

    one = verdicts(made("x", x), made("y", y), order=["x", "y"])["SFO"]
    other = verdicts(made("x", x), made("y", y), order=["y", "x"])["SFO"]
    assert other == {KEPT: REVERSED, REVERSED: KEPT, OPEN: OPEN}[one]


@pytest.mark.parametrize(
    ("target", "calls", "reached"), [(1.0, (1, 5), (1, 1)), (None, (6, 6), (1, 2))]
)
def test_less_than_a_second_decides_nothing(target, calls, reached):
    """What a machine does besides takes tenths of a second, of one method more than of another."""

    def judged(factor):
        # A call takes a tenth of a second.
        near, far = (
            group(label, [run([4, m], [0, factor * c], seed=k) for k in SEEDS])
            for label, c, m in zip(("near", "far"), calls, reached, strict=True)
        )
        return put_to_the_test(near, far, order=["far", "near"], target=target)

    long, short = judged(10), judged(1)
    assert [(one.cost_unit.title, one.verdict) for one in long] == [
        *(("SFO", REVERSED), ("seconds", REVERSED))
    ]
    assert [(one.verdict, one.deciding_pair.is_too_short_to_time) for one in short] == [
        *((REVERSED, False), (OPEN, True))
    ]
    assert short[0].deciding_pair.p_value == long[0].deciding_pair.p_value
    table = ordering_text.order_verdict_table(results().study, short)
    assert "less than a second" in table.rows[1].cells[2]


# --- methods with several forms: reproduced by one, flipped against all ---------------------------


def of_forms(*groups, forms, order):
    return in_units(CALLS, order=order, groups=groups, forms=forms)


def test_an_order_is_reproduced_against_the_best_form_alone():
    """The slow form of the second would be beaten, the fast one is not."""

    def verdict(*forms):
        return against([*paced(mine=40), fast(), slow(), slower()], forms)

    assert verdict("slow").verdict == REPRODUCED
    assert verdict("slow", "slower").verdict == REPRODUCED
    against_best = verdict("slow", "fast")
    # The authors may have run the slow one: it is no false order, but one of that form.
    assert against_best.verdict == TURNS
    assert (against_best.deciding_pair.first, against_best.deciding_pair.second) == ("mine", "fast")
    assert against_best.deciding_pair.least_certain_form == "slow"
    (said, *_) = ordering_text.sentences_on_reversed_rankings([against_best])
    assert said == (
        "In the unit of the paper (component gradients): No published order flips; 0 of 1 are "
        "reproduced throughout. 1 order depends on the form of a method."
    )
    assert verdict("fast").verdict == FLIPS


def paced(**paces):
    return [
        group(label, [descending(pace, seed=seed) for seed in SEEDS])
        for label, pace in paces.items()
    ]


def against(groups, forms):
    found = of_forms(*groups, forms={"theirs": forms}, order=(("mine",), ("theirs",)))
    return tested_orderings.test_orderings(found)[0]


def test_an_order_flips_only_where_every_form_of_the_baseline_is_significantly_ahead():
    """A form of which nothing is told may be the one that the authors ran."""
    groups = paced(mine=40, ahead=20, further=10, level=40)
    assert against(groups, ("ahead", "further")).verdict == FLIPS
    depends = against(groups, ("ahead", "level"))
    assert depends.verdict == TURNS
    assert (
        "; level is not significantly ahead"
        in ordering_text.order_verdict_table(results().study, [depends]).rows[0].cells[2]
    )
    assert depends.deciding_pair.p_value <= 0.05 < depends.deciding_pair.every_form_p_value
    assert against(groups, ("level",)).verdict == OPEN


def test_every_form_is_a_test_that_is_corrected_for_all_pairs():
    groups = paced(mine=40, ahead=20, near=36)
    found = of_forms(*groups, forms={"theirs": ("ahead", "near")}, order=(("mine",), ("theirs",)))
    alone = tested_orderings.test_orderings(found)[0].pairs[0].every_form_p_value
    others = tuple(
        PublishedOrdering("a paper", "", ((a,), (b,)), "m", 1.0)
        for a, b in (("near", "ahead"),) * 30
    )
    study = replace(found.study, orderings=(*found.study.orderings, *others))
    together = (
        tested_orderings.test_orderings(replace(found, study=study))[0].pairs[0].every_form_p_value
    )
    assert 0.0 < alone < together


def test_a_form_of_the_first_may_win_for_it():
    forms = {"mine": ("slower", "fast"), "theirs": ("slow",)}
    found = of_forms(fast(), slow(), slower(), forms=forms, order=(("mine",), ("theirs",)))
    (result, _) = tested_orderings.test_orderings(found)
    assert result.verdict == REPRODUCED
    assert result.deciding_pair.first == "fast"
    # Two forms were tried, and the p-value is of both together.
    alone = of_forms(fast(), slow(), forms={}, order=(("fast",), ("slow",)))
    assert (
        result.deciding_pair.p_value
        == 2 * tested_orderings.test_orderings(alone)[0].deciding_pair.p_value
    )


def test_of_forms_that_are_told_apart_alike_the_best_ones_are_the_evidence():
    """By rank each is as far before the next as before the last one."""
    groups = paced(**{"20": 20, "40": 40, "60": 60})

    def evidence(forms, *order):
        names = tuple((name,) for name in order)
        found = of_forms(*groups, forms={"theirs": forms}, order=names)
        one = tested_orderings.test_orderings(found)[0].deciding_pair
        return one.first, one.second

    assert evidence(("60", "40"), "20", "theirs") == ("20", "40")
    assert evidence(("60", "40"), "theirs", "20") == ("40", "20")
    assert evidence(("40", "20"), "60", "theirs") == ("60", "20")
    assert evidence(("40", "20"), "theirs", "60") == ("20", "60")


def test_where_each_has_a_form_that_is_not_beaten_nothing_is_told():
    forms = {"mine": ("a", "slow"), "theirs": ("b",)}
    found = of_forms(*paced(a=60, b=60), slow(), forms=forms, order=(("mine",), ("theirs",)))
    assert {result.verdict for result in tested_orderings.test_orderings(found)} == {OPEN}


def test_a_form_whose_runs_are_not_kept_is_said_not_to_be_tested():
    """What is ahead may not be so in the form of which nothing is known, and is no flip."""
    groups = paced(mine=40, ahead=20, behind=80)
    one = against(groups, ("ahead", "lost"))
    assert (
        one.verdict
        == UNTESTED
        == ("the other way round for the best forms; not tested for every form")
    )
    assert (
        "significantly ahead"
        not in ordering_text.order_verdict_table(results().study, [one]).rows[0].cells[2]
    )
    assert math.isnan(ordering_text.as_json([one])[0]["pairs"][0]["p_every_form"])
    assert against(groups, ("behind", "lost")).verdict == OPEN
