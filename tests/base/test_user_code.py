"""FILE.py:NAME and MODULE:NAME: what it finds, and each way it can fail."""

import pickle
import sys
from pathlib import Path

import pytest

import pfbench
from pfbench.base.errors import InputError, locate_error
from pfbench.base.user_code import load_user_object


@pytest.fixture
def module(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "mine_for_tests.py").write_text("class MySpider:\n    pass\n")
    (tmp_path / "broken_for_tests.py").write_text("1 / 0\n")
    (tmp_path / "needy_for_tests.py").write_text("import no_such_library\n")
    (tmp_path / "leaving_for_tests.py").write_text("raise SystemExit(3)\n")
    folder = tmp_path / "my methods"
    folder.mkdir()
    (folder / "apart_for_tests.py").write_text("from beside_for_tests import Spider\n")
    (folder / "beside_for_tests.py").write_text("class Spider:\n    pass\n")
    (folder / "mine_for_tests.py").write_text("class Other:\n    pass\n")
    (folder / "colorsys.py").write_text("X = 1\n")
    (folder / "numpy.py").write_text("X = 1\n")
    (folder / "2nd-method.py").write_text("X = 1\n")
    (tmp_path / "__main__.py").write_text("X = 1\n")
    yield
    for name in [name for name in sys.modules if name.endswith("_for_tests")]:
        del sys.modules[name]


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
        ("mine_for_tests", "MODULE:NAME"),
        (":MySpider", "MODULE:NAME"),
        ("mine_for_tests:", "MODULE:NAME"),
        ("mine_for_test:MySpider", "there is no module mine_for_test"),
        ("mine_for_tests:MySpidr", "did you mean 'MySpider'"),
        ("broken_for_tests:X", "raised ZeroDivisionError"),
        ("needy_for_tests:X", "no_such_library"),
        ("leaving_for_tests:X", "raised SystemExit: 3"),
        ("mine_for_tests.py", "FILE.py:NAME"),
        ("mine_for_tests.py:", "FILE.py:NAME"),
        ("mine_for_tests.py:MySpidr", "mine_for_tests.py 'MySpidr': did you mean 'MySpider'"),
        ("broken_for_tests.py:X", "raised ZeroDivisionError"),
        ("no/such.py:X", "there is no file no/such.py"),
        ("my methods/colorsys.py:X", "clashes with the module"),
        ("my methods/numpy.py:X", "clashes with the module"),
        ("my methods/2nd-method.py:X", "letters, digits and underscores"),
        ("__main__.py:X", "clashes with the module"),
    ],
)
def test_what_cannot_be_loaded(name, words):
    with pytest.raises(InputError, match=words):
        load_user_object(name)


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
