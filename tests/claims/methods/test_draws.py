"""Draws that are told otherwise than most do are right; faults of draws that act late are seen."""

import re

import pytest
from judging import judge
from own_draws import FullByBatch, Lengths, NeverZero, OftenLate, Once, SeededAnew

from pfbench.claims.catalogue import CLAIMS
from pfbench.verification import Subject

pytestmark = pytest.mark.claims


def row(what, name, algorithm):
    return judge(CLAIMS[f"methods-{what}-{name}"], Subject(algorithm))


@pytest.mark.parametrize("kind", [Lengths, FullByBatch])
def test_how_a_coin_fell_that_is_not_told_is_seen_from_what_was_asked(kind):
    assert row("count", "prox-page", kind).verdict == "holds"
    assert row("run", "prox-page", kind).verdict == "holds"


def test_a_chance_of_such_a_coin_that_falls_late_is_seen():
    found = row("run", "prox-page", OftenLate)
    assert found.verdict == "violated"
    assert "its coin falls heads with another chance" in found.reason


def test_what_is_stored_once_may_be_asked_once():
    found = row("count", "prox-saga", Once)
    assert found.verdict == "inconclusive"
    assert "what its table stores once, it asks once" in found.reason
    assert row("run", "prox-saga", Once).verdict == "holds"
    assert row("run", "prox-saga", NeverZero).verdict == "violated"


def test_a_stream_that_is_seeded_anew_is_seen_when_it_begins_again():
    found = row("run", "prox-sgd", SeededAnew)
    assert found.verdict == "violated"
    assert int(re.search(r"Iteration (\d+): its batches", found.reason)[1]) == 10_000 // 32
