"""Bands and final values against plain NumPy; tests and corrections by enumeration and scipy."""

import math
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_runs import run
from scipy import stats

from pfbench.reporting.seed_curves import FinalSummary, MedianBand, SeedTraces, band_legend
from pfbench.reporting.significance import (
    SeedSample,
    holm_adjust,
    median,
    median_sign_test,
    rank_test,
    seeds_needed,
    significant_leaders,
    significant_sides,
)


def band_of(*runs, axis="sfo"):
    return SeedTraces.from_runs(runs).median_band(axis, "m")


def test_runs_with_equal_counts_are_compared_without_interpolation():
    y = np.random.default_rng(0).random((7, 5))
    found = band_of(*(run(list(row), [0, 3, 3, 9, 20]) for row in y))
    np.testing.assert_array_equal(found.x, [0, 3, 3, 9, 20])
    np.testing.assert_allclose(found.median, np.median(y, axis=0))
    np.testing.assert_allclose(found.low, np.percentile(y, 25, axis=0))
    np.testing.assert_allclose(found.high, np.percentile(y, 75, axis=0))
    np.testing.assert_array_equal(found.runs, 7)


def test_the_band_of_few_seeds_is_their_range():
    y = np.random.default_rng(1).random((4, 3))
    found = band_of(*(run(list(row)) for row in y))
    np.testing.assert_array_equal(found.low, y.min(axis=0))
    np.testing.assert_array_equal(found.high, y.max(axis=0))
    assert "least to the greatest" in band_legend(4)
    assert "quartiles" in band_legend(5)


def test_seconds_are_those_of_the_median_run_at_each_iteration():
    runs = [run([4.0, 2.0, 1.0], [0, 10 + 10 * k, 20 + 20 * k], seed=k) for k in range(3)]
    found = band_of(*runs, axis="seconds")
    np.testing.assert_array_equal(found.x, [0, 2, 4])
    np.testing.assert_array_equal(found.median, [4, 2, 1])


def test_differing_counts_are_put_on_their_common_grid():
    one, two = run([4.0, 2.0, 0.0], [0, 10, 20]), run([8.0, 4.0, 0.0], [0, 4, 8])
    found = band_of(one, two)
    grid = [0, 4, 8, 10, 20]
    np.testing.assert_array_equal(found.x, grid)
    expected = [np.interp(grid, [0, 10, 20], [4, 2, 0]), np.interp(grid, [0, 4, 8], [8, 4, 0])]
    np.testing.assert_allclose(found.median, np.median(expected, axis=0))


def test_on_a_common_grid_the_last_value_at_a_count_stands():
    one, two = run([4.0, 3.0, 1.0], [0, 5, 5]), run([4.0, 1.0], [0, 7])
    found = band_of(one, two)
    np.testing.assert_array_equal(found.x, [0, 5, 7])
    np.testing.assert_allclose(found.low, [4, 1, 1])


@pytest.mark.parametrize(
    ("status", "runs", "high"), [("diverged", 1, 1.0), ("error", 1, 1.0), ("budget", 2, 3.0)]
)
def test_a_failed_run_has_no_value_after_its_end_and_a_censored_one_keeps_it(status, runs, high):
    whole, early = run([4.0, 2.0, 1.0]), run([4.0, 3.0], seed=1, status=status)
    found = band_of(whole, early)
    np.testing.assert_array_equal(found.runs, [2, 2, runs])
    assert found.high[-1] == high
    ends = SeedTraces.from_runs([whole, early]).endings_not_planned("sfo", "m")
    # What ends by its budget ends as planned, and has no cross.
    assert [(end.x, end.y, end.seed, end.status) for end in ends] == [
        (1.0, 3.0, 1, status) for _ in range(status != "budget")
    ]


def test_values_that_are_not_finite_or_missing_leave_no_trace():
    found = band_of(run([None, float("inf"), 1.0, float("nan")]))
    np.testing.assert_array_equal(found.x, [2])
    np.testing.assert_array_equal(found.median, [1])


@pytest.mark.parametrize("runs", [[], [run([])], [replace(run([1.0]), columns=(), rows=[])]])
def test_nothing_recorded_gives_an_empty_band(runs):
    assert SeedTraces.from_runs(runs).median_band("sfo", "m").x.size == 0
    assert SeedTraces.from_runs(runs).final_summary("m").runs == 0
    assert SeedTraces.from_runs(runs).start_values("m").size == 0


def test_final_values_are_those_of_the_runs_that_end_with_an_answer():
    runs = [run([9.0, y]) for y in (1.0, 2.0, 4.0)] + [run([9.0, 100.0], status="diverged")]
    assert SeedTraces.from_runs(runs).final_summary("m") == FinalSummary(2.0, 1.0, 4.0, 3, 4)
    assert set(SeedTraces.from_runs(runs).start_values("m")) == {9.0}


def test_thinning_keeps_both_ends():
    found = band_of(run(list(np.linspace(1, 2, 1000)))).thin(10)
    assert found.x.size == 10
    assert (found.x[0], found.x[-1]) == (0, 999)
    assert found.median[-1] == 2.0


def test_thinning_for_a_logarithmic_axis_is_even_in_the_logarithm_and_leaves_out_zero():
    x = np.array([0.0, 0.0, *np.geomspace(1, 1e6, 1000)])
    whole = MedianBand(x, x, x, x, np.ones(x.size, dtype=np.int64))
    found = whole.thin(7, log=True)
    assert found.x == pytest.approx([1, 10, 100, 1e3, 1e4, 1e5, 1e6], rel=0.02)
    assert (found.x[0], found.x[-1]) == (x[2], x[-1])
    assert whole.thin(2000, log=True).x.tolist() == x[2:].tolist()
    nowhere = MedianBand(*(np.zeros(5),) * 4, np.ones(5, dtype=np.int64))
    assert nowhere.thin(3, log=True).x.size == 0


# --- tests of significance ------------------------------------------------------------------------


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


@pytest.mark.parametrize(("n", "m"), [(3, 5), (8, 8), (10, 30), (50, 50), (80, 80)])
def test_without_ties_it_is_that_of_scipy(n, m):
    rng = np.random.default_rng(n)
    x, y = rng.normal(size=n), rng.normal(0.7, size=m)
    method = "asymptotic" if n == 80 else "exact"
    expected = stats.mannwhitneyu(x, y, method=method).pvalue
    assert rank_test(x, y) == pytest.approx(expected, rel=1e-9)


def test_scipys_exact_law_would_be_wrong_with_ties():
    """The fault that the enumeration must see: ties are left out of account."""
    x, y = np.array([1.0, 1, 1, 2]), np.array([1.0, 2, 2, 2])
    assert stats.mannwhitneyu(x, y, method="exact").pvalue != pytest.approx(enumerated(x, y))


@given(st.lists(st.floats(0, 1), max_size=9))
def test_holm_rejects_what_its_steps_reject(p):
    """In order: the k-th least is held to level / (m - k + 1), until one is not rejected."""
    corrected = holm_adjust(p)
    for level in (0.01, 0.05, 0.3):
        rejected = set()
        for k, at in enumerate(np.argsort(p, kind="stable")):
            if (len(p) - k) * p[at] > level:
                break
            rejected.add(int(at))
        assert {at for at, value in enumerate(corrected) if value <= level} == rejected


def row(*samples, fixed=()):
    return [SeedSample(np.array(one, dtype=float), at in fixed) for at, one in enumerate(samples)]


def leading(*rows, shown=None):
    numbers = shown or [[median(one.values) for one in some] for some in rows]
    return significant_leaders(rows, numbers)


FIVE = np.arange(5.0)


def test_the_best_leads_only_where_the_test_says_so():
    assert leading(row(FIVE, FIVE + 10)) == [0]
    assert leading(row(FIVE, FIVE + 1)) == [None]
    assert leading(row([INF] * 5, [INF] * 5)) == [None]
    assert leading(row([INF] * 5, FIVE)) == [1]


def test_a_method_that_is_better_by_the_test_is_never_beaten_by_the_shown_number():
    assert leading(row(FIVE, FIVE + 10), shown=[[9.0, 5.0]]) == [None]


@pytest.mark.parametrize("pairs", [1, 2, 9, 50])
def test_from_so_many_seeds_on_a_family_can_have_a_significant_pair(pairs):
    needed = seeds_needed(pairs)
    for seeds, clear in ((needed, True), (needed - 1, False)):
        apart = row(np.arange(seeds), np.arange(seeds) + 100)
        same = row(np.arange(seeds), np.arange(seeds) + 1e-9)
        found, *_ = leading(apart, *[same] * (pairs - 1))
        assert (found == 0) == clear


def test_the_correction_is_over_all_tests_that_are_asked_for():
    """Those of the best against each other one, not all pairs."""
    assert leading(row(FIVE, FIVE + 10)) == [0]
    assert leading(*[row(FIVE, FIVE + 10)] * 9) == [None] * 9
    # Against six others; all pairs of seven would be 21 tests, too many for five seeds.
    assert leading(row(*[FIVE + 10 * k for k in range(7)])) == [0]
    assert seeds_needed(21) > 5


def test_methods_in_which_nothing_varies_are_told_apart_by_their_values():
    samples = [3, 3], [2, 2], [2, 2]
    assert leading(row(*samples, fixed={0, 1, 2})) == [None]  # two are the best
    assert leading(row(*samples[:2], fixed={0, 1})) == [1]
    assert leading(row(*samples[:2], fixed={0})) == [None]  # of the last, two seeds say too little


def test_several_equal_numbers_are_one():
    """Ten times the same against ten that vary: the rank test would be a thousand times as sure."""
    fixed, varying = row([5.0] * 10, np.arange(10.0) + 6, fixed={0})
    assert median_sign_test(varying.values, 5.0) == pytest.approx(2 / 2**10)
    assert rank_test(fixed.values, varying.values) < 1e-4
    assert significant_sides([(fixed, varying)] * 25) == [-1] * 25
    assert significant_sides([(fixed, varying)] * 26) == [0] * 26


@given(st.lists(st.integers(0, 6).map(float) | st.just(INF), min_size=1, max_size=9))
def test_the_sign_test_is_the_binomial_one(x):
    below, above = (sum(1 for v in x if side(v)) for side in (lambda v: v < 3, lambda v: v > 3))
    several = below + above
    expected = stats.binomtest(below, several).pvalue if several else 1.0
    assert median_sign_test(np.array(x), 3.0) == pytest.approx(expected)
