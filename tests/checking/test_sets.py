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


@pytest.mark.parametrize("name", OUR_SETS)
def test_every_set_of_the_catalogue_passes(name):
    found = check(f"set:{name}")
    assert found.passed, str(found)


@pytest.mark.parametrize("name", OURS)
def test_every_penalty_of_the_catalogue_passes(name):
    found = check(f"penalty:{name}")
    assert found.passed, str(found)


@pytest.mark.parametrize("body", RIGHT, ids=lambda body: body.name)
def test_a_right_set_in_another_style_passes(body):
    found = check(body)
    assert (found.kind, failed(found)) == ("set", []), str(found)


@pytest.mark.parametrize("penalty", RIGHT_PENALTIES, ids=lambda penalty: type(penalty).__name__)
def test_a_right_penalty_in_another_style_passes(penalty):
    found = check(penalty)
    assert (found.kind, failed(found)) == ("penalty", []), str(found)


@pytest.mark.parametrize("fault", faults(SETS))
def test_a_fault_of_a_set_is_named(fault):
    body, expected = SETS[fault]
    found = check(body)
    assert expected in failed(found), str(found)
    one = next(one for one in found.failures if one.check == expected)
    assert one.expected
    assert one.sentence.endswith(".")


@pytest.mark.parametrize("fault", faults(PENALTIES))
def test_a_fault_of_a_penalty_is_named(fault):
    penalty, expected = PENALTIES[fault]
    found = check(penalty)
    assert expected in failed(found), str(found)


def test_the_point_of_a_wrong_linear_minimisation_shows_it():
    body, _ = SETS["sign"]
    (one,) = [one for one in check(body).failures if one.check == "lo minimises"]
    g, lower = one.at["g"], one.at["a lower member"]
    assert body.contains(lower)
    assert np.vdot(g, lower) < np.vdot(g, body.lo(g))
    assert "does it maximise" in one.seen
    assert "faulty_sets.py:" in one.where[0]


def test_a_set_of_long_vectors_takes_neither_long_nor_much_memory():
    tracemalloc.start()
    try:
        found = check(L1Ball(2000, 3.0))
        assert tracemalloc.get_traced_memory()[1] < 3e8
    finally:
        tracemalloc.stop()
    assert found.passed, str(found)
