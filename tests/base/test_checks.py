"""Validation: what is accepted, and one sentence for what is not."""

import math

import numpy as np
import pytest
from helpers import assert_one_sentence
from numpy.testing import assert_array_equal

from pfbench.base.checks import check_choice, check_finite_array, check_integer, check_real
from pfbench.base.errors import InputError
from pfbench.base.names import unknown_name_error


@pytest.mark.parametrize("value", [3, np.int64(3), np.uint8(3)])
def test_integers_are_returned_as_int(value):
    assert check_integer("rank", value, minimum=3) == 3
    assert type(check_integer("rank", value, minimum=3)) is int


@pytest.mark.parametrize("value", [2, -1, 3.0, "3", True, None, math.nan, [3]])
def test_what_is_no_integer_of_that_size_is_refused(value):
    with pytest.raises(InputError) as error:
        check_integer("rank", value, minimum=3)
    assert_one_sentence(error, "rank=", "at least 3")


@pytest.mark.parametrize("value", [0.5, 1, np.float32(0.5), np.int8(1)])
def test_numbers_are_returned_as_float(value):
    assert check_real("step", value, above=0.0, upper=1.0) == float(value)
    assert type(check_real("step", value)) is float


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (0.0, ["step=0", "greater than 0"]),
        (1.5, ["step=1.5", "at most 1"]),
        (math.nan, ["step=nan", "finite"]),
        (math.inf, ["step=inf", "finite"]),
        (-math.inf, ["step=-inf", "finite"]),
        pytest.param(10**400, ["step", "too large"], id="too large for a float"),
        ("0.5", ["step='0.5'", "number"]),
        (True, ["step=True", "number"]),
        (None, ["step=None", "number"]),
        (1j, ["step=1j", "number"]),
    ],
)
def test_what_is_no_number_in_range_is_refused(value, words):
    with pytest.raises(InputError) as error:
        check_real("step", value, above=0.0, upper=1.0)
    assert_one_sentence(error, *words)


def test_least_is_inclusive_and_above_is_not():
    assert check_real("noise", 0.0, minimum=0.0) == 0.0
    with pytest.raises(InputError, match="at least 0"):
        check_real("noise", -1e-300, minimum=0.0)


@pytest.mark.parametrize("value", ["meen", 3, None, ["mean"], {}, True])
def test_a_choice_names_the_nearest_one(value):
    assert check_choice("scaling", "mean", ("mean", "sum")) == "mean"
    for allowed in (("mean", "sum"), {"mean": 1, "sum": 2}):
        with pytest.raises(InputError) as error:
            check_choice("scaling", value, allowed)
        assert_one_sentence(error, "scaling", "mean")


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
    with pytest.raises(InputError) as error:
        check_finite_array("the labels", value, shape=(3,))
    assert_one_sentence(error, "the labels", *words)


@pytest.mark.parametrize(
    ("name", "known", "words"),
    [
        ("frank-wolf", ["frank-wolfe", "nfwu"], ["did you mean 'frank-wolfe'"]),
        ("zzz", ["b", "a"], ["choose one of a, b"]),
        ("x", [], ["no names are allowed"]),
    ],
)
def test_unknown_names(name, known, words):
    with pytest.raises(InputError) as error:
        raise unknown_name_error("algorithm", name, known)
    assert_one_sentence(error, "algorithm", repr(name), *words)
