"""Every quick claim of wang2019 has its verdict."""

import pytest

from pfbench.claims.wang2019 import PAPER

NAMES = ("thm1", "thm2", "thm3", "step")
ROWS = (
    *("prox-gd", "prox-sgd", "prox-svrg", "prox-saga", "prox-svrg-plus", "natasha15"),
    *("prox-spiderboost", "prox-spiderboost-online"),
)

VERDICTS = {
    "wang2019-thm1": "within-10",
    "wang2019-thm2": "within-10",
    "wang2019-thm3": "holds",
    "wang2019-table1-prox-spiderboost": "within-10",
    "wang2019-step": "within-10",
}


def name(one):
    return getattr(one, "name", None)


def test_all_that_is_said_of_it_can_be_used_anywhere():
    expected = {f"wang2019-{key}" for key in (*NAMES, *(f"table1-{row}" for row in ROWS))}
    assert {claim.name for claim in PAPER.claims} == expected
    assert {claim.name for claim in PAPER.claims if claim.expected_seconds[0] is not None} == set(
        VERDICTS
    )
    assert not PAPER.errata


@pytest.mark.claims
@pytest.mark.parametrize(
    "claim", [claim for claim in PAPER.claims if claim.expected_seconds[0] is not None], ids=name
)
def test_verdicts(claim, judgements):
    row = judgements(claim)
    assert row.verdict == VERDICTS[claim.name], row.reason
