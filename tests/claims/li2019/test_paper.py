"""Every claim of li2019 has its verdict, every erratum is shown."""

import numpy as np
import pytest
from judging import assert_shown

from pfbench.claims.li2019 import PAPER, corollary3, lemma1, nonconvex, stat

VERDICTS = {
    "li2019-thm1": "within-10",
    "li2019-thm1-fo": "holds",
    "li2019-thm1-lo": "holds",
    "li2019-cor3": "within-10",
    "li2019-stat": "within-10",
    "li2019-thm2": "within-10",
    "li2019-variance": "holds",
    "li2019-nonconvex": "disputed",
    "li2019-lemma1": "holds",
}

AS_CORRECTED = {
    "lemma 1: a quarter": (lemma1.examine_half_eigenvalue, {"printed": 0.25}),
    "(15): 4 eps^2": (stat.examine_squared_norm, {"is_corrected": True}),
    "(22): both squared": (stat.examine_one_sided_square, {"is_corrected": True}),
    "(30): weighted": (
        corollary3.examine_weights_of_30,
        {"printed": {"first": 0.5, "weighted": True}},
    ),
    "(69): >=": (nonconvex.examine_reversed_inequality, {"sign": -1.0}),
    "(74): without L": (nonconvex.examine_stray_factor, {"last_factor": np.ones_like}),
    "G.1: towards the minimiser": (
        nonconvex.examine_missing_convexity,
        {"towards_minimiser": True},
    ),
}


def name(one):
    return getattr(one, "name", None)


def test_all_that_is_said_of_it_can_be_used_anywhere():
    assert set(VERDICTS) == {claim.name for claim in PAPER.claims}
    assert [claim.name for claim in PAPER.claims if claim.disputed] == ["li2019-nonconvex"]
    assert len(PAPER.errata) == 7


@pytest.mark.claims
@pytest.mark.parametrize("claim", PAPER.claims, ids=name)
def test_verdicts(claim, judgements):
    row = judgements(claim)
    assert row.verdict == VERDICTS[claim.name], row.reason
    if row.verdict == "disputed":
        assert row.measured["verdict"] == "holds"


@pytest.mark.parametrize("erratum", PAPER.errata, ids=name)
def test_errata_are_shown(erratum):
    assert_shown(erratum)


@pytest.mark.parametrize("examined", AS_CORRECTED)
def test_the_corrected_statement_is_not_seen_to_fail(examined):
    examine, correction = AS_CORRECTED[examined]
    found = examine("quick", 1, **correction)
    assert not found.printed_fails
    assert found.corrected_holds


def test_a_seed_repeats_the_numbers_and_another_changes_them():
    first, again, other = (stat.examine_squared_norm("quick", seed).numbers for seed in (4, 4, 5))
    assert first == again != other
