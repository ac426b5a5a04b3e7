"""Calls to a target at equal counts, against definitions and against cocopp."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_runs import figure_data, plan, results_of, run

from pfbench.base.counts import Budget
from pfbench.reporting.answers import answer_sentences, sentences_on_common_budget
from pfbench.reporting.panels import compute_figure
from pfbench.reporting.result_tables import compare_by_each_price, results_table
from pfbench.reporting.results import RunGroup, min_budget_by_kind, truncate_run, truncate_study
from pfbench.reporting.runtimes import (
    PRODUCTS,
    Cost,
    Runtimes,
    ecdf,
    ert,
    ert_interval,
    make_runtimes,
)
from pfbench.reporting.seed_curves import SeedTraces
from pfbench.reporting.tables import exact_counts_table
from pfbench.runs.loop.run import Stop

SFO = Cost.from_weights("sfo")
TARGET = Stop("m", 1.0)
INF = math.inf

COCOPP = (
    # Calls to a target (inf: missed), what each run spent in all, cocopp.toolsstats.sp of cocopp
    # 2.9.1: sp(calls where reached, else spent; issuccessful=reached)[0].
    ((50, INF), (50, 100), 150.0),
    ((12, 40, INF, 7, INF), (100, 100, 64, 100, 31), 51.333333333333336),
    ((INF, INF, INF, 3), (7, 11, 13, 100), 34.0),
    ((1e-3, 123456789.125, INF), (1, 2e8, 3.3e7), 78228394.563),
    ((INF, INF), (10, 10), INF),
)

calls = st.one_of(st.just(INF), st.integers(0, 10**6).map(float))


def known(found, spent=None):
    found = np.array(found, dtype=float)
    return Runtimes(found, np.full(found.size, 1e6) if spent is None else np.array(spent, float))


def calls_of(*runs, target=TARGET, cost=SFO):
    return make_runtimes(SeedTraces.from_runs(runs), target, cost).calls.tolist()


def test_a_runtime_is_what_was_spent_at_the_first_row_at_or_below_the_target():
    some = run([9, math.nan, 1.0, 5, 0.5], [0, 10, 30, 60, 100], lo=[0, 1, 2, 3, 4])
    for level, expected in ((1.0, 30), (0.99, 100), (0.4, INF)):
        assert calls_of(some, target=Stop("m", level)) == [expected]
    assert calls_of(some, target=Stop("other", 1)) == [INF]
    for weights, expected in (({"sfo": 2, "lo": 50}, 160), ("seconds", 3), ("iteration", 2)):
        assert calls_of(some, cost=Cost.from_weights(weights)) == [expected]


def test_products_of_matrices_are_those_of_its_linear_minimisations():
    some = run([9, 1.0, 0.5], [0, 30, 60], lo=[0, 2, 4])
    priced = replace(
        some,
        columns=(*some.columns, "lmo_products"),
        rows=[(*row, 15.0) for row in some.rows],
        counts=replace(some.counts, lo=4),
    )
    assert calls_of(priced, cost=PRODUCTS) == [30]
    costs = PRODUCTS.costs_of_whole_runs(SeedTraces.from_runs([priced, some]))
    assert costs.tolist() == [60, 0]  # not measured
    assert (PRODUCTS.description, str(PRODUCTS), SFO.description) == (
        "products of matrices",
        "products",
        "SFO calls",
    )


def test_a_failed_run_is_charged_what_it_spent_itself_and_no_other():
    """IOHinspector charges the greatest budget of all that is shown: 1050 beside one of 1000."""
    mine = [run([5, 1], [0, 50]), run([5, 4], [0, 90], status="budget", spent=100)]
    others = [run([5, 4], [0, 900], status="budget", spent=1000)]
    assert ert(make_runtimes(SeedTraces.from_runs(mine), TARGET, SFO)) == 150
    everything = make_runtimes(SeedTraces.from_runs([*mine, *others]), TARGET, SFO)
    assert everything.calls_charged.tolist() == [50, 100, 1000]  # the fault would be seen


@pytest.mark.parametrize(("found", "spent", "expected"), COCOPP)
def test_the_expected_runtime_is_that_of_coco(found, spent, expected):
    assert ert(known(found, spent)) == pytest.approx(expected, rel=1e-12)


@given(st.lists(st.tuples(calls, st.integers(1, 10**6)), min_size=1, max_size=12))
def test_the_expected_runtime_is_what_restarts_cost(pairs):
    """(1 - p) / p failed runs come before the first that succeeds, each at their mean."""
    found = known([a for a, _ in pairs], [b for _, b in pairs])
    hit = [a for a, _ in pairs if a < INF]
    missed = [b for a, b in pairs if a == INF]
    if not hit:
        assert ert(found) == INF
        return
    p = len(hit) / len(pairs)
    failing = (1 - p) / p * np.mean(missed) if missed else 0.0
    assert ert(found) == pytest.approx(np.mean(hit) + failing, rel=1e-12, abs=1e-12)


def test_a_price_is_written_in_words():
    assert str(Cost.from_weights({"sfo": 1, "lo": 50, "po": 0})) == "SFO + 50 LO"
    traces = SeedTraces.from_runs([run([1], [4], lo=[3])])
    assert Cost.from_weights("lo").costs_of_whole_runs(traces) == [3]


# --- equal counts ---------------------------------------------------------------------------------


def test_the_common_budget_is_the_least_of_each_count():
    plans = [plan(Budget(sfo=100)), plan(Budget(sfo=200, lo=7)), plan()]
    assert min_budget_by_kind(plans) == {"sfo": 100, "lo": 7}
    assert min_budget_by_kind([plan(), plan()]) == {}


def test_a_run_within_the_common_budget_is_left_alone():
    some = run([5, 3], [0, 100])
    assert truncate_run(some, {"sfo": 100, "lo": 0}) is some


values = st.lists(st.integers(0, 9).map(float), min_size=1, max_size=12)


@given(values, st.data())
def test_a_method_with_twice_the_budget_gains_nothing_from_it(path, data):
    """It is compared as the run of half the budget, and charged at least as much."""
    steps = data.draw(st.lists(st.integers(1, 30), min_size=len(path), max_size=len(path)))
    sfo = [0, *np.cumsum(steps)[:-1].tolist()]
    budget = data.draw(st.integers(0, 200))
    kept = [(s, v) for s, v in zip(sfo, path, strict=True) if s <= budget]
    complete = len(kept) == len(path)
    # It stops before the call that exceeds its budget, somewhere in its next step.
    beyond = 0 if complete else data.draw(st.integers(0, min(budget, sfo[len(kept)]) - kept[-1][0]))
    half = run(
        [v for _, v in kept],
        [s for s, _ in kept],
        status="finished" if complete else "budget",
        spent=kept[-1][0] + beyond,
    )
    seen = truncate_run(run(path, sfo), {"sfo": budget})
    assert seen.rows == half.rows
    target = Stop("m", data.draw(st.integers(0, 9)))
    mine, fair = (make_runtimes(SeedTraces.from_runs([one]), target, SFO) for one in (seen, half))
    np.testing.assert_array_equal(mine.calls, fair.calls)
    assert mine.total_calls[0] >= fair.total_calls[0]
    assert seen.final_value("m") == half.final_value("m")


def test_the_last_value_of_a_failure_is_none():
    assert run([5, 0.3]).final_value("m") == 0.3
    assert run([5, 0.3], status="diverged").final_value("m") == INF
    assert run([], status="refused").final_value("m") == INF


# --- suboptimality ---


def test_suboptimality_is_the_objective_less_the_least_known():
    some = run([5, math.nan, 1.0, 0.5])
    some = replace(some, columns=(*some.columns[:-1], "objective"))
    groups = [RunGroup("p", "", "a", "a", (), (some,), best) for best in ((1.0,), (None,))]
    known, unknown = (group.traces for group in groups)
    np.testing.assert_array_equal(known.stack_column("suboptimality"), [4, math.nan, 0, -0.5])
    assert make_runtimes(known, Stop("suboptimality", 0.0), SFO).calls == [2]
    assert "suboptimality" not in unknown.columns


# --- shares ---------------------------------------------------------------------------------------


@given(st.lists(st.lists(calls, min_size=3, max_size=3), min_size=1, max_size=4))
def test_a_share_is_that_of_problems_and_runs_reached_so_far(table):
    found = ecdf([[known(row)] for row in table], resamples=20)
    everything = [value for row in table for value in row]
    for x, share in zip(found.x, found.share, strict=True):
        assert share == pytest.approx(np.mean([value <= x for value in everything]))
    assert set(found.x) == {value for value in everything if value < INF}


def test_problems_weigh_the_same_whatever_their_number_of_runs():
    found = ecdf([[known([1, 1, 1, 1])], [known([9, INF])]], resamples=20)
    assert found.x.tolist() == [1, 9]
    assert found.share.tolist() == [0.5, 0.75]


# --- intervals ------------------------------------------------------------------------------------


def test_an_interval_is_that_of_all_resamples_of_two_runs():
    """Of two runs there are three resamples: both twice (1/4 each), and one of each (1/2)."""
    assert ert_interval(known([10, 30])) == (10, 30)
    assert ert_interval(known([10, INF], [10, 90])) == (10, INF)
    assert ert_interval(known([INF, INF])) is None
    assert ert_interval(known([10])) is None


def test_an_interval_covers_the_truth_about_as_often_as_it_says():
    rng = np.random.default_rng(5)
    within = 0
    for _ in range(300):
        low, high = ert_interval(known(rng.exponential(100.0, 40)), 500)
        within += low <= 100.0 <= high
    assert 0.88 <= within / 300 <= 0.98


def test_the_band_of_a_share_is_drawn_by_problem():
    """Two problems, each reached by all its runs or none: nothing varies within a stratum."""
    found = ecdf([[known([5, 5, 5])], [known([INF, INF, INF])]])
    assert found.low.tolist() == found.share.tolist() == found.high.tolist() == [0.5]
    # Runs that are drawn over all problems, the fault, would scatter.
    pooled = ecdf([[known([5, 5, 5, INF, INF, INF])]])
    assert pooled.low < 0.5 < pooled.high


# --- Twice the budget gains nothing, in whatever a report says or draws ---------------------------


TARGETS = (Stop("m", 0.3), Stop("m", 0.08))


def results(targets, rows=21, budget=200):
    """Two methods that do the same, the second of which had a larger budget."""

    def curve(length):
        values = [1.0 / (1 + k) for k in range(length)]
        return run(values, [10 * k for k in range(length)], status="budget")

    methods = {"once": [curve(11)] * 3, "twice": [curve(rows)] * 3}
    budgets = {"once": Budget(sfo=100), "twice": Budget(sfo=budget)}
    return results_of({"p": methods}, targets, budgets)


@pytest.mark.parametrize("targets", [TARGETS, ()])
def test_final_values_and_curves_are_cut(targets):
    found = results(targets)
    table = results_table(compare_by_each_price(found)[0])
    once, twice = (row.cells[-1] for row in table.rows)
    assert once == twice
    assert once.median == pytest.approx(1 / 11)
    drawn = compute_figure(found)
    first, second = drawn.lines["m", 0]
    assert list(first.band.x) == list(second.band.x) == list(range(0, 101, 10))
    data = figure_data(truncate_study(found), ["once", "twice"], drawn)
    one, other = data["studies"][0]["panels"][0]["groups"]
    assert one["runs"] == other["runs"]
    assert one["bands"] == other["bands"]


@pytest.mark.parametrize("targets", [TARGETS, ()])
def test_the_words_and_tables_are_those_of_equal_runs(targets):
    alike = results(targets, rows=11, budget=100)
    assert answer_sentences(compare_by_each_price(results(targets))) == answer_sentences(
        compare_by_each_price(alike)
    )
    cut = " ".join(sentences_on_common_budget(results(targets)))
    assert "within SFO 100" in cut
    assert cut.count("3 runs went further") == 1
    assert not any("went further" in text for text in sentences_on_common_budget(alike))
    # The counts of what was made are told as they are, and nothing else differs.
    rows = {row.name: row.cells for row in exact_counts_table(results(targets)).rows}
    assert rows["twice"][1] == 200


def test_each_problem_has_its_own_scale():
    found = results(())
    (panel,) = found.panels

    def farther(group):
        rows = [[(*row[:-1], 1e6 * row[-1]) for row in one.rows] for one in group.runs]
        runs = (replace(one, rows=more) for one, more in zip(group.runs, rows, strict=True))
        return replace(group, problem="q", runs=tuple(runs))

    far = replace(panel, problem="q", groups=tuple(map(farther, panel.groups)))
    alone, both = compute_figure(found), compute_figure(replace(found, panels=(panel, far)))
    assert both.scales["m", "p"] == alone.scales["m", "p"]
    assert both.scales["m", "q"].low == pytest.approx(1e6 * alone.scales["m", "p"].low)
