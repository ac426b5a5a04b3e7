"""Medians over seeds against enumeration: the sign test, intervals, and the two looks."""

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
        slopes = st.fitted(X, lambda count: X ** values(count)[:, np.newaxis])
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
@pytest.mark.parametrize("level", [0.8, 0.95, 0.99])
def test_each_end_misses_in_at_most_half_of_the_rest_and_no_nearer_one_would(seeds, level):
    values = np.arange(1.0, seeds + 1)
    found = medians.median_interval(values, level)
    tail = (1 - level) / 2
    if math.isinf(found.upper):
        assert found.lower == -math.inf
        assert 0.5**seeds > tail
        return
    rank = int(found.upper)
    assert found.lower == seeds + 1 - rank
    assert stats.binom.cdf(seeds - rank, seeds, 0.5) <= tail  # so many lie beyond x_(rank)
    assert stats.binom.cdf(seeds - rank + 1, seeds, 0.5) > tail


def test_the_second_look_is_the_fewest_that_let_two_lie_within():
    assert stats.binom.cdf(2, medians.MOST_SEEDS, 0.5) <= st.LEVEL
    assert stats.binom.cdf(2, medians.MOST_SEEDS - 1, 0.5) > st.LEVEL
    assert stats.binom.cdf(3, medians.MOST_SEEDS, 0.5) > st.LEVEL


@pytest.mark.parametrize("decide", ["median", "exponent"])
@pytest.mark.parametrize("first", [6, 20, 35])
def test_both_looks_keep_their_levels_under_every_law(decide, first):
    """By enumeration: the chance of each pair of numbers above, times what is then said.

    What is said depends on how many lie above among the first and among the others, whatever the
    law; at the boundary each does so with chance 1/2.
    """
    said = dict.fromkeys(("holds", "violated", "inconclusive"), 0.0)
    rest = medians.MOST_SEEDS - first
    for early in range(first + 1):
        for late in range(rest + 1):
            above = np.concatenate([np.arange(first) < early, np.arange(rest) < late])
            verdict, seeds = verdict_of(decide, above, first)
            verdict = "holds" if verdict == "tight" else verdict
            weight = stats.binom.pmf(early, first, 0.5) * stats.binom.pmf(late, rest, 0.5)
            said[verdict] += weight
            assert verdict != "violated" or seeds == medians.MOST_SEEDS
    assert 0.01 < said["holds"] <= 0.05
    assert said["violated"] == pytest.approx(stats.binom.cdf(2, 41, 0.5))
    assert said["violated"] <= st.LEVEL


@pytest.mark.parametrize("decide", ["median", "exponent"])
def test_a_clear_case_is_decided_by_the_first_seeds_and_a_violation_by_the_second(decide):
    none, every = np.zeros(41, dtype=bool), np.ones(41, dtype=bool)
    assert verdict_of(decide, none, 20)[1] == 20
    assert verdict_of(decide, every, 20) == ("violated", 41)
    one_in_ten = np.arange(41) % 10 == 0  # five above, 36 within: clear at 20 already
    assert verdict_of(decide, one_in_ten, 20)[1] == 20
    assert verdict_of(decide, ~(np.arange(41) >= 38), 20) == ("inconclusive", 41)
    assert verdict_of(decide, ~(np.arange(41) >= 39), 20) == ("violated", 41)


def test_a_value_at_the_bound_speaks_for_it():
    assert st.decide_median(np.full(20, 3.0), 3.0).verdict == "tight"
    assert medians.sign_p_value(np.full(41, 0.1 + 0.2), 0.3) == 1
    assert medians.sign_p_value(np.full(41, 0.3 + 1e-8), 0.3) <= st.LEVEL


def test_verdicts_of_medians():
    values = np.concatenate([np.full(15, 0.5), np.full(5, math.inf)])
    decision = st.decide_median(values, 1.0)
    assert decision.verdict == "tight"
    assert (decision.measured["ratio"], decision.measured["upper"]) == (0.5, 0.5)
    assert st.decide_median(values[1:], 1.0).verdict == "inconclusive"
    assert st.decide_median(np.full(6, 0.01), 1.0).verdict == "holds"
    assert st.decide_median(np.full(5, 0.01), 1.0).verdict == "inconclusive"
    assert st.decide_median(np.full(31, math.inf), 1.0).verdict == "violated"
    assert st.decide_median(np.full(30, math.inf), 1.0).verdict == "inconclusive"


def test_counts_that_do_not_reach_their_target_have_no_second_look():
    asked = []

    def calls(count):
        asked.append(count)
        return np.full((count, 4), math.inf)

    assert st.decide_exponent(st.fitted(X, calls), 1.0).verdict == "inconclusive"
    assert asked == [20]


def test_rows_are_made_when_they_are_asked_for_and_once():
    made = []
    rows = st.Rows(lambda seed: made.append(seed) or 10 * seed, [3, 1, 4, 1, 5])
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
