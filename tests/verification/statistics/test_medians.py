"""Medians over seeds against enumeration: the sign test, intervals, and the looks."""

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from pfbench.base.errors import InputError
from pfbench.verification import statistics as st
from pfbench.verification.statistics import medians

X = np.geomspace(1.0, 100.0, 4)


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
        slopes = st.make_fit_function(X, lambda count: X ** values(count)[:, np.newaxis])
        decision = st.decide_exponent(slopes, 0.9, seeds=first)
    return decision.verdict, asked[-1]


@pytest.mark.parametrize(("above", "seeds"), [(20, 20), (19, 20), (0, 5), (30, 31), (39, 41)])
def test_the_sign_test_is_the_binomial_one(above, seeds):
    values = np.where(np.arange(seeds) < above, 2.2, -50.0)
    expected = stats.binomtest(above, seeds, alternative="greater").pvalue
    assert medians.sign_p_value(values, 2.1) == pytest.approx(expected)


@pytest.mark.parametrize("chance", [0.5, 0.3, 0.05])
def test_no_law_is_rejected_above_its_p_value(chance):
    """All 2^10 outcomes of 10 values that lie above with a chance: ties are within."""
    by_p = []
    for above in itertools.product((0, 1), repeat=10):
        p = medians.sign_p_value(np.array(above, dtype=float), 0.0)
        by_p.append((p, chance ** sum(above) * (1 - chance) ** (10 - sum(above))))
    for level in {p for p, _ in by_p}:
        share = sum(weight for p, weight in by_p if p <= level)
        assert share <= level + 1e-12
        if chance == 0.5:
            assert share == pytest.approx(level)


@pytest.mark.parametrize("seeds", range(1, 42))
def test_each_end_misses_in_at_most_half_of_the_rest_and_no_nearer_one_would(seeds):
    values = np.arange(1.0, seeds + 1)
    found = medians.median_interval(values)
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
    assert stats.binom.cdf(2, medians.MOST_SEEDS, 0.5) <= st.LEVEL
    assert stats.binom.cdf(2, medians.MOST_SEEDS - 1, 0.5) > st.LEVEL
    assert stats.binom.cdf(3, medians.MOST_SEEDS, 0.5) > st.LEVEL


def test_the_early_look_is_the_least_that_leaves_the_others_their_levels():
    """The chances that each look says holds at the boundary, added up, whatever `seeds` is."""

    def missed(seeds):
        level = stats.binom.cdf(range(seeds), seeds, 0.5)
        return level[level <= 0.025].max(initial=0.0)

    between = max(missed(seeds) for seeds in range(medians.EARLY_SEEDS + 1, medians.MOST_SEEDS))
    late = between + missed(medians.MOST_SEEDS)
    assert late + 0.5**medians.EARLY_SEEDS <= 0.05
    assert late + 0.5 ** (medians.EARLY_SEEDS - 1) > 0.05


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
    earliest = min(first, medians.EARLY_SEEDS)
    for above, weight in chances((earliest, first - earliest, medians.MOST_SEEDS - first)):
        verdict, seeds = verdict_of(decide, above, first)
        said["holds" if verdict == "within-10" else verdict] += weight
        assert verdict != "violated" or seeds == medians.MOST_SEEDS
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
    u = np.log(X)
    bow = (u - u.mean()) ** 2 / (2 * u.max())
    each = change + 0.3 * np.array([1, -1] * 21)[:41] * (change > 0)

    def calls(count):
        asked.append(count)
        return np.exp(u + each[:count, np.newaxis] * bow)

    assert st.decide_exponent(st.make_fit_function(X, calls), 1.0).verdict == "within-10"
    assert asked == seeds


def test_a_value_at_the_bound_speaks_for_it():
    assert st.decide_median(np.full(20, 3.0), 3.0).verdict == "attained"
    assert medians.sign_p_value(np.full(41, 0.1 + 0.2), 0.3) == 1
    assert medians.sign_p_value(np.full(41, 0.3 + 1e-8), 0.3) <= st.LEVEL


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

    assert st.decide_exponent(st.make_fit_function(X, calls), 1.0).verdict == "inconclusive"
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
    for function in (lambda v: medians.sign_p_value(v, 1.0), medians.median_interval):
        with pytest.raises(InputError, match="values"):
            function(values)
    with pytest.raises(InputError, match="bound"):
        st.decide_median([1.0], 0.0)
