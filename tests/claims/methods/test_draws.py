"""Draws that are told otherwise than most do are right; faults of draws that act late are seen."""

import re

import pytest
from judging import judge
from own_draws import (
    DoublesToADepth,
    Ends,
    FullByBatch,
    InTwo,
    Lengths,
    NeverZero,
    OftenLate,
    Once,
    PoolOfDraws,
    SeededAnew,
    SeldomerReferences,
    SeldomLate,
)

from pfbench.claims.catalogue import CLAIMS
from pfbench.verification import Subject

pytestmark = pytest.mark.claims


def row(what, name, algorithm):
    return judge(CLAIMS[f"methods-{what}-{name}"], Subject(algorithm))


@pytest.mark.parametrize("kind", [Lengths, FullByBatch, InTwo])
def test_how_a_coin_fell_that_is_not_told_is_seen_from_what_was_asked(kind):
    assert row("count", "prox-page", kind).verdict == "holds"
    assert row("run", "prox-page", kind).verdict == "holds"


def test_a_chance_of_such_a_coin_that_falls_late_is_seen():
    for fault in (OftenLate, SeldomLate):
        found = row("run", "prox-page", fault)
        assert found.verdict == "violated"
        assert "its coin falls heads with another chance" in found.reason


def test_what_is_stored_once_may_be_asked_once():
    found = row("count", "prox-saga", Once)
    assert found.verdict == "inconclusive"
    assert "what its table stores once, it asks once" in found.reason
    assert row("run", "prox-saga", Once).verdict == "holds"


@pytest.mark.long
def test_where_they_are_told_once_draws_that_are_not_uniform_are_seen():
    assert row("run", "prox-saga", NeverZero).verdict == "violated"


def test_a_stream_that_is_seeded_anew_is_seen_when_it_begins_again():
    found = row("run", "prox-sgd", SeededAnew)
    assert found.verdict == "violated"
    n, b, t = map(
        int, re.search(r"n=(\d+).*batch=(\d+).*iteration (\d+): its", found.reason).groups()
    )
    assert "its batches are those of before" in found.reason
    assert t == n // b


@pytest.mark.parametrize(
    ("fault", "name", "why"),
    [
        (PoolOfDraws, "prox-svrg", r"Iteration 38\d\d: its batches are those of before"),
        (SeldomerReferences, "prox-svrg", r"Iteration 9\d\d: "),
        (Ends, "svfw", "corners.*it makes"),
        (DoublesToADepth, "spider-fw-convex", r"Iteration 102\d: "),
    ],
)
def test_what_shows_in_many_epochs_or_at_a_corner_is_seen(fault, name, why):
    found = row("run", name, fault)
    assert found.verdict == "violated"
    assert re.search(why, found.reason), found.reason
