"""Tables say exactly what the runs spent, in every format."""

import html
from dataclasses import replace

import pytest
from made_runs import with_run

from pfbench.base.counts import Budget
from pfbench.reporting import tables
from pfbench.reporting.comparison import compare_algorithms
from pfbench.reporting.report import collect_report
from pfbench.reporting.result_tables import compare_by_each_price, main_results_table, results_table
from pfbench.reporting.runtimes import Cost
from pfbench.reporting.wording import SEPARATOR, format_integer, format_significant
from pfbench.runs.loop.run import Stop
from tools.published_report import markdown_table, markdown_text


@pytest.fixture
def results(spec, outcomes):
    return collect_report(spec, outcomes).results[0]


def cells(table, group, name):
    (row,) = (row for row in table.rows if (row.group, row.name) == (group, name))
    return dict(zip(table.head[2:], row.cells, strict=True))


def test_counts_are_exact(results):
    table = tables.exact_counts_table(results)
    # n = 12, S = 3, p = 4, T = 8, so E = 2 epochs: nE + 2S(T-E).
    assert cells(table, "S = 3 | p = 4", "CA<SVRG>") == {
        "FO": 2,
        "SFO": 12 * 2 + 2 * 3 * (8 - 2),
        "SSO": 12 * 2,
        "HVP": (12 + 3) * (8 - 2),
        "LO": 8,
        "PO": 0,
        "FV": 0,
        "LLO": 0,
    }
    assert cells(table, "S = √n", "SVRG")["SFO"] == 12 * 4 + 2 * 5 * (8 - 4)
    assert cells(table, "S = √n", "SVRG")["SSO"] == 0


def test_counts_that_differ_between_seeds_show_least_and_greatest(spec, outcomes):
    first = outcomes[0]
    counts = replace(first.entry.run.counts, lo=1234567)
    changed = [with_run(first, counts=counts), *outcomes[1:]]
    table = tables.exact_counts_table(collect_report(spec, changed).results[0])
    assert cells(table, "S = 3 | p = 4", "SVRG")["LO"] == "8–1\u202f234\u202f567"
    assert f"8–1{SEPARATOR}234{SEPARATOR}567" in markdown_table(table)
    assert "least to greatest" in table.note


def test_markdown_escapes_what_it_would_read(results):
    markdown = markdown_table(tables.exact_counts_table(results))
    assert r"| S = 3 \| p = 4 | SVRG | 2 | 60 |" in markdown
    assert "|  | CA&lt;SVRG> |" in markdown
    assert markdown_text(r"a*b_c`d\e|f$g<h") == r"a\*b\_c\`d\\e\|f\$g&lt;h"


def test_every_run_has_the_command_behind_it(results):
    rows = tables.run_table(results).rows
    assert len(rows) == 12
    assert rows[1].cells[-1] == tables.ShellCommand(
        'pfbench solve -p "problem[seed=1]" -a "nfwu-svrg[batch=3,period=4]" --seed 1'
    )
    assert rows[1].cells[-2] == "90 %"


def test_of_very_many_runs_the_first_seed_is_listed(results, monkeypatch):
    monkeypatch.setattr(tables, "MANY", 11)
    table = tables.run_table(results)
    assert [row.cells[0] for row in table.rows] == [0] * 4
    assert "Of the 12 runs, these are the first seed of each method" in table.note


def test_commands_can_be_pasted_into_a_shell(results):
    plan = replace(results.panels[0].groups[0].plans[0], problem='p[path=$HOME/`x`"\\]')
    assert r'-p "p[path=\$HOME/\`x\`\"\\]"' in tables.rerun_command(plan)


def test_commands_have_the_limits_of_the_run(results):
    plan = replace(
        results.panels[0].groups[0].plans[0],
        budget=Budget(sfo=1000000, lo=5),
        stop=Stop("error", 1e-3),
        measures=("fw_gap", "mine:error"),
        every=4,
        time_limit=2.5,
    )
    assert tables.rerun_command(plan).endswith(
        '--seed 0 --budget sfo=1000000,lo=5 --stop "mine:error=0.001" --every 4 --time-limit 2.5'
    )


def test_runs_that_did_not_finish_are_listed(spec, with_failures, results):
    early = tables.early_endings_table(collect_report(spec, with_failures).results[0])
    assert [(row.name, *row.cells[:3]) for row in early.rows] == [
        ("SVRG", 1, "diverged", "x <is> not finite"),
        ("SVRG", 2, "budget", "too much"),
    ]
    assert tables.early_endings_table(results) is None


def test_the_summary_counts_failures(spec, with_failures):
    (comparison,) = compare_by_each_price(collect_report(spec, with_failures).results[0])
    final = results_table(comparison).rows[0].cells[1]
    assert (final.runs, final.planned_runs) == (2, 3)
    assert tables.format_cell(final).endswith("[2 of 3 runs]")


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0.0, "0"),
        (0.0770, "0.0770"),
        (0.00107, "0.00107"),
        (5.25e-4, "5.25·10⁻⁴"),
        (4.78, "4.78"),
        (9.999, "10.0"),
        (12345.6, "12300"),
        (-2.5e7, "-2.50·10⁷"),
        (float("inf"), "not finite"),
    ],
)
def test_numbers_have_three_significant_digits(number, text):
    assert format_significant(number) == text


def test_integers_keep_every_digit():
    assert format_integer(55203264) == f"55{SEPARATOR}203{SEPARATOR}264"


def test_what_is_not_met_stands_above_the_runs(spec, outcomes):
    assert "theory" not in tables.run_table(collect_report(spec, outcomes).results[0]).note
    changed = [
        with_run(one, unmet_assumptions=("convex",) if "nfwu-svrg" in one.plan.algorithm else ())
        for one in outcomes
    ]
    found = collect_report(spec, changed).results[0]
    labels = {group.label for group in found if group.algorithm == "nfwu-svrg"}
    assert len(labels) == 1
    note = tables.run_table(found).note
    told = f"The theory of {labels.pop()} assumes convex, not known to hold on the problem."
    assert note.count(told) == note.count("assumes") == 1


def test_jupyter_shows_the_tables(report):
    shown = report._repr_html_()
    assert shown.count("<table>") == len(report.results)
    for results in report.results:
        one = main_results_table(results)
        assert one._repr_html_() in shown
        for _, _, texts in one.lines():
            for text in texts:
                assert html.escape(text) in shown
    comparison = compare_algorithms(report.results[0], Cost.from_weights("sfo"))
    assert results_table(comparison)._repr_html_().startswith("<table>")
