"""Selectors as the command line takes them; FILE.py:NAME and MODULE:NAME."""

import pickle
import sys
from pathlib import Path

import pytest
from helpers import refused
from hypothesis import given
from hypothesis import strategies as st

import pfbench
from pfbench.base.errors import InputError, locate_error
from pfbench.base.selectors import (
    Selector,
    module_name,
    replace_file_by_module,
    resolve_relative_files,
)
from pfbench.base.user_code import load_user_object


@pytest.fixture
def module(folder):
    (folder / "mine_for_tests.py").write_text("class MySpider:\n    pass\n")
    inside = folder / "my methods"
    inside.mkdir()
    (inside / "apart_for_tests.py").write_text("from beside_for_tests import Spider\n")
    (inside / "beside_for_tests.py").write_text("class Spider:\n    pass\n")
    (inside / "mine_for_tests.py").write_text("class Other:\n    pass\n")
    (inside / "colorsys.py").write_text("X = 1\n")
    (inside / "numpy.py").write_text("X = 1\n")
    (inside / "2nd-method.py").write_text("X = 1\n")
    (folder / "__main__.py").write_text("X = 1\n")
    bare = "import pfbench\nclass Bare(pfbench.Algorithm):\n    batch: int\n"
    bare += "class Own(pfbench.Algorithm):\n    batch: int\n    def __init__(self): pass\n"
    bare += "class Kept(pfbench.Algorithm):\n    _table: int\n"
    (folder / "bare_for_tests.py").write_text(bare)


@pytest.mark.usefixtures("module")
def test_a_name_in_a_module_of_the_current_folder():
    assert load_user_object("mine_for_tests:MySpider").__name__ == "MySpider"


@pytest.mark.usefixtures("module")
def test_a_name_in_a_file_which_finds_its_neighbours(tmp_path):
    found = load_user_object("my methods/apart_for_tests.py:Spider")
    assert found.__module__ == "beside_for_tests"
    assert load_user_object(f"{tmp_path}/my methods/apart_for_tests.py:Spider") is found
    # It is the module of its name: pickles and keys know it so.
    assert load_user_object("apart_for_tests:Spider") is found


@pytest.mark.usefixtures("module")
def test_a_method_that_a_function_returns_is_found_again_by_its_name(tmp_path):
    text = "def make(c):\n    def f(ask, x, rng):\n        yield c\n    return f\n\n"
    (tmp_path / "made_for_tests.py").write_text(f"{text}one, two = make(1), make(2)\n")
    for name, value in (("one", 1), ("two", 2)):
        again = pickle.loads(pickle.dumps(load_user_object(f"made_for_tests.py:{name}")))
        assert list(again.function(None, None, None)) == [value]


@pytest.mark.usefixtures("module")
def test_of_two_files_of_one_name_the_second_is_refused():
    assert load_user_object("mine_for_tests.py:MySpider") is load_user_object(
        "mine_for_tests:MySpider"
    )
    with pytest.raises(InputError, match="clashes with the module"):
        load_user_object("my methods/mine_for_tests.py:Other")


@pytest.mark.usefixtures("module")
@pytest.mark.parametrize(
    ("name", "words"),
    [
        (":MySpider", "MODULE:NAME"),
        ("mine_for_tests:", "MODULE:NAME"),
        ("mine_for_tests:MySpidr", "did you mean 'MySpider'"),
        ("mine_for_tests.py:", "FILE.py:NAME"),
        ("mine_for_tests.py:MySpidr", "mine_for_tests.py 'MySpidr': did you mean 'MySpider'"),
        ("my methods/colorsys.py:X", "clashes with the module"),
        ("my methods/numpy.py:X", "clashes with the module"),
        ("my methods/2nd-method.py:X", "letters, digits and underscores"),
        ("__main__.py:X", "clashes with the module"),
        ("bare_for_tests:Bare", "write @dataclass"),
    ],
)
def test_what_cannot_be_loaded(name, words):
    with pytest.raises(InputError, match=words):
        load_user_object(name)


@pytest.mark.usefixtures("module")
@pytest.mark.parametrize("name", ["Own", "Kept"])
def test_a_class_that_sets_its_attributes_itself_needs_no_decorator(name):
    assert load_user_object(f"bare_for_tests:{name}").__name__ == name


@pytest.mark.usefixtures("module")
@pytest.mark.skipif(sys.platform == "win32", reason="needs timers")
@pytest.mark.parametrize("top", ["lock.acquire()\nlock.acquire()", "while True:\n    pass"])
def test_an_import_that_hangs_ends_at_a_limit_by_name(tmp_path, monkeypatch, top):
    monkeypatch.setattr("pfbench.base.user_code.IMPORT_LIMIT", 0.3)
    text = f"import threading\n\nlock = threading.Lock()\n{top}\n"
    (tmp_path / "hanging_for_tests.py").write_text(text)
    words = "import of hanging_for_tests:A has not ended after 0.3 s"
    with pytest.raises(InputError, match=words):
        load_user_object("hanging_for_tests:A")
    assert load_user_object("mine_for_tests:MySpider").__name__ == "MySpider"


def test_a_file_beside_the_package_is_the_users():
    file = f"{Path(pfbench.__file__).parent}_mine/method.py"
    with pytest.raises(ZeroDivisionError) as error:
        exec(compile("1 / 0", file, "exec"))
    assert locate_error(error.value)[:2] == (file, 1)


# --- Selectors as the command line takes them -----------------------------------------------------


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
        ("a b", ["'a b'", "NAME[key=value,key=value]"]),
        ("a[set=b/my.py:X", ["NAME[key=value,key=value]"]),
        ("a[1]/my.py:X[b=1]", ["path of a file must not contain '['", "rename the folder"]),
        ("a]/my.py:X", ["path of a file must not contain ']'"]),
    ],
)
def test_bad_selectors_are_refused_in_one_sentence(text, words):
    with refused(*words):
        Selector.parse(text)


def test_a_parsed_selector_cannot_be_changed():
    with pytest.raises(TypeError):
        Selector.parse("a[b=1]").parameters["b"] = 2
