"""Selectors as the command line takes them."""

from pathlib import Path

import pytest
from helpers import assert_one_sentence
from hypothesis import given
from hypothesis import strategies as st

from pfbench.base.errors import InputError
from pfbench.base.selectors import (
    Selector,
    module_name,
    replace_file_by_module,
    resolve_relative_files,
)

NAMES = st.from_regex(r"[a-z][a-z0-9-]{0,8}", fullmatch=True)
WORDS = NAMES.filter(lambda text: text not in ("true", "false", "inf", "nan", "infinity"))
NUMBERS = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
QUOTED = st.text("ab ,=[]'", min_size=1).filter(lambda text: text.strip()) | st.just('a "b"')
VALUES = st.booleans() | NUMBERS | WORDS | QUOTED


@given(NAMES, st.dictionaries(NAMES, VALUES))
def test_what_is_printed_is_read_back(name, parameters):
    selector = Selector.parse(str(Selector(name, parameters)))
    assert selector.name == name
    assert dict(selector.parameters) == parameters
    assert [type(v) for v in selector.parameters.values()] == [type(v) for v in parameters.values()]


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("'q[a=1]'", "q[a=1]"),
        ('"q[a=1]"', "q[a=1]"),
        ('q[a="x", b = \'y\',c="2"]', "q[a=x,b=y,c=2]"),
        ("q[a=it's,b=that's]", "q[a=it's,b=that's]"),
        ("q[a=1e3,b=+2.5E2,c=1e-3,d=3e0,e=2.5e0]", "q[a=1000,b=250,c=0.001,d=3,e=2.5]"),
    ],
)
def test_quotes_and_exponents_are_read_as_they_are_meant(text, same):
    assert str(Selector.parse(text)) == same
    assert str(Selector.parse(same)) == same


def test_in_quotes_a_value_may_have_commas():
    found = Selector.parse('q[a="x,y",set="sub/my.py:Ring"]')
    assert found.parameters == {"a": "x,y", "set": "sub/my.py:Ring"}
    assert replace_file_by_module('q[a="x,y",set="sub/my.py:Ring"]') == 'q[a="x,y",set="my:Ring"]'
    assert Selector.parse(str(found)).parameters == found.parameters


def test_a_value_may_be_a_path():
    path = "/home/me/ml-1m/ratings.dat"
    assert Selector.parse(f"r[edition={path}]").parameters["edition"] == path


FILES = [
    ("my.py:X", "my.py:X", "my:X"),
    (" sub/my.py:X[a=1]", "sub/my.py:X", " my:X[a=1]"),
    ("../a b/my-own.py:X[a=1]", "../a b/my-own.py:X", "my-own:X[a=1]"),
    ("pack.py.my:X", "pack.py.my:X", "pack.py.my:X"),
    ("pack.my:X[source=a.py:B]", "pack.my:X", "pack.my:X[source=a.py:B]"),
    ("it's/my.py:X", "it's/my.py:X", "my:X"),
    ('a"b, c=d/my.py:X[set=s/my.py:Y]', 'a"b, c=d/my.py:X', "my:X[set=my:Y]"),
    ("quadratic[set=s/my.py:X, penalty = my.py:Y]", "quadratic", None),
    ("quadratic[set=l1]", "quadratic", "quadratic[set=l1]"),
]


@pytest.mark.parametrize(("text", "name", "by"), FILES)
def test_a_name_may_be_in_a_file(text, name, by):
    assert Selector.parse(text).name == name
    assert replace_file_by_module(text) == (by or "quadratic[set=my:X, penalty = my:Y]")
    # The same thing, wherever the file is named from.
    moved = resolve_relative_files(text, Path("up/spec.toml"))
    assert replace_file_by_module(moved) == replace_file_by_module(text)
    assert (moved == text) == (replace_file_by_module(text) == text)
    assert resolve_relative_files(moved, Path("spec.toml")) == moved


def test_where_the_file_of_a_spec_lies():
    spec = Path("sweeps/mine.toml")
    assert resolve_relative_files("my.py:X[seed={seed}]", spec) == "sweeps/my.py:X[seed={seed}]"
    assert resolve_relative_files("/home/my.py:X", spec) == "/home/my.py:X"
    assert resolve_relative_files("q[set=../my.py:X]", spec) == "q[set=sweeps/../my.py:X]"
    assert resolve_relative_files("my:X[a=1]", spec) == "my:X[a=1]"
    assert [module_name("a/my.py:X"), module_name("my.sub:X")] == ["my", "my.sub"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", ["NAME[key=value,key=value]"]),
        ("a b", ["'a b'", "NAME[key=value,key=value]"]),
        ("a[b=1", ["NAME[key=value,key=value]"]),
        ("a[set=b/my.py:X", ["NAME[key=value,key=value]"]),
        ("a[1]/my.py:X[b=1]", ["path of a file must not contain '['", "rename the folder"]),
        ("a]/my.py:X", ["path of a file must not contain ']'"]),
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
