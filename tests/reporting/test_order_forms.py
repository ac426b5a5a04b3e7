"""Published orders of methods with several forms: reproduced by one, flipped against all."""

import math
from dataclasses import replace

from made_runs import SEEDS, descending, fast, group, results, slow, slower

from pfbench.reporting import ordering_text, tested_orderings
from pfbench.reporting.tested_orderings import FLIPS, OPEN, REPRODUCED, TURNS, UNTESTED
from pfbench.runs.planning.published import CostUnit, PublishedOrdering

CALLS = CostUnit(
    "component gradients", "sfo=1", quotation="calls are counted", location="section 2"
)
"""What a paper counts that states an order in its section 2."""


def of_forms(*groups, forms, order, target=1.0, units=(CALLS,)):
    ordering = PublishedOrdering("a paper", "it says so", order, "m", target, location="section 2")
    return results(*groups, orderings=(ordering,), forms=forms, units=units)


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


def against(groups, forms, units=(CALLS,)):
    order = (("mine",), ("theirs",))
    found = of_forms(*groups, forms={"theirs": forms}, order=order, units=units)
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
    found = of_forms(
        fast(), slow(), slower(), forms=forms, order=(("mine",), ("theirs",)), target=1.0
    )
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
