"""Counts by name, and budgets as the user writes them."""

import math

import pytest
from helpers import assert_one_sentence
from hypothesis import given
from hypothesis import strategies as st

from pfbench.base.counts import COUNTED, MEANING, Budget, Counts
from pfbench.base.errors import InputError


def test_counts_have_the_names_of_the_design_and_of_local_minimisations():
    assert COUNTED == ("fo", "sfo", "sso", "hvp", "lo", "po", "fv", "llo")
    assert set(MEANING) == set(COUNTED)
    assert Counts(*range(8)).as_dict() == dict(zip(COUNTED, range(8), strict=True))


@given(st.dictionaries(st.sampled_from(COUNTED), st.integers(0, 10**15), min_size=1))
def test_a_budget_reads_what_a_user_writes(limits):
    text = ", ".join(f"{name} = {limit}" for name, limit in limits.items())
    budget = Budget.parse(text)
    assert budget == Budget(**limits)
    assert budget.limits
    assert all(getattr(budget, name) == limits.get(name, math.inf) for name in COUNTED)


def test_a_budget_may_be_written_as_a_float_or_be_infinite():
    assert Budget.parse("sfo=1e6,lo=inf") == Budget(sfo=1e6)
    assert not Budget.parse("lo=inf").limits
    assert not Budget().limits


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("sf0=3", ["'sf0'", "'sfo'"]),
        ("", ["''", "sfo"]),
        ("sfo", ["sfo=''", "sfo=10000,lo=100"]),
        ("sfo=many", ["sfo='many'", "sfo=10000,lo=100"]),
        ("sfo=-1", ["sfo=-1", "at least 0"]),
        ("sfo=nan", ["sfo=nan", "finite"]),
        ("sfo=1,sfo=2", ["sfo", "twice"]),
    ],
)
def test_a_bad_budget_is_refused_in_one_sentence(text, words):
    with pytest.raises(InputError) as error:
        Budget.parse(text)
    assert_one_sentence(error, *words)


@pytest.mark.parametrize("limit", [-1, math.nan, "3", True, -math.inf])
def test_a_bad_limit_is_refused(limit):
    with pytest.raises(InputError) as error:
        Budget(lo=limit)
    assert_one_sentence(error, "budget lo=")
