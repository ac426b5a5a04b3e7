"""MODULE:NAME: what it finds, and each way it can fail."""

import sys

import pytest

from pfbench.base.errors import InputError
from pfbench.runs.planning.user_code import load


@pytest.fixture
def module(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "mine_for_tests.py").write_text("class MySpider:\n    pass\n")
    (tmp_path / "broken_for_tests.py").write_text("1 / 0\n")
    (tmp_path / "needy_for_tests.py").write_text("import no_such_library\n")
    (tmp_path / "leaving_for_tests.py").write_text("raise SystemExit(3)\n")
    yield
    for name in ("mine_for_tests", "broken_for_tests", "needy_for_tests", "leaving_for_tests"):
        sys.modules.pop(name, None)


@pytest.mark.usefixtures("module")
def test_a_name_in_a_module_of_the_current_folder():
    assert load("mine_for_tests:MySpider").__name__ == "MySpider"


@pytest.mark.usefixtures("module")
@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("mine_for_tests", "MODULE:NAME"),
        (":MySpider", "MODULE:NAME"),
        ("mine_for_tests:", "MODULE:NAME"),
        ("mine_for_test:MySpider", "there is no module mine_for_test"),
        ("mine_for_tests:MySpidr", "did you mean 'MySpider'"),
        ("broken_for_tests:X", "fails with ZeroDivisionError"),
        ("needy_for_tests:X", "no_such_library"),
        ("leaving_for_tests:X", "fails with SystemExit: 3"),
    ],
)
def test_what_cannot_be_loaded(name, words):
    with pytest.raises(InputError, match=words):
        load(name)
