"""What is said of what was measured, and orders of complexities under each criterion."""

import pytest

from pfbench.verification.claim import CRITERIA, EXCESS, Complexity, ComplexityOrder
from pfbench.verification.statistics import decide_mean
from pfbench.verification.step_record import sizes_in_words
from pfbench.verification.summaries import (
    format_ratio_or_exponents,
    slack_factor,
    summarise_main_numbers,
)

MEASURED = {"easy: ratio": 0.2, "hard: ratio": 0.793, "hard: lower": 0.64, "hard: upper": 6.3}


def test_the_highest_ratio_has_its_limits():
    assert (
        summarise_main_numbers(MEASURED) == "measured/bound at most 0.793, 95 % within 0.64 to 6.3"
    )
    assert summarise_main_numbers({"ratio": 1.0, "condition a: ratio": 3.0}) == "measured/bound 1"


def test_a_line_has_the_highest_ratio_or_else_the_exponents_and_the_sizes():
    assert format_ratio_or_exponents(MEASURED) == "0.793 of the bound"
    assert format_ratio_or_exponents({"ratio": 1.0 + 1e-12}) == "1 of the bound"
    assert (
        format_ratio_or_exponents({"a: ratio": 2.5, "ratio": 0.1, "slope": 1.0})
        == "2.5 times the bound"
    )
    assert (
        format_ratio_or_exponents({"slope": 1.0, "lower": 0.9, "upper": 1.1})
        == "exponent 1 [0.9, 1.1]"
    )
    sizes = {"largest T": 3200.0, "largest n": 64.0, "largest d": 3.0, "horizons": [50, 3200]}
    assert sizes_in_words(sizes) == "T <= 3 200, n <= 64, d <= 3"
    assert sizes_in_words(sizes, with_horizons=True) == "T = 50, 3 200; n <= 64; d <= 3"
    assert sizes_in_words({"ratio": 1.0}) == ""


def test_the_limits_shown_are_those_on_which_the_verdict_rests():
    decision = decide_mean([0.5] * 60, 1.0)
    assert decision.verdict == "within-10"
    assert decision.measured["upper_limit"] <= 1.0 < decision.measured["upper"]
    upper = decision.measured["upper_limit"]
    assert f"to {upper:.3g}, each limit at 95 %" in summarise_main_numbers(decision.measured)


def test_the_limits_are_those_of_the_highest_ratio_not_of_another():
    other = {"a: ratio": 0.5, "a: lower": 0.4, "a: upper": 0.6, "b: ratio": 0.9}
    assert summarise_main_numbers(other) == "measured/bound at most 0.9"


@pytest.mark.parametrize(
    ("measured", "expected"),
    [({"ratio": 0.07}, 14.3), ({"condition x: ratio": 0.5}, None), ({"slope": -1.0}, None)],
)
def test_the_room_below_a_bound(measured, expected):
    found = slack_factor(measured)
    assert found is None if expected is None else abs(found - expected) < 0.05


def test_an_infinite_limit_is_not_shown():
    decision = decide_mean([17.2] * 40, 1.0)
    assert summarise_main_numbers(decision.measured).startswith("measured/bound 17.2, at least 1")
    stored = {**decision.measured, "upper": None, "upper_limit": None}
    assert summarise_main_numbers(stored) == summarise_main_numbers(decision.measured)


# --- orders of complexities under each criterion of stationarity ----------------------------------


def test_orders_under_the_other_criteria():
    gap_scale, square, norm = CRITERIA
    sliding = Complexity("ncgs", square, {"FO": ComplexityOrder(1.0), "LO": ComplexityOrder(2.0)})
    assert sliding.convert(gap_scale).orders == {
        "FO": ComplexityOrder(2.0),
        "LO": ComplexityOrder(4.0),
    }
    assert sliding.convert(norm).orders == {"FO": ComplexityOrder(2.0), "LO": ComplexityOrder(4.0)}
    assert sliding.convert(square) == sliding
    frank_wolfe = Complexity("frank-wolfe", gap_scale, {"LO": ComplexityOrder(2.0)})
    assert frank_wolfe.convert(square).orders == {"LO": ComplexityOrder(2.0)}
    assert frank_wolfe.convert(norm).orders == {"LO": ComplexityOrder(4.0)}
    boost = Complexity("spiderboost", norm, {"SFO": ComplexityOrder(2.0, 0.5)})
    assert boost.convert(square).orders == {"SFO": ComplexityOrder(1.0, 0.5)}
    assert boost.convert(gap_scale).orders == {"SFO": ComplexityOrder(2.0, 0.5)}


def test_a_rate_of_f_less_its_minimum_has_no_other_criterion_and_a_logarithm_is_said():
    away = Complexity("afw", EXCESS, {"LO": ComplexityOrder(0.0)})
    assert str(away.orders["LO"]) == "log(1/eps)"
    assert away.is_known_under(EXCESS)
    assert not any(away.is_known_under(criterion) for criterion in CRITERIA)
