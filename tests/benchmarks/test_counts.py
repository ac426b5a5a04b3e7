"""A count that changes without its version is noticed; no target is decided by rounding."""

from dataclasses import replace

import numpy as np
import pytest

from benchmarks import counts
from benchmarks.cases import CASES, counted
from benchmarks.history import stored
from benchmarks.history.__main__ import main
from pfbench.algorithms.catalogue import ALGORITHMS
from pfbench.runs.loop.run import Stop

CASE = CASES["prox-svrg"]
COUNTS = {"sfo": 100, "po": 7, "iterations": 7, "missed": 0}
OLD = {"prox-svrg": {"1": COUNTS}}


def complaints(counts, version=1, expected=OLD):
    return list(stored.complaints({"prox-svrg": counts}, {"prox-svrg": version}, expected))


def test_every_algorithm_has_a_case_and_a_benchmark():
    assert CASES.keys() == ALGORITHMS.keys()
    for name, case in CASES.items():
        track = getattr(counts, f"track_{name.replace('-', '_')}")
        assert track.version == str(case.version)
        assert track({name: {"lo": 3}}, "lo") == 3


@pytest.mark.thin(4)
@pytest.mark.parametrize("name", CASES)
def test_a_case_meets_its_target_by_more_than_rounding(name):
    run, target = CASES[name].run(), Stop.parse(CASES[name].target)
    assert run.status == "target"
    seen = run.trace[target.measure].to_numpy()
    assert np.all(np.abs(seen / target.target - 1.0) > 1e-4)
    assert run.iterations < run.parameters.get("iterations", np.inf)
    assert stored.calls_of(name) == tuple(
        k for k, n in {**run.counts.as_dict(), "iterations": run.iterations}.items() if n
    )


def test_equal_counts_are_no_complaint():
    assert complaints(COUNTS) == []


def test_a_count_that_changes_without_its_version_is_a_complaint():
    [told] = complaints(COUNTS | {"sfo": 101})
    assert told.startswith("prox-svrg: sfo 100 became 101; if that is meant, raise its version")
    assert complaints(COUNTS | {"missed": 1})


def test_a_new_version_is_accepted_beside_the_old_one():
    new = COUNTS | {"sfo": 101}
    [told] = complaints(new, version=2)
    assert "version 2 has no counts yet" in told
    expected = stored.accepted({"prox-svrg": new}, {"prox-svrg": 2}, OLD)
    assert expected == {"prox-svrg": {"1": COUNTS, "2": new}}
    assert complaints(new, version=2, expected=expected) == []
    assert complaints(COUNTS, version=1, expected=expected)  # versions rise
    assert list(stored.rewritten(OLD, expected)) == []


def test_what_stands_is_not_accepted_anew():
    new = COUNTS | {"sfo": 101}
    assert stored.accepted({"prox-svrg": new}, {"prox-svrg": 1}, OLD) == OLD
    [told] = stored.rewritten(OLD, {"prox-svrg": {"1": new}})
    assert "the counts of version 1 were written anew (sfo 100 became 101)" in told


def test_a_case_that_is_gone_is_a_complaint():
    [told] = stored.complaints({}, {}, OLD)
    assert "no such case any more" in told


def test_a_method_that_asks_otherwise_is_noticed():
    now = counted(replace(CASE, algorithm=CASE.algorithm.replace("batch=7", "batch=8")))
    told = list(stored.complaints({CASE.name: now}, {CASE.name: 1}, stored.read()))
    assert any(one.startswith("prox-svrg: sfo ") for one in told)


def test_the_command_says_what_is_wrong(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr("benchmarks.cases.CASES", {CASE.name: CASE})
    monkeypatch.setattr(stored, "read", lambda: {CASE.name: {"1": COUNTS}})
    assert main(["check"]) == 1
    told = capsys.readouterr().err.splitlines()
    assert sum("no counts are taken of it" in line for line in told) == len(ALGORITHMS) - 1
    assert sum(line.startswith("prox-svrg: ") for line in told) == 1


def test_what_is_written_is_read_again(tmp_path):
    file = tmp_path / "counts.json"
    two = {"b": {"1": COUNTS, "2": COUNTS}, "a": {"1": COUNTS}}
    stored.write(two, file)
    assert stored.read(file) == two
    assert stored.read(tmp_path / "none.json") == {}
