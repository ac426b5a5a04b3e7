"""What a new user found odd: names, sentences, numbers, wrong kinds."""

from copy import copy
from dataclasses import replace

import numpy as np
import pytest
from helpers import assert_one_sentence

import pfbench as pf
from pfbench.base.constants import Constants
from pfbench.base.errors import InputError, end_sentence
from pfbench.base.names import unknown_name_error
from pfbench.base.selectors import Selector
from pfbench.sets import L1Ball, L2Ball, LinfBall, Simplex
from pfbench.verification.claim import Mutant
from pfbench.verification.statements.setting import check_signature


@pytest.mark.parametrize(
    ("name", "known", "near"),
    [
        ("sof", ["fo", "sfo", "sso", "lo"], "sfo"),
        ("fos", ["fo", "sfo", "sso"], "sfo"),
        ("quadratc", ["quadratic", "log-cosh"], "quadratic"),
    ],
)
def test_letters_in_another_order_are_the_nearest_name(name, known, near):
    assert f"did you mean {near!r}?" in str(unknown_name_error("count", name, known))


@pytest.mark.parametrize(
    ("text", "sentence"),
    [("a", "a."), ("a.", "a."), ("a..", "a."), ("is it 'b'?", "is it 'b'?"), ("b?.", "b?")],
)
def test_a_sentence_has_one_mark_at_its_end(text, sentence):
    assert end_sentence(text) == sentence


def test_an_unknown_constant_is_named_and_constants_are_copied_as_before():
    constants = Constants(n=3, L_f=2.0)
    with pytest.raises(AttributeError, match="did you mean 'L_f'"):
        _ = constants.Lf
    assert replace(copy(constants), n=3) == constants


@pytest.mark.parametrize("text", ["frank‑wolfe", "ﬁnite", "l2[radius=2]–x"])
def test_a_strange_character_is_named(text):
    with pytest.raises(InputError) as refused:
        Selector.parse(text)
    assert_one_sentence(refused, "the character ")


def test_a_function_of_other_arguments_is_called_what_the_user_knows():
    with pytest.raises(InputError, match=r"the bound must be a function of \(c, a\)"):
        check_signature("the bound", lambda c: c, "c, a")


class Right:
    """The right method."""


class Wrong(Right):
    pass


def test_a_fault_without_words_is_not_described_as_the_right_method():
    assert Mutant.from_variant("wrong", Wrong).description == "Wrong"
    assert Mutant.from_variant("right", Right).description == "The right method."


def test_no_claims_are_not_all_claims():
    with pytest.raises(InputError) as refused:
        pf.verify([])
    assert_one_sentence(refused, "names no claim")


@pytest.mark.parametrize("kind", [L1Ball, L2Ball, LinfBall, Simplex])
@pytest.mark.parametrize("verb", ["lo", "minimum"])
def test_a_set_refuses_what_is_no_gradient_of_its_points(kind, verb):
    body = kind(3)
    for wrong in (None, [1, 2, 3], np.zeros(4), np.zeros((3, 1)), 2.0):
        with pytest.raises(InputError) as refused:
            getattr(body, verb)(wrong)
        assert_one_sentence(refused, "shape (3,)")
    small = np.array([-128, 5, 1], np.int8)
    np.testing.assert_array_equal(
        getattr(body, verb)(small), getattr(body, verb)(small.astype(float))
    )


def test_a_set_may_be_an_object():
    by_object = pf.problem("quadratic", rows=20, columns=5, set=L2Ball(5, radius=3.0))
    by_name = pf.problem("quadratic", rows=20, columns=5, set="l2", radius=3.0)
    assert (by_object.set, by_object.parameters) == (by_name.set, by_name.parameters)
    with pytest.raises(InputError) as refused:
        pf.problem("quadratic", rows=20, columns=5, set=L2Ball(4))
    assert_one_sentence(refused, "(4,)", "(5,)")
