"""One method against all others: wins, losses, and what is not significant, on known runs."""

import math

import pytest
from made_runs import fast, group, idle, results, run, slow, slower

from pfbench.reporting import tuning_effects
from pfbench.reporting.candidate_front import (
    duels_with_best_as_json,
    list_duels_with_best,
    make_candidate_front,
)
from pfbench.reporting.comparison import compare_algorithms
from pfbench.reporting.runtimes import Cost
from pfbench.reporting.tables import format_cell
from pfbench.runs.planning.tune import TunedMethod, TuningChoice, TuningPlan, TuningTrial

SFO = Cost.from_weights("sfo")


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
            assert (easy.rank, wins(easy), wins(easy, -1), easy.is_significant) == (
                None,
                False,
                False,
                False,
            )
        told = [
            each["starts_within_target"] for each in duels_with_best_as_json(comparison, one, {one})
        ]
        assert told == [easy.starts_within_target, False]


# --- tuning ---------------------------------------------------------------------------------------


def renamed(found, label):
    return group(label, found.runs)


def tuned(*groups):
    """A study in which a and b stand as stated and tuned."""
    made = results(*groups)
    study = made.study
    methods = tuple(TunedMethod(label, f"{label}[x={{x}}]", {"x": [1, 2]}) for label in "ab")
    tune = TuningPlan(methods, 2, (100,), study.targets[-1:], "sfo")
    trials = (
        TuningTrial({"x": 1}, (1,), (50.0,), (1.0,)),
        TuningTrial({"x": 2}, (0,), (math.inf,), (2.0,)),
    )
    choices = tuple(TuningChoice("p", method.selector, {}, trials) for method in methods)
    object.__setattr__(study, "tune", tune)
    object.__setattr__(study, "choices", choices)
    return made


def test_what_was_chosen_and_all_trials_have_a_table():
    study = tuned(renamed(fast(), "a"), renamed(slow(), "b")).study
    chosen, trials = tuning_effects.choice_and_trial_tables(study)
    assert [row.cells[:5] for row in chosen.rows] == [["1", "x = 1", None, 2, 1]] * 2
    assert [row.cells[-1] for row in trials.rows] == ["chosen for 1", None] * 2
    assert "2 methods tuned, 2 trials each" in tuning_effects.sentences_on_how_tuned(study)[0]
