"""The page of times and memory by size, from made numbers; nothing is measured here."""

import json

import pytest

from benchmarks.scale import __main__ as scale
from benchmarks.scale import recovery


def test_the_exponent_is_that_of_a_power():
    sizes = [10**5, 10**6, 25 * 10**6]
    assert scale.exponent(sizes, [3.0 * n**1.25 for n in sizes]) == pytest.approx(1.25)


def test_rows_are_those_of_any_size_and_exponents_of_times():
    numbers = {"small": 10, "large": 1000, "larger": 100_000}
    found = {
        size: {"iteration, ms": 0.01 * n**2, "iteration, pairs": 2.0} for size, n in numbers.items()
    }
    found["small"]["iteration, ms"] = 7.0  # below the sizes that are fitted
    del found["large"]["iteration, pairs"]
    found["larger"]["made, s"] = 1.0  # at one size alone: there is nothing to fit
    head, _, times, pairs, made, _ = scale.table(found, numbers, from_size=1000)
    assert head.startswith("| | small | large | larger |")
    assert times == "| iteration, ms | 7 | 10,000 | 100,000,000 | 2.00 |  |"
    assert made == "| made, s |  |  | 1 |  |  |"
    assert pairs.startswith("| iteration, pairs | 2 |  | 2 |  | at most 4.1")


def test_what_is_measured_is_not_measured_again(tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr(scale, "measured", lambda *of: asked.append(of) or {"made, s": 1.0})
    for _ in range(2):
        of = scale.Measured(tmp_path / "kept.json")
        assert of("speed", "1M") == {"made, s": 1.0}
    assert asked == [("speed", "1M")]
    assert json.loads((tmp_path / "kept.json").read_text()) == {"speed 1M": {"made, s": 1.0}}
    assert set(recovery.SIZES) == {"100k", "1M", "10M", "25M"}


def test_every_target_is_a_row_that_is_measured():
    source = (recovery.__loader__.get_source(recovery.__name__),)
    assert all(name in source[0] for name in scale.TARGETS)
