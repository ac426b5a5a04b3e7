"""The script that compares two checkouts sees what differs, and covers every algorithm."""

from pfbench.algorithms.catalogue import ALGORITHMS
from pfbench.base.selectors import Selector
from tools import compare_checkouts as tool


def test_every_algorithm_is_compared():
    assert {Selector.parse(text).name for text in tool.ALGORITHMS} == set(ALGORITHMS)


def test_a_difference_is_named_by_its_place():
    before = {"a": {"counts": {"lo": 3}, "seen": "x"}, "b": {}}
    after = {"a": {"counts": {"lo": 4}, "seen": "x"}, "c": {}}
    assert list(tool.differences(before, after)) == [
        "a > counts > lo: 3 became 4",
        "b: only before",
        "c: only after",
    ]
    assert not list(tool.differences(after, after))


def test_seconds_are_left_out_and_nothing_else():
    row = {"claim": "x", "verdict": "holds", "seconds": 1.0, "measured": {"ratio": 0.5}}
    finding = {"erratum": "y", "evidence": {"shown": True}}
    found = tool.by_name({"results": [row], "findings": [finding]})
    assert found == {
        "x": {"claim": "x", "verdict": "holds", "measured": {"ratio": 0.5}},
        "erratum y": finding,
    }
