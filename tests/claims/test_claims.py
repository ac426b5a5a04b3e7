"""Every claim of the quick verification, with one fixed seed: nothing is violated."""

import pytest

from pfbench.theory.catalogue import CLAIMS
from pfbench.verification.checks import (
    CHECKS,
    lacoste2016,
    li2019,
    qu2018,
    shen2019,
    wang2019,
)
from pfbench.verification.session import judge
from pfbench.verification.subject import Subject

QUICK = [name for name, check in CHECKS.items() if check.quick is not None]

pytestmark = pytest.mark.claims


@pytest.mark.parametrize("name", QUICK)
def test_a_claim_is_not_violated(name):
    row = judge(name, Subject(), "quick", seed=0)
    expected = ("disputed",) if CLAIMS[name].disputed else ("holds", "tight", "inconclusive")
    assert row.verdict in expected, row.reason
    assert not row.failed
    assert row.repetitions > 0
    assert row.measured
    assert row.claimed


def test_the_quick_verification_covers_every_kind_and_every_paper():
    tested = [CLAIMS[name] for name in QUICK]
    assert {claim.kind for claim in tested} == {claim.kind for claim in CLAIMS.values()}
    assert {claim.paper for claim in tested} == {claim.paper for claim in CLAIMS.values()}


def test_every_claim_has_a_check_and_every_check_a_claim():
    assert list(CHECKS) == list(CLAIMS)
    papers = (shen2019, qu2018, li2019, wang2019, lacoste2016)
    assert sum(len(paper.CHECKS) for paper in papers) == len(CLAIMS)
