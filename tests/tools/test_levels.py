"""The simulated levels: the page names every rule, and a wrong rule would show."""

import inspect
import re

import numpy as np
import pytest
from scipy import stats

from pfbench.verification import statistics as st
from pfbench.verification.statistics import decisions, means
from tools import levels

CERTAIN = {"decide_deviations", "decide_exact", "decide_inequality", "decide_equality"}
"""Rules into which no chance enters."""

ON_LINES = [r for r in levels.RULES if r.name in ("`decide_median`", "`decide_exponent`")]


def written():
    """The table of the page: trials, and the cells by rule, size and law."""
    text = levels.PAGE.read_text(encoding="utf-8")
    part = text.partition(levels.BEGIN)[2].partition(levels.END)[0]
    trials = int(re.search(r"Shares of (\d+) cases", part)[1])
    lines = [line for line in part.splitlines() if line.startswith("| ")]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    assert rows[0][4:] == list(levels.LAWS)
    return trials, {tuple(row[:4]): row[4:] for row in rows[2:]}


def test_the_page_has_every_rule_at_every_size_and_no_level_above_what_is_promised():
    trials, cells = written()
    assert trials >= 2000
    expected = {(r.name, r.says, f"{r.level:g}", str(n)): r for r in levels.RULES for n in r.sizes}
    assert cells.keys() == expected.keys()
    for key, rule in expected.items():
        for law, cell in zip(levels.LAWS, cells[key], strict=True):
            assert bool(cell) == (law in rule.laws)
            assert cell.endswith("†") == (law in rule.laws and law not in rule.promised)
            if law in rule.promised:
                assert not levels.is_above(round(float(cell) * trials), trials, rule.level)


def test_every_rule_of_the_package_is_simulated():
    names = {
        name
        for name, found in inspect.getmembers(st, inspect.isfunction)
        if inspect.signature(found).return_annotation in (st.Decision, "Decision")
        or name in ("decide_mean_sequentially", "fit_exponent")
    }
    combine = {
        "best_if_all_hold_else_worst",
        "combine_all",
        "cap_at_holds_by_own_constant",
        "cap_at_holds_by_schedule_alone",
        "combine_parts_and_conditions",
    }
    simulated = {rule.name.strip("`") for rule in levels.RULES}
    assert names - CERTAIN - combine <= simulated
    assert {"decide_mean", "decide_exponent", "decide_mean_sequentially"} <= names


@pytest.mark.thin(4)
@pytest.mark.parametrize("rule", ON_LINES, ids=lambda r: f"{r.name} {r.says}")
def test_medians_keep_their_level_under_each_law(rule):
    for law in levels.LAWS:
        for n in rule.sizes:
            assert not levels.is_above(levels.errors(rule, law, n, 400), 400, rule.level)


def test_the_mean_in_place_of_the_median_would_show(monkeypatch):
    """The t-test of the mean of slopes, which says nothing of their median."""

    def of_mean(values, bound):
        if np.ptp(values) < 1e-12:  # of which scipy warns
            return float(np.mean(values) <= bound)
        return float(stats.ttest_1samp(values, bound, alternative="greater").pvalue)

    monkeypatch.setattr(means, "sign_p_value", of_mean)
    (rule,) = (r for r in ON_LINES if r.name == "`decide_exponent`" and r.says == "p ≤ 1e-3")
    assert levels.is_above(levels.errors(rule, "0/10 coin", 20, 200), 200, rule.level)


def test_a_limit_by_t_would_show(monkeypatch):
    """As in 0/10 coins, of which all twenty show 0 in one of eight cases."""

    def by_t(ratios, level, most=10.0):
        half = stats.t.ppf(level, ratios.size - 1) * stats.sem(ratios)
        return means.ConfidenceInterval(ratios.mean() - half, ratios.mean() + half)

    monkeypatch.setattr(decisions.means, "sequential_limits", by_t)
    (rule,) = (r for r in levels.RULES if r.name == "`decide_mean`" and r.says == "holds")
    assert levels.is_above(levels.errors(rule, "0/10 coin", 20, 600), 600, rule.level)


@pytest.mark.parametrize("law", levels.LAWS)
def test_the_laws_are_at_the_boundary(law):
    """Shares below the median, and means, of 40 000 samples; five standard errors and more."""
    rng = np.random.default_rng(1)
    below = np.mean(levels.LAWS[law].median_zero(rng, 40_000) <= 0)
    assert below == pytest.approx(0.5, abs=0.015)
    if law != "lognormal 2":  # of which the variance is 53
        samples = levels.LAWS[law].mean_one(rng, 40_000)
        assert samples.mean() == pytest.approx(1, abs=6 * samples.std() / 200)
