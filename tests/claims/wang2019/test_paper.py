"""Every quick claim of wang2019 has its verdict, every fault is caught."""

import pytest
from judging import assert_complete

from pfbench.claims.wang2019 import PAPER, step, theorem1, theorem2

NAMES = ("thm1", "thm2", "thm3", "step")
ROWS = (
    *("prox-gd", "prox-sgd", "prox-svrg", "prox-saga", "prox-svrg-plus", "natasha15"),
    *("prox-spiderboost", "prox-spiderboost-online"),
)

FAST = (theorem1, theorem2, step)
"""Files whose faults are tested here, each by its first claim.

`pfbench faults` tests all pairs.
"""

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
    assert (len(PAPER.mutants), len(PAPER.errata)) == (22, 0)
    assert_complete(PAPER)


@pytest.mark.claims
@pytest.mark.parametrize(
    "claim", [claim for claim in PAPER.claims if claim.expected_seconds[0] is not None], ids=name
)
def test_verdicts(claim, judgements):
    row = judgements(claim)
    assert row.verdict == VERDICTS[claim.name], row.reason


@pytest.mark.long
@pytest.mark.claims
@pytest.mark.parametrize("mutant", [m for file in FAST for m in file.MUTANTS], ids=name)
def test_faults_are_caught(mutant, judgements):
    judgements.assert_caught(mutant, mutant.expected_claims[0])
