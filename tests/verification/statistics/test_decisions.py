"""Decisions: medians over seeds, uniform draws, and how those of parts become one."""

import itertools
import math
from dataclasses import dataclass, field

import numpy as np
import pytest
from own_styles import RightHalf, SecondHalf
from scipy import stats

from pfbench.algorithms.nfwu import NFWUSPIDERG
from pfbench.base.errors import InputError
from pfbench.base.state import State
from pfbench.claims.shen2019.theorem31 import THEOREM
from pfbench.verification import statistics as st
from pfbench.verification.statistics import (
    LEVEL,
    Decision,
    best_if_all_hold_else_worst,
    cap_at_holds_by_own_constant,
    cap_at_holds_by_schedule_alone,
    combine_all,
    combine_parts_and_conditions,
    decide_uniform,
    means,
)
from pfbench.verification.subject import Subject
from pfbench.verification.trial import Trial
from pfbench.verification.verdict_tables import matching_claimed_exponent

SIZES = np.geomspace(1.0, 100.0, 4)


def verdict_of(decide, above, first):
    """The verdict, and the seeds of it, where these values of 41 lie above their bound, by either.

    `decide` is "median" or "exponent".
    """
    asked = []

    def values(count):
        asked.append(count)
        return np.where(above[:count], 2.0, 0.5)

    if decide == "median":
        decision = st.decide_median(values, 1.0, first)
    else:
        slopes = st.make_fit_function(SIZES, lambda count: SIZES ** values(count)[:, np.newaxis])
        decision = st.decide_exponent(slopes, 0.9, seeds=first)
    return decision.verdict, asked[-1]


@pytest.mark.parametrize(("above", "seeds"), [(20, 20), (19, 20), (0, 5), (30, 31), (39, 41)])
def test_the_sign_test_is_the_binomial_one(above, seeds):
    values = np.where(np.arange(seeds) < above, 2.2, -50.0)
    expected = stats.binomtest(above, seeds, alternative="greater").pvalue
    assert means.sign_p_value(values, 2.1) == pytest.approx(expected)


@pytest.mark.parametrize("chance", [0.5, 0.3, 0.05])
def test_no_law_is_rejected_above_its_p_value(chance):
    """All 2^10 outcomes of 10 values that lie above with a chance: ties are within."""
    by_p = []
    for above in itertools.product((0, 1), repeat=10):
        p = means.sign_p_value(np.array(above, dtype=float), 0.0)
        by_p.append((p, chance ** sum(above) * (1 - chance) ** (10 - sum(above))))
    for level in {p for p, _ in by_p}:
        share = sum(weight for p, weight in by_p if p <= level)
        assert share <= level + 1e-12
        if chance == 0.5:
            assert share == pytest.approx(level)


@pytest.mark.parametrize("seeds", range(1, 42))
def test_each_end_misses_in_at_most_half_of_the_rest_and_no_nearer_one_would(seeds):
    found = means.median_interval(np.arange(1.0, seeds + 1))
    tail = 0.025
    if math.isinf(found.upper):
        assert found.lower == -math.inf
        assert 0.5**seeds > tail
        return
    rank = int(found.upper)
    assert found.lower == seeds + 1 - rank
    assert stats.binom.cdf(seeds - rank, seeds, 0.5) <= tail  # so many lie beyond x_(rank)
    assert stats.binom.cdf(seeds - rank + 1, seeds, 0.5) > tail


def test_the_last_look_is_the_fewest_that_let_two_lie_within():
    assert stats.binom.cdf(2, means.MOST_SEEDS, 0.5) <= st.LEVEL
    assert stats.binom.cdf(2, means.MOST_SEEDS - 1, 0.5) > st.LEVEL
    assert stats.binom.cdf(3, means.MOST_SEEDS, 0.5) > st.LEVEL


def test_the_early_look_is_the_least_that_leaves_the_others_their_levels():
    """The chances that each look says holds at the boundary, added up, whatever `seeds` is."""

    def missed(seeds):
        level = stats.binom.cdf(range(seeds), seeds, 0.5)
        return level[level <= 0.025].max(initial=0.0)

    between = max(missed(seeds) for seeds in range(means.EARLY_SEEDS + 1, means.MOST_SEEDS))
    late = between + missed(means.MOST_SEEDS)
    assert late + 0.5**means.EARLY_SEEDS <= 0.05
    assert late + 0.5 ** (means.EARLY_SEEDS - 1) > 0.05


def chances(sizes):
    """How many of each part lie above, as numbers of all 41, and the chance of it at a median."""
    for numbers in itertools.product(*(range(size + 1) for size in sizes)):
        parts = zip(numbers, sizes, strict=True)
        weight = math.prod(stats.binom.pmf(k, size, 0.5) for k, size in parts)
        above = [np.arange(size) < k for k, size in zip(numbers, sizes, strict=True)]
        yield np.concatenate(above), weight


@pytest.mark.parametrize("decide", ["median", "exponent"])
@pytest.mark.parametrize("first", [6, *(pytest.param(n, marks=pytest.mark.long) for n in (20, 35))])
def test_all_looks_keep_their_levels_under_every_law(decide, first):
    """By enumeration: the chance of all numbers above, times what is then said.

    What is said depends on how many lie above among the earliest, those of the first look and the
    others, whatever the law; at the boundary each does so with chance 1/2.
    """
    said = dict.fromkeys(("holds", "violated", "inconclusive"), 0.0)
    earliest = min(first, means.EARLY_SEEDS)
    for above, weight in chances((earliest, first - earliest, means.MOST_SEEDS - first)):
        verdict, seeds = verdict_of(decide, above, first)
        said["holds" if verdict == "within-10" else verdict] += weight
        assert verdict != "violated" or seeds == means.MOST_SEEDS
    assert 0.01 < said["holds"] <= 0.05
    # An early look that says holds is of seven within, of which the last says violated never.
    assert said["violated"] == pytest.approx(stats.binom.cdf(2, 41, 0.5))
    assert said["violated"] <= st.LEVEL


@pytest.mark.parametrize("decide", ["median", "exponent"])
def test_a_clear_case_is_decided_by_the_first_seeds_and_a_violation_by_the_last(decide):
    none, every = np.zeros(41, dtype=bool), np.ones(41, dtype=bool)
    assert verdict_of(decide, none, 20)[1] == 7
    assert verdict_of(decide, none, 6)[1] == 6
    assert verdict_of(decide, every, 20) == ("violated", 41)
    one_in_ten = np.arange(41) % 10 == 0  # five above, 36 within: clear at 20 already
    assert verdict_of(decide, one_in_ten, 20)[1] == 20
    assert verdict_of(decide, ~(np.arange(41) >= 38), 20) == ("inconclusive", 41)
    assert verdict_of(decide, ~(np.arange(41) >= 39), 20) == ("violated", 41)


def looks_at(values):
    """The verdict on a median of at most 1, and how many seeds were asked for."""
    asked = []
    decision = st.decide_median(lambda count: asked.append(count) or values[:count], 1.0)
    return decision.verdict, asked


def test_what_might_be_tight_with_more_seeds_gets_them():
    """One of seven far below the others: 20 seeds let it lie outside of the interval."""
    values = np.full(41, 0.5)
    values[3] = 0.01
    assert looks_at(values) == ("within-10", [7, 20])
    assert looks_at(np.full(41, 0.5)) == ("within-10", [7])
    assert looks_at(np.full(41, 0.01)) == ("holds", [7])


@pytest.mark.parametrize(("change", "seeds"), [(0.0, [7]), (0.3, [7, 20])])
def test_an_early_look_decides_no_counts_that_may_be_curved(change, seeds):
    """A line, and a bow that ends too steep in most of the seeds, not in enough of them."""
    asked = []
    u = np.log(SIZES)
    bow = (u - u.mean()) ** 2 / (2 * u.max())
    each = change + 0.3 * np.array([1, -1] * 21)[:41] * (change > 0)

    def calls(count):
        asked.append(count)
        return np.exp(u + each[:count, np.newaxis] * bow)

    assert st.decide_exponent(st.make_fit_function(SIZES, calls), 1.0).verdict == "within-10"
    assert asked == seeds


def test_a_value_at_the_bound_speaks_for_it():
    assert st.decide_median(np.full(20, 3.0), 3.0).verdict == "attained"
    assert means.sign_p_value(np.full(41, 0.1 + 0.2), 0.3) == 1
    assert means.sign_p_value(np.full(41, 0.3 + 1e-8), 0.3) <= st.LEVEL


def test_verdicts_of_medians():
    values = np.concatenate([np.full(15, 0.5), np.full(5, math.inf)])
    decision = st.decide_median(values, 1.0)
    assert decision.verdict == "within-10"
    assert (decision.measured["ratio"], decision.measured["upper"]) == (0.5, 0.5)
    assert st.decide_median(values[1:], 1.0).verdict == "inconclusive"
    assert st.decide_median(np.full(6, 0.01), 1.0).verdict == "holds"
    assert st.decide_median(np.full(5, 0.01), 1.0).verdict == "inconclusive"
    assert st.decide_median(np.full(31, math.inf), 1.0).verdict == "violated"
    assert st.decide_median(np.full(30, math.inf), 1.0).verdict == "inconclusive"


def test_counts_that_do_not_reach_their_target_have_no_further_look():
    asked = []

    def calls(count):
        asked.append(count)
        return np.full((count, 4), math.inf)

    assert st.decide_exponent(st.make_fit_function(SIZES, calls), 1.0).verdict == "inconclusive"
    assert asked == [7]


def test_rows_are_made_when_they_are_asked_for_and_once():
    made = []
    rows = st.SeedRows(lambda seed: made.append(seed) or 10 * seed, [3, 1, 4, 1, 5])
    assert rows(2) == [30, 10]
    assert rows(4) == [30, 10, 40, 10]
    assert rows(3) == [30, 10, 40]
    assert made == [3, 1, 4, 1]
    assert rows(99) == [30, 10, 40, 10, 50]


@pytest.mark.parametrize("values", [[], [math.nan, 1.0], [[1.0, 2.0]], "many"])
def test_bad_values_are_refused(values):
    for function in (lambda v: means.sign_p_value(v, 1.0), means.median_interval):
        with pytest.raises(InputError, match="values"):
            function(values)
    with pytest.raises(InputError, match="bound"):
        st.decide_median([1.0], 0.0)


# --- uniform draws --------------------------------------------------------------------------------


def test_under_uniform_draws_the_e_value_has_mean_one():
    """All 3^6 sequences; so it exceeds 1/level with probability at most the level (Markov)."""
    values = [
        math.exp(decide_uniform(drawn, 3).measured["log_e_value"])
        for drawn in itertools.product(range(3), repeat=6)
    ]
    assert np.mean(values) == pytest.approx(1.0, rel=1e-9)


@pytest.mark.parametrize(
    ("counts", "verdict"),
    [
        ([13, 12, 12, 13, 12, 13, 12, 13], "holds"),
        ([0, 0, 0, 0, 25, 25, 25, 25], "violated"),
        ([100, 0, 0, 0, 0, 0, 0, 0], "violated"),
        ([9, 9, 9, 9, 9, 9, 9, 37], "inconclusive"),
    ],
)
def test_verdicts_of_draws(counts, verdict):
    decision = decide_uniform(np.repeat(np.arange(8), counts), 8)
    assert decision.verdict == verdict
    assert (decision.p_value <= LEVEL) == (verdict == "violated")
    assert decision.measured["largest share"] == max(counts) / sum(counts)


def test_what_is_no_option_rejects_at_once():
    for drawn in ([0, 1, 2, 3, 4], [0, 1, 2, -1]):
        decision = decide_uniform(drawn, 4)
        assert decision.verdict == "violated"
        assert decision.p_value == 0.0


def test_bad_draws_are_refused():
    for drawn, options in (([], 3), ([[1]], 3), ([0], 0)):
        with pytest.raises(InputError, match=r"sample|options"):
            decide_uniform(drawn, options)


# --- outputs of methods ---------------------------------------------------------------------------


class Bare:
    """Yields iterates and nothing else; no dataclass."""

    name = "bare"
    requires = frozenset({"gradient", "lo"})
    assumes = frozenset()
    deterministic = False
    output = "uniform"

    def __init__(self, iterations, step):
        self.iterations, self.step = iterations, step

    def run(self, ask, x, rng):
        for _ in range(self.iterations):
            x = self.to(ask, x)
            yield State(x)

    def to(self, ask, x):
        return x + self.step * (ask.lo(ask.gradient(x)) - x)


@dataclass(frozen=True, kw_only=True)
class Last(NFWUSPIDERG):
    """Returns its last iterate."""

    output: str = field(default="last")


class Inside(NFWUSPIDERG):
    """Returns a point between two iterates."""

    def run(self, ask, x, rng):
        for state in super().run(ask, x, rng):
            yield state._replace(output=0.5 * (state.x + state.at))


class Turning(Bare):
    """Comes back to where it was."""

    def run(self, ask, x, rng):
        there = self.to(ask, x)
        for t in range(self.iterations):
            yield State(x if t % 2 else there, x)


@pytest.mark.parametrize(
    ("method", "verdict"),
    [
        pytest.param(NFWUSPIDERG, "holds", marks=pytest.mark.long),
        (Bare, "holds"),
        pytest.param(RightHalf, "holds", marks=pytest.mark.long),
        (SecondHalf, "violated"),
        (Last, "violated"),
        pytest.param(Inside, "violated", marks=pytest.mark.long),
        (Turning, "inconclusive"),
    ],
)
def test_which_iterate_is_returned(method, verdict):
    trial = Trial(THEOREM["spiderg"], Subject(method))
    assert trial.decide_if_output_is_uniform().verdict == verdict


# --- how the decisions of parts become one --------------------------------------------------------


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
