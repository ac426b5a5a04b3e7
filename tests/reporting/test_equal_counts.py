"""Twice the budget gains nothing, in whatever a report says or draws."""

from dataclasses import replace

import pytest
from made_runs import figure_data, results_of, run

from pfbench.base.counts import Budget
from pfbench.reporting.answers import answer_sentences, truncation_and_decrease_sentences
from pfbench.reporting.panels import compute_figure
from pfbench.reporting.result_tables import compare_by_each_price, results_table
from pfbench.reporting.results import truncate_study
from pfbench.reporting.tables import exact_counts_table
from pfbench.runs.loop.run import Stop

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
    (cut,) = (
        text
        for text in truncation_and_decrease_sentences(results(targets))
        if "went further" in text
    )
    assert "within SFO 100" in cut
    assert "3 runs went further" in cut
    assert not any("went further" in text for text in truncation_and_decrease_sentences(alike))
    # The counts of what was made are told as they are, and nothing else differs.
    rows = {row.name: row.cells for row in exact_counts_table(results(targets)).rows}
    assert rows["twice"][1] == 200


def test_each_problem_has_its_own_scale():
    found = results(())
    (panel,) = found.panels
    far = replace(
        panel,
        problem="q",
        groups=tuple(
            replace(
                group,
                problem="q",
                runs=tuple(
                    replace(one, rows=[(*row[:-1], 1e6 * row[-1]) for row in one.rows])
                    for one in group.runs
                ),
            )
            for group in panel.groups
        ),
    )
    alone, both = compute_figure(found), compute_figure(replace(found, panels=(panel, far)))
    assert both.scales["m", "p"] == alone.scales["m", "p"]
    assert both.scales["m", "q"].low == pytest.approx(1e6 * alone.scales["m", "p"].low)
