"""The linter of names and texts: what it reports, and what its allowed list may have."""

import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SPEC = importlib.util.spec_from_file_location("check_words", ROOT / "tools/check_words.py")
check_words = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(check_words)


@pytest.fixture
def rules(tmp_path):
    """Return a function that returns the rules that a source breaks, in the order of its faults."""

    def check(source, file="pfbench/base/example.py"):
        path = tmp_path / "example.py"
        path.write_text(source, encoding="utf-8")
        return [fault.rule for fault in check_words.check_source(path, file)]

    return check


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("for one in claims:\n    pass", ["W1"]),
        ("def f(told):\n    pass", ["W1"]),
        ("self.found = 1", ["W1"]),
        ("def computed(x):\n    pass", ["W2"]),
        ("def calls_of(x):\n    pass", ["W2"]),
        ("def compute_calls(x):\n    pass", []),
        ("def seed(x):\n    pass", []),
        ('def f():\n    """Return what is computed."""', ["W3"]),
        ('class C:\n    """What a run is."""', ["W4"]),
        ('text = "somebody else"', ["W5"]),
    ],
)
def test_each_rule_reports_its_fault(rules, source, expected):
    assert rules(source) == expected


def test_a_name_is_allowed_only_in_its_place(rules):
    assert rules("at = x", "pfbench/algorithms/example.py") == []
    assert rules("at = x", "pfbench/sets/example.py") == ["W1"]


def test_the_allowed_list_is_short_and_has_reasons():
    entries = check_words.WORDS["allowed"]
    assert len(entries) <= 30
    assert all(entry["reason"] for entry in entries)
