"""The checks of sets and penalties: right ones pass, every planted fault is named."""

import tracemalloc

import numpy as np
import pytest
from checking.faults import faults
from checking.faulty_sets import PENALTIES, RIGHT, RIGHT_PENALTIES, SETS

from pfbench.checking import check
from pfbench.sets import L1Ball
from pfbench.sets.catalogue import PENALTIES as OURS
from pfbench.sets.catalogue import SETS as OUR_SETS


def failed(found):
    return [one.check for one in found.failures]


@pytest.mark.thin(4)
@pytest.mark.parametrize("name", OUR_SETS)
def test_every_set_of_the_catalogue_passes(name):
    report = check(f"set:{name}")
    assert report.is_passed, str(report)


@pytest.mark.parametrize("name", OURS)
def test_every_penalty_of_the_catalogue_passes(name):
    report = check(f"penalty:{name}")
    assert report.is_passed, str(report)


@pytest.mark.parametrize("body", RIGHT, ids=lambda body: body.name)
def test_a_right_set_in_another_style_passes(body):
    report = check(body)
    assert (report.kind, failed(report)) == ("set", []), str(report)


@pytest.mark.parametrize("penalty", RIGHT_PENALTIES, ids=lambda penalty: type(penalty).__name__)
def test_a_right_penalty_in_another_style_passes(penalty):
    report = check(penalty)
    assert (report.kind, failed(report)) == ("penalty", []), str(report)


@pytest.mark.parametrize("fault", faults(SETS))
def test_a_fault_of_a_set_is_named(fault):
    body, expected = SETS[fault]
    report = check(body)
    assert expected in failed(report), str(report)
    result = next(result for result in report.failures if result.check == expected)
    assert result.expected
    assert result.sentence.endswith(".")


@pytest.mark.parametrize("fault", faults(PENALTIES))
def test_a_fault_of_a_penalty_is_named(fault):
    penalty, expected = PENALTIES[fault]
    report = check(penalty)
    assert expected in failed(report), str(report)


def test_the_point_of_a_wrong_linear_minimisation_shows_it():
    body, _ = SETS["sign"]
    (result,) = [result for result in check(body).failures if result.check == "lo minimises"]
    g, lower = result.arguments["g"], result.arguments["a lower member"]
    assert body.contains(lower)
    assert np.vdot(g, lower) < np.vdot(g, body.lo(g))
    assert "does lo maximise" in result.observed
    assert "faulty_sets.py:" in result.location[0]


def test_a_set_of_long_vectors_takes_neither_long_nor_much_memory():
    tracemalloc.start()
    try:
        report = check(L1Ball(2000, 3.0))
        assert tracemalloc.get_traced_memory()[1] < 3e8
    finally:
        tracemalloc.stop()
    assert report.is_passed, str(report)
