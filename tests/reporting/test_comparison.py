"""Tables of results, and one method against all others, on runs whose numbers are known."""

import csv
import io
import math
from dataclasses import replace

import pytest
from compiling import compiled
from made_runs import (
    SEEDS,
    TARGETS,
    descending,
    failing,
    fast,
    group,
    idle,
    plan,
    results,
    run,
    slow,
    slower,
)
from reading_tex import problems

from pfbench.reporting import tuning_effects
from pfbench.reporting.candidate_front import (
    duels_with_best_as_json,
    list_duels_with_best,
    make_candidate_front,
)
from pfbench.reporting.comparison import compare_algorithms
from pfbench.reporting.paper_table import escape_latex, paper_table
from pfbench.reporting.result_tables import compare_by_each_price, results_csv, results_table
from pfbench.reporting.runtimes import Cost
from pfbench.reporting.tables import format_cell
from pfbench.runs.planning.tune import TunedMethod, TuningChoice, TuningPlan, TuningTrial

SFO = Cost.from_weights("sfo")


def lines(*groups):
    """The table's cells by algorithm and column."""
    table = results_table(compare_algorithms(results(*groups), SFO))
    return {
        row.name: dict(zip(table.head[2:], map(format_cell, row.cells), strict=True))
        for row in table.rows
    }, {row.name: row for row in table.rows}


def test_expected_calls_hits_last_values_and_ranks():
    found, _ = lines(fast(), slow(), failing(), idle())
    assert list(found["fast"]) == ["place", "m ≤ 4", "m ≤ 1", "last m"]
    # Two and four steps of 20, and the mean 3.5 of the seeds.
    assert found["fast"]["m ≤ 4"].startswith("43.5 (")
    assert found["fast"]["m ≤ 1"].startswith("83.5 (")
    assert found["fast"]["m ≤ 1"].endswith("8/8")
    assert found["slow"]["m ≤ 1"].startswith("244 (")
    assert found["failing"]["m ≤ 4"] == "50 8/8"
    assert found["failing"]["m ≤ 1"] == "∞ 0/8"
    assert found["idle"]["m ≤ 4"] == "∞ 0/8"
    assert [found[name]["place"] for name in ("fast", "slow", "failing", "idle")] == list("1234")


def test_bold_is_what_the_test_says_and_of_what_is_not_told_nothing_is_said():
    _, far = lines(fast(), slow())
    assert far["fast"].best == {1, 2}  # both end at the target
    assert not far["slow"].best
    found, near = lines(slow(), slower())
    assert not near["slow"].best | near["slower"].best
    assert found["slower"]["m ≤ 1"].endswith("8/8")


def test_a_kind_of_calls_that_nobody_needs_decides_nothing():
    found = compare_by_each_price(results(fast(), slow()))
    assert [str(comparison.price) for comparison in found] == ["SFO"]
    without = [descending(20, seed=seed, lo=None) for seed in SEEDS]
    some = [replace(one, counts=replace(one.counts, lo=9)) for one in without]
    by_lo = compare_by_each_price(results(fast(), group("asks", some)))[1]
    assert str(by_lo.price) == "LO"
    assert by_lo.panels[0].algorithms[0].calls_until_targets == (None, None)
    assert by_lo.panels[0].leader_by_target[0] in (None, 1)


def test_what_reaches_the_target_last_is_shown_as_it_is_and_counts_as_equal():
    lower = group("lower", [run([16, 0.5], [0, 90], seed=k, status="target") for k in SEEDS])
    found, rows = lines(fast(), lower, slow())
    assert found["lower"]["last m"] == "0.500 (0.500 to 0.500)"
    assert found["fast"]["last m"] == "1.00 (1.00 to 1.00)"
    assert not any(3 in row.best for row in rows.values())


def test_a_stated_price_is_compared_first():
    found = compare_by_each_price(results(fast(), slow(), price={"sfo": 2.0, "lo": 50.0}))
    assert [str(comparison.price) for comparison in found] == ["2 SFO + 50 LO", "SFO"]
    priced, plain_calls = (
        comparison.panels[0].algorithms[0].calls_until_targets[0] for comparison in found
    )
    assert priced.value == 2 * plain_calls.value


def test_a_method_that_is_tuned_to_each_target_is_judged_at_each_in_its_own_runs():
    """The quick one to 4 comes to a halt there; the other one, for 1, is slow at first."""
    for_easy = [run([16, 8, 4], [0, 5, 10 + k], seed=k, status="budget") for k in SEEDS]
    tuned = group("tuned", slow().runs)
    easy = replace(
        group("tuned", for_easy), plans=tuple(plan(seed=k, stop=TARGETS[0]) for k in SEEDS)
    )
    both = replace(tuned, groups_by_target=((TARGETS[0], easy), (TARGETS[1], tuned)))
    found, alone = (
        compare_algorithms(results(*groups), SFO).panels[0].algorithms[0]
        for groups in ((both, fast()), (slow(),))
    )
    assert [one.value for one in found.calls_until_targets] == [
        pytest.approx(10 + sum(SEEDS) / len(SEEDS)),
        alone.compute_expected_calls(1),
    ]
    assert found.last_values["m"].tolist() == alone.last_values["m"].tolist()
    assert [one.runs[0].counts.sfo for one in both.groups_by_tuning_target] == [10, 240]


def test_without_targets_the_last_values_decide():
    table = results_table(compare_algorithms(results(slow(), fast(), targets=()), SFO))
    assert table.head[2:] == ("place", "last m")
    assert "Ranked by the last m" in table.note
    priced = results(slow(), fast(), targets=(), price={"sfo": 1.0, "lo": 2.0})
    assert len(compare_by_each_price(priced)) == 1


def test_the_suboptimality_is_compared_where_the_least_objective_is_known():
    def objective(one):
        return replace(one, columns=(*one.columns[:-1], "objective"))

    def known(group, best):
        return replace(group, runs=tuple(map(objective, group.runs)), best_known=(best,) * 8)

    def table(*groups):
        study = results(*groups, targets=(), measures=("objective",))
        return results_table(compare_algorithms(study, SFO))

    with_best = table(known(fast(), 0.75), known(slow(), 0.75))
    assert with_best.head[-2:] == ("last objective Ψ(x)", "last suboptimality Ψ(x) − least known")
    assert with_best.rows[0].cells[-1].median == 0.25
    assert table(known(fast(), None), known(slow(), 0.75)).head[-1] == "last objective Ψ(x)"


def test_so_few_seeds_that_nothing_can_be_told_are_said():
    few = [replace(one, plans=one.plans[:3], runs=one.runs[:3]) for one in (fast(), slow())]
    note = results_table(compare_algorithms(results(*few, seeds=(0, 1, 2)), SFO)).note
    assert "3 seeds can tell no two methods apart in a table of 3 pairs" in note
    assert note.endswith("use 5 seeds or more.")
    assert "apart" not in results_table(compare_algorithms(results(fast(), slow()), SFO)).note


def test_csv_has_every_number():
    rows = list(
        csv.DictReader(io.StringIO(results_csv(compare_by_each_price(results(fast(), failing())))))
    )
    by = {(row["algorithm"], row["price"], row["target"]): row for row in rows}
    assert len(by) == 3 * 2 + 8 * 2
    assert float(by["fast", "SFO", "4.0"]["expected"]) == 43.5
    assert by["failing", "SFO", "1.0"]["expected"] == "inf"
    assert by["fast", "SFO", "4.0"]["standing"] == "best"
    assert by["failing", "SFO", "4.0"]["standing"] == ""
    assert by["failing", "", ""]["hits"] == "0"
    (calls,) = (
        row
        for row in rows
        if (row["algorithm"], row["price"], row["measure"]) == ("fast", "SFO", "")
    )
    assert (calls["low"], calls["high"], calls["runs"]) == ("80", "87", "8")


# --- LaTeX ----------------------------------------------------------------------------------------


HOSTILE = "a_b%c&d#e$f{g}h^i~j\\k<l>m|n\"o`p'q [x] *y 10⁻³ ∇√ΨλÅéß中😀√n−1"


def named(label):
    return replace(fast(), label=label)


def latex_of(*groups):
    (comparison,) = compare_by_each_price(results(*groups))
    return paper_table(comparison, comparison.results.study.labels, "made 1")


def test_the_table_for_a_paper_has_the_hardest_targets_and_marks_the_best(tmp_path):
    text = latex_of(fast(), slow(), failing(), named(HOSTILE))
    assert problems(text) == []
    assert "\\label{tab:made-1}" in text
    assert r"seeds: 8 & \ensuremath{\le} 4 & \ensuremath{\le} 1 \\" in text
    assert r"slow & 123.5 & 243.5 \\".replace("123.5", "124").replace("243.5", "244") in text
    assert r"\textbf" not in text  # two methods are as fast
    assert latex_of(fast(), slow()).count(r"\textbf") == 2
    compiled(tmp_path, text)


@pytest.mark.parametrize("label", [HOSTILE, "[", "*", "\\input{/etc/passwd}", "a\nb", "% x", ""])
def test_whatever_a_label_is_the_document_compiles(tmp_path, label):
    text = latex_of(named(label), slow())
    assert problems(text) == []
    compiled(tmp_path, text)


def test_an_escape_that_is_left_out_would_be_seen(tmp_path):
    with pytest.raises(AssertionError):
        compiled(tmp_path, HOSTILE)


def test_characters_for_latex():
    assert escape_latex("10⁻³") == r"10\textsuperscript{\ensuremath{-}3}"
    assert escape_latex("é中") == "é[U+4E2D]"
    assert escape_latex("Ψ ≤ ∞") == r"\ensuremath{\Psi} \ensuremath{\le} \ensuremath{\infty}"


# --- One method against all others: wins, losses, and what is not significant, on known runs ------


def against(label, *groups):
    """The duels of a method at the easy and the hard target."""
    return list_duels_with_best(compare_algorithms(results(*groups), SFO), label, {label})


def wins(duel, sign=1):
    """Whether a method needs fewer calls than every other; with -1, whether another does."""
    begun = duel.starts_within_target and sign > 0
    return not begun and sign * duel.candidate_expected_calls < sign * duel.best_other_calls


def test_who_needs_more_loses_to_the_best_of_the_others():
    # 123.5 and 124.5 calls to the first target are both printed as 124, and share a rank.
    for duel, place in zip(
        against("slower", fast(), slow(), slower(), idle()), (2, 3), strict=True
    ):
        assert (wins(duel), wins(duel, -1), duel.rank, duel.method_count) == (False, True, place, 4)
        assert duel.best_other.group.label == "fast"
        assert duel.candidate_expected_calls > duel.best_other_calls


def test_what_differs_by_luck_is_not_told_and_is_equal_only_by_its_interval():
    near = against("slow", slow(), slower())
    assert not any(duel.is_significant for duel in near)
    assert [duel.ratio.interval.low > 0.9 for duel in near] == [True] * 2
    assert all(format_cell(duel.ratio).endswith("≈") for duel in near)
    # Two seeds tell nothing either, but their interval is wide.
    few = [run([16, 3, 0.9], [0, 10, n], seed=n) for n in (20, 200)]
    other = [run([16, 3, 0.9], [0, 10, n], seed=n) for n in (30, 190)]
    wide = against("few", group("few", few), group("other", other))[1]
    assert not wide.is_significant
    assert wide.ratio.interval.low < 0.8 < 1.0 < wide.ratio.interval.high
    assert "≈" not in format_cell(wide.ratio)


def test_fewer_expected_calls_are_not_significant_if_most_seeds_need_more():
    steady = group("steady", [run([16, 3, 0.9], [0, 10, 200], seed=n) for n in range(20)])
    hits = [run([16, 3, 0.9], [0, 10, 90 + n], seed=n) for n in range(18)]
    misses = [run([16, 3, 2], [0, 10, 10**5], seed=n) for n in (18, 19)]
    hard = against("steady", steady, group("risky", [*hits, *misses]))[1]
    assert (wins(hard), hard.is_significant) == (True, False)


def test_who_was_refused_does_not_stand():
    out = group("out", [run([], [], seed=seed, status="refused") for seed in range(8)])
    assert against("out", out, fast()) == []
    (said,) = make_candidate_front(
        [compare_algorithms(results(out, fast()), SFO)], ["out"]
    ).candidate_failure_texts
    assert said.startswith("out is refused on ")


@pytest.mark.parametrize("seeds", [0, 1, 8])
def test_where_runs_begin_within_a_target_there_is_nothing_to_win(seeds):
    """The first row of some methods is recorded after calls: that is no reason to lose."""
    starts = [3] * seeds + [16] * (8 - seeds)
    at_once = group("at_once", [run([m, 0.5], [0, 9], seed=s) for s, m in enumerate(starts)])
    later = group("later", [run([m, 0.5], [5, 90], seed=s) for s, m in enumerate(starts)])
    for one in ("at_once", "later"):
        comparison = compare_algorithms(results(at_once, later), SFO)
        easy, hard = list_duels_with_best(comparison, one, {one})
        assert easy.starts_within_target == (seeds > 0)
        assert not hard.starts_within_target
        assert wins(hard) == (one == "at_once")
        if easy.starts_within_target:
            assert easy.rank is None
            assert {wins(easy), wins(easy, -1), easy.is_significant} == {False}
        told = [
            each["starts_within_target"] for each in duels_with_best_as_json(comparison, one, {one})
        ]
        assert told == [easy.starts_within_target, False]


# --- tuning ---------------------------------------------------------------------------------------


def test_what_was_chosen_has_a_table():
    """Of a study in which a and b stand as stated and tuned."""
    study = results(group("a", fast().runs), group("b", slow().runs)).study
    methods = tuple(TunedMethod(label, f"{label}[x={{x}}]", {"x": [1, 2]}) for label in "abc")
    tune = TuningPlan(methods, 2, (100,))
    trials = (
        TuningTrial({"x": 1}, (1,), (50.0,), (1.0,)),
        TuningTrial({"x": 2}, (0,), (math.inf,), (2.0,)),
    )
    choices = tuple(TuningChoice("p", method.selector, {}, trials) for method in methods[:2])
    refused = (TuningTrial({"x": 1}, (0,), (math.inf,), (math.inf,)),)
    choices += (TuningChoice("p", methods[2].selector, {}, refused),)
    study = replace(study, tune=tune, choices=choices, targets=study.targets[-1:])
    chosen = tuning_effects.choice_table(study)
    assert [row.cells[:5] for row in chosen.rows] == [["1", "x = 1", None, 2, 1]] * 2
    assert "at most 2 trials" in tuning_effects.choice_table(study).note
