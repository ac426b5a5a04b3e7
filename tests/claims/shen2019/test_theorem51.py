"""The lower bound: the floor on the methods it speaks of, planted faults, and the errata."""

import numpy as np
import pytest
from judging import assert_shown

from pfbench.claims.shen2019.theorem51 import (
    CHAIN,
    ERRATA,
    LOWER_BOUND,
    examine_internal_queries,
    examine_shifted_indices,
    gap_floor,
)


def test_the_floor_is_that_of_the_chain():
    """0.08 R; R = 230 sqrt T (shen2019 section 7.1)."""
    problem = CHAIN(T=9)
    assert problem.set.radius == pytest.approx(690.0)
    assert gap_floor(problem.set.diameter) == pytest.approx(0.08 * 690.0)
    assert CHAIN.example().horizon == 10


@pytest.mark.long
def test_every_method_keeps_above_the_floor_and_line_search_is_near_the_bound(judgements):
    found = judgements(LOWER_BOUND)
    assert found.verdict == "within-10"
    floors = {name: r for name, r in found.measured.items() if name.endswith("0: ratio")}
    assert len(floors) >= 16
    assert max(floors.values()) <= 1.0
    calls = found.measured["frank-wolfe[step=line-search], T(eps)/calls: ratio"]
    assert 0.9 < calls <= 1.0


@pytest.mark.parametrize("erratum", ERRATA, ids=lambda erratum: erratum.name)
def test_an_erratum_is_shown(erratum):
    assert_shown(erratum)


RIGHT = {"shen2019-5.1-queries": {"f is queried at iterates only"}, "shen2019-7.1-indices": set()}


@pytest.mark.parametrize("erratum", ERRATA, ids=lambda erratum: erratum.name)
def test_these_readings_make_the_printed_form_right(erratum):
    found = erratum.examine("quick", 4).readings
    assert {name for name, right in found.items() if right} == RIGHT[erratum.name]


def at_the_origin(problem):
    return np.zeros(problem.columns)


@pytest.mark.parametrize(
    ("examination", "correction"),
    [
        (examine_internal_queries, {"target": at_the_origin}),
        (examine_shifted_indices, {"shift": 1}),
    ],
)
def test_the_corrected_statement_is_not_seen_to_fail(examination, correction):
    found = examination("quick", 1, **correction)
    assert not found.printed_fails
    assert found.corrected_holds
