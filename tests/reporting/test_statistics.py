"""Bands and final values against plain NumPy."""

from dataclasses import replace

import numpy as np
import pytest
from made_runs import run

from pfbench.reporting.seed_curves import FinalSummary, MedianBand, SeedTraces, band_legend


def test_runs_with_equal_counts_are_compared_without_interpolation():
    y = np.random.default_rng(0).random((7, 5))
    found = SeedTraces.from_runs([run(list(row), [0, 3, 3, 9, 20]) for row in y]).median_band(
        "sfo", "m"
    )
    np.testing.assert_array_equal(found.x, [0, 3, 3, 9, 20])
    np.testing.assert_allclose(found.median, np.median(y, axis=0))
    np.testing.assert_allclose(found.low, np.percentile(y, 25, axis=0))
    np.testing.assert_allclose(found.high, np.percentile(y, 75, axis=0))
    np.testing.assert_array_equal(found.runs, 7)


def test_the_band_of_few_seeds_is_their_range():
    y = np.random.default_rng(1).random((4, 3))
    found = SeedTraces.from_runs([run(list(row)) for row in y]).median_band("sfo", "m")
    np.testing.assert_array_equal(found.low, y.min(axis=0))
    np.testing.assert_array_equal(found.high, y.max(axis=0))
    assert "least to the greatest" in band_legend(4)
    assert "quartiles" in band_legend(5)


def test_seconds_are_those_of_the_median_run_at_each_iteration():
    runs = [run([4.0, 2.0, 1.0], [0, 10 + 10 * k, 20 + 20 * k], seed=k) for k in range(3)]
    found = SeedTraces.from_runs(runs).median_band("seconds", "m")
    np.testing.assert_array_equal(found.x, [0, 2, 4])
    np.testing.assert_array_equal(found.median, [4, 2, 1])


def test_differing_counts_are_put_on_their_common_grid():
    one, two = run([4.0, 2.0, 0.0], [0, 10, 20]), run([8.0, 4.0, 0.0], [0, 4, 8])
    found = SeedTraces.from_runs([one, two]).median_band("sfo", "m")
    grid = [0, 4, 8, 10, 20]
    np.testing.assert_array_equal(found.x, grid)
    expected = [np.interp(grid, [0, 10, 20], [4, 2, 0]), np.interp(grid, [0, 4, 8], [8, 4, 0])]
    np.testing.assert_allclose(found.median, np.median(expected, axis=0))


def test_on_a_common_grid_the_last_value_at_a_count_stands():
    one, two = run([4.0, 3.0, 1.0], [0, 5, 5]), run([4.0, 1.0], [0, 7])
    found = SeedTraces.from_runs([one, two]).median_band("sfo", "m")
    np.testing.assert_array_equal(found.x, [0, 5, 7])
    np.testing.assert_allclose(found.low, [4, 1, 1])


@pytest.mark.parametrize(
    ("status", "runs", "high"), [("diverged", 1, 1.0), ("error", 1, 1.0), ("budget", 2, 3.0)]
)
def test_a_failed_run_has_no_value_after_its_end_and_a_censored_one_keeps_it(status, runs, high):
    whole, early = run([4.0, 2.0, 1.0]), run([4.0, 3.0], seed=1, status=status)
    found = SeedTraces.from_runs([whole, early]).median_band("sfo", "m")
    np.testing.assert_array_equal(found.runs, [2, 2, runs])
    assert found.high[-1] == high
    ends = SeedTraces.from_runs([whole, early]).endings_not_planned("sfo", "m")
    # What ends by its budget ends as planned, and has no cross.
    assert [(end.x, end.y, end.seed, end.status) for end in ends] == [
        (1.0, 3.0, 1, status) for _ in range(status != "budget")
    ]


def test_values_that_are_not_finite_or_missing_leave_no_trace():
    found = SeedTraces.from_runs([run([None, float("inf"), 1.0, float("nan")])]).median_band(
        "sfo", "m"
    )
    np.testing.assert_array_equal(found.x, [2])
    np.testing.assert_array_equal(found.median, [1])


@pytest.mark.parametrize("runs", [[], [run([])], [replace(run([1.0]), columns=(), rows=[])]])
def test_nothing_recorded_gives_an_empty_band(runs):
    assert SeedTraces.from_runs(runs).median_band("sfo", "m").x.size == 0
    assert SeedTraces.from_runs(runs).final_summary("m").runs == 0
    assert np.isnan(SeedTraces.from_runs(runs).median_start_value("m"))


def test_final_values_are_those_of_the_runs_that_end_with_an_answer():
    runs = [run([9.0, y]) for y in (1.0, 2.0, 4.0)] + [run([9.0, 100.0], status="diverged")]
    assert SeedTraces.from_runs(runs).final_summary("m") == FinalSummary(2.0, 1.0, 4.0, 3, 4)
    assert SeedTraces.from_runs(runs).median_start_value("m") == 9.0


def test_thinning_keeps_both_ends():
    found = (
        SeedTraces.from_runs([run(list(np.linspace(1, 2, 1000)))]).median_band("sfo", "m").thin(10)
    )
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
