"""Selectors as the command line takes them."""

import pytest
from helpers import assert_one_sentence
from hypothesis import given
from hypothesis import strategies as st

from pfbench.base.errors import InputError
from pfbench.base.selectors import Selector

NAMES = st.from_regex(r"[a-z][a-z0-9-]{0,8}", fullmatch=True)
WORDS = NAMES.filter(lambda text: text not in ("true", "false", "inf", "nan", "infinity"))
VALUES = st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | WORDS


@given(NAMES, st.dictionaries(NAMES, VALUES))
def test_what_is_printed_is_read_back(name, parameters):
    selector = Selector.parse(str(Selector(name, parameters)))
    assert selector.name == name
    assert dict(selector.parameters) == parameters
    assert [type(v) for v in selector.parameters.values()] == [type(v) for v in parameters.values()]


def test_an_example_of_the_design():
    selector = Selector.parse("nfwu-svrg[batch=37, period=13,step=0.001,output=last]")
    assert selector.name == "nfwu-svrg"
    assert selector.parameters == {"batch": 37, "period": 13, "step": 0.001, "output": "last"}
    assert Selector.parse(" simple ").parameters == {}
    assert Selector.parse("simple[]").parameters == {}


def test_a_value_may_be_a_path():
    path = "/home/me/ml-1m/ratings.dat"
    assert Selector.parse(f"r[edition={path}]").parameters["edition"] == path


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", ["NAME[key=value,key=value]"]),
        ("a b", ["'a b'", "NAME[key=value,key=value]"]),
        ("a[b=1", ["NAME[key=value,key=value]"]),
        ("a[b]", ["'b'", "key=value"]),
        ("a[=1]", ["'=1'", "key=value"]),
        ("a[b=]", ["'b='", "key=value"]),
        ("a[b=1,b=2]", ["b", "twice"]),
    ],
)
def test_bad_selectors_are_refused_in_one_sentence(text, words):
    with pytest.raises(InputError) as error:
        Selector.parse(text)
    assert_one_sentence(error, *words)


def test_a_parsed_selector_cannot_be_changed():
    with pytest.raises(TypeError):
        Selector.parse("a[b=1]").parameters["b"] = 2
