"""Validation, of samples too: what is accepted, and one sentence for what is not."""

import json
import math
import unicodedata

import numpy as np
import pytest
from helpers import refused
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from pfbench.base.checks import check_choice, check_finite_array, check_integer, check_real
from pfbench.base.errors import InputError
from pfbench.base.escaping import escape_hidden, escape_spreadsheet
from pfbench.base.names import unknown_name_error
from pfbench.base.sample import Sample, weight_indices
from pfbench.base.status import VERDICT_NAMES, Verdict


@pytest.mark.parametrize("value", [3, np.int64(3), np.uint8(3)])
def test_integers_are_returned_as_int(value):
    assert check_integer("rank", value, minimum=3) == 3
    assert type(check_integer("rank", value, minimum=3)) is int


@pytest.mark.parametrize("value", [2, -1, 3.0, "3", True, None, math.nan, [3]])
def test_what_is_no_integer_of_that_size_is_refused(value):
    with refused("rank=", "at least 3"):
        check_integer("rank", value, minimum=3)


@pytest.mark.parametrize("value", [0.5, 1, np.float32(0.5), np.int8(1)])
def test_numbers_are_returned_as_float(value):
    assert check_real("step", value, above=0.0, upper=1.0) == float(value)
    assert type(check_real("step", value)) is float


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (math.inf, ["step=inf", "finite"]),
        (-math.inf, ["step=-inf", "finite"]),
        pytest.param(10**400, ["step", "too large"], id="too large for a float"),
        (True, ["step=True", "number"]),
        (None, ["step=None", "number"]),
        (1j, ["step=1j", "number"]),
    ],
)
def test_what_is_no_number_in_range_is_refused(value, words):
    with refused(*words):
        check_real("step", value, above=0.0, upper=1.0)


def test_least_is_inclusive_and_above_is_not():
    assert check_real("noise", 0.0, minimum=0.0) == 0.0
    with pytest.raises(InputError, match="at least 0"):
        check_real("noise", -1e-300, minimum=0.0)


@pytest.mark.parametrize("value", ["meen", 3, None, ["mean"], {}, True])
def test_a_choice_names_the_nearest_one(value):
    assert check_choice("scaling", "mean", ("mean", "sum")) == "mean"
    for allowed in (("mean", "sum"), {"mean": 1, "sum": 2}):
        with refused("scaling", "mean"):
            check_choice("scaling", value, allowed)


def test_finite_arrays_become_contiguous_floats():
    array = check_finite_array("values", np.arange(6)[::2], shape=(3,))
    assert array.dtype == np.float64
    assert array.flags.c_contiguous
    assert_array_equal(array, [0.0, 2.0, 4.0])


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ([1.0, math.nan, math.inf], ["2 NaN or infinite", "flat index 1", "clean"]),
        ([1.0, 2.0], ["not (2,)", "shape (3,)"]),
        ([[1.0, 2.0], [3.0]], ["array of numbers"]),  # numpy's own message is three sentences
        (["a", "b", "c"], ["array of numbers", "'a'"]),
        ([1j, 0, 0], ["array of numbers"]),
        (None, ["the labels"]),
    ],
)
def test_bad_arrays_are_refused_in_one_sentence(value, words):
    with refused("the labels", *words):
        check_finite_array("the labels", value, shape=(3,))


def test_an_unknown_name_where_none_is_allowed():
    with refused("algorithm", "'x'", "no names are allowed"):
        raise unknown_name_error("algorithm", "x", [])


# --- Samples given by counts stand for the index array they abbreviate ----------------------------


DRAWS = st.lists(st.integers(0, 9), min_size=1, max_size=30).map(np.array)


@given(DRAWS)
def test_a_sample_weighs_like_the_drawn_indices(drawn):
    indices, counts = np.unique(drawn, return_counts=True)
    sample = Sample(indices, counts)
    assert len(sample) == len(drawn)
    for each in (sample, drawn):
        where, weights = weight_indices(each)
        share = np.bincount(where, weights=weights, minlength=10)
        assert_allclose(share, np.bincount(drawn, minlength=10) / len(drawn), rtol=1e-13)


def test_a_sample_can_be_far_longer_than_memory():
    sample = Sample(np.array([3, 5]), np.array([10**12, 3 * 10**12]))
    assert len(sample) == 4 * 10**12
    assert_allclose(weight_indices(sample)[1], [0.25, 0.75])


def test_the_weights_are_the_callers_to_change():
    drawn, sample = np.array([1, 2]), Sample(np.array([1]), np.array([4]))
    for each in (drawn, sample):
        weight_indices(each)[1][:] = 7.0
        assert weight_indices(each)[1][0] < 7.0


@pytest.mark.parametrize("empty", [np.zeros(0, dtype=int), Sample(np.array([1]), np.array([0]))])
def test_the_mean_over_nothing_is_refused(empty):
    with refused("empty sample", "at least one"):
        weight_indices(empty)


@pytest.mark.parametrize(
    ("indices", "counts", "words"),
    [
        ([1, 2], [1], ["same length"]),
        ([[1]], [[1]], ["indices", "vector of integers"]),
        ([1, 2], [1, -1], ["negative"]),
    ],
)
def test_a_bad_sample_is_refused_in_one_sentence(indices, counts, words):
    with refused(*words):
        Sample(np.array(indices), np.array(counts))


# --- texts of strangers are shown, and nothing in them acts ---------------------------------------


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("nfwu-svrg[batch=3]", "nfwu-svrg[batch=3]"),
        ("Ψ(x) – 10⁻³ · 1\N{NARROW NO-BREAK SPACE}000 漢字", None),
        ("\x1b[2J\x1b]0;title\x07", r"\x1b[2J\x1b]0;title\x07"),
        ("a\r\nb\tc", r"a\r\nb\tc"),
        ("\x9b31m", r"\x9b31m"),
        ("\u202eevil\u2066", r"\u202eevil\u2066"),
        ("a\u2028b\u200b", r"a\u2028b\u200b"),
        ("\ud800", r"\ud800"),
        ("\ufffe\U000e0041", r"\ufffe\U000e0041"),
        ("\x00\x7f", r"\x00\x7f"),
    ],
)
def test_what_would_act_is_shown(text, shown):
    assert escape_hidden(text) == (text if shown is None else shown)


def test_what_is_kept_stays():
    assert escape_hidden("a\n\tb\x1b", "\n\t") == "a\n\tb\\x1b"


@given(st.text(alphabet=st.characters(exclude_categories=())))
def test_nothing_is_left_that_acts(text):
    shown = escape_hidden(text)
    assert not {unicodedata.category(one) for one in shown} & {"Cc", "Cf", "Cs", "Zl", "Zp"}
    assert "".join(shown.split()) == shown or " " in shown or not shown.isascii()
    assert escape_hidden(shown) == shown
    shown.encode()


@pytest.mark.parametrize("text", ["=1", "+1", "-1", "@x", "\t=1", "\r=1"])
def test_a_formula_is_a_text(text):
    assert escape_spreadsheet(text) == f"'{escape_hidden(text)}"


@pytest.mark.parametrize("text", ["", "a=1", "1-1", " x"])
def test_any_other_text_is_itself(text):
    assert escape_spreadsheet(text) == text


# --- the verdicts: their order, and the names that older stores have ------------------------------


def test_every_verdict_has_a_place_and_a_style():
    assert sorted(one.rank_from_worst for one in Verdict) == list(range(len(Verdict)))
    assert all(one.terminal_style for one in Verdict)


def test_only_what_is_wrong_or_kept_is_called_so():
    assert {one for one in Verdict if one.is_wrong} == {"violated", "failed"}
    kept = {one for one in Verdict if one.keeps_bound}
    assert kept == {"holds", "within-10", "attained"}
    assert max(Verdict, key=lambda one: one.rank_from_worst) == "attained"
    assert all(
        one.rank_from_worst > other.rank_from_worst for one in kept for other in set(Verdict) - kept
    )


def test_a_former_name_is_read_and_never_written():
    assert Verdict("tight") is Verdict.WITHIN_10
    assert "tight" in VERDICT_NAMES
    assert json.dumps([Verdict("tight")]) == '["within-10"]'
    with pytest.raises(ValueError, match="proved"):
        Verdict("proved")
