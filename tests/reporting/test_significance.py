"""The rank test and Holm's correction, against enumeration and scipy."""

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from pfbench.reporting.statistics import holm, rank_test, seeds_needed, standings

INF = math.inf
few = st.lists(st.integers(0, 4).map(float) | st.just(INF), min_size=1, max_size=5)


def enumerated(x, y):
    """Return the p-value over every way to part the values in two."""
    ranks = stats.rankdata([*x, *y])
    mean = len(x) * (len(ranks) + 1) / 2
    sums = [sum(some) for some in combinations(ranks, len(x))]
    observed = abs(sum(ranks[: len(x)]) - mean)
    return np.mean([abs(one - mean) >= observed - 1e-9 for one in sums])


@given(few, few)
def test_the_rank_test_is_exact_with_ties(x, y):
    assert rank_test(np.array(x), np.array(y)) == pytest.approx(enumerated(x, y), rel=1e-12)


@pytest.mark.parametrize(("n", "m"), [(3, 5), (8, 8), (10, 30), (50, 50)])
def test_without_ties_it_is_that_of_scipy(n, m):
    rng = np.random.default_rng(n)
    x, y = rng.normal(size=n), rng.normal(0.7, size=m)
    expected = stats.mannwhitneyu(x, y, method="exact").pvalue
    assert rank_test(x, y) == pytest.approx(expected, rel=1e-9)


def test_scipys_exact_law_would_be_wrong_with_ties():
    """The fault that the enumeration must see: ties are left out of account."""
    x, y = np.array([1.0, 1, 1, 2]), np.array([1.0, 2, 2, 2])
    assert stats.mannwhitneyu(x, y, method="exact").pvalue != pytest.approx(enumerated(x, y))


def test_large_samples_have_the_approximate_law():
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=80), rng.normal(0.4, size=80)
    expected = stats.mannwhitneyu(x, y, method="asymptotic").pvalue
    assert rank_test(x, y) == pytest.approx(expected)


@given(st.lists(st.floats(0, 1), max_size=9))
def test_holm_rejects_what_its_steps_reject(p):
    """In order: the k-th least is held to level / (m - k + 1), until one is not rejected."""
    corrected = holm(p)
    for level in (0.01, 0.05, 0.3):
        rejected = set()
        for k, at in enumerate(np.argsort(p, kind="stable")):
            if (len(p) - k) * p[at] > level:
                break
            rejected.add(int(at))
        assert {at for at, value in enumerate(corrected) if value <= level} == rejected


def row(*samples):
    return [np.array(sample, dtype=float) for sample in samples]


FIVE = np.arange(5.0)


def test_the_best_is_clear_only_where_the_test_says_so():
    (far,) = standings([row(FIVE, FIVE + 10)])
    assert far.clear
    assert far.best == {0}
    (near,) = standings([row(FIVE, FIVE + 1)])
    assert not near.clear
    assert near.best == {0}
    assert near.tied == {1}
    (missed,) = standings([row([INF] * 5, [INF] * 5)])
    assert not missed.best
    (one_hit,) = standings([row([INF] * 5, FIVE)])
    assert one_hit.clear
    assert one_hit.best == {1}


def test_a_method_that_is_better_by_the_test_is_never_beaten_by_the_shown_number():
    (found,) = standings([row(FIVE, FIVE + 10)], shown=[[9.0, 5.0]])
    assert found.best == {1}
    assert found.tied == {0}


def test_what_is_not_compared_stands_nowhere():
    (found,) = standings([row([], FIVE)], shown=[[0.0, 2.0]])
    assert found.best == {1}
    assert found.clear


def test_three_seeds_can_never_tell_two_methods_apart():
    (found,) = standings([row([1, 2, 3], [10, 20, 30])])
    assert found.best == {0}
    assert found.tied == {1}


@pytest.mark.parametrize("pairs", [1, 2, 9, 50])
def test_from_so_many_seeds_on_a_table_can_have_a_significant_pair(pairs):
    needed = seeds_needed(pairs)
    for seeds, clear in ((needed, True), (needed - 1, False)):
        apart = row(np.arange(seeds), np.arange(seeds) + 100)
        same = row(np.arange(seeds), np.arange(seeds))
        found, *_ = standings([apart, *[same] * (pairs - 1)])
        assert found.clear == clear


def test_the_correction_is_over_the_whole_table():
    alone = standings([row(FIVE, FIVE + 10)])
    beside = standings([row(FIVE, FIVE + 10)] * 9)
    assert alone[0].clear
    assert not any(one.clear for one in beside)


def test_methods_in_which_nothing_varies_are_told_apart_by_their_values():
    samples = [3, 3], [2, 2], [2, 2]
    (found,) = standings([row(*samples)], [[True, True, True]])
    assert found.best == {1, 2}
    assert not found.tied
    (luck,) = standings([row(*samples)], [[True, True, False]])
    assert luck.tied == {0}  # of the last, two seeds say too little


def test_no_table_without_a_difference_has_one_more_often_than_it_may():
    rng = np.random.default_rng(3)
    wrong = 0
    for _ in range(400):
        table = [row(*rng.exponential(size=(4, 6))) for _ in range(3)]
        wrong += any(len(one.best) == 1 and len(one.tied) < 3 for one in standings(table))
    assert wrong / 400 <= 0.07
