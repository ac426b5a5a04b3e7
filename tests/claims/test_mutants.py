"""Every planted fault is caught by each claim that must catch it."""

import pytest

from pfbench.theory.catalogue import CLAIMS
from pfbench.verification.checks import CHECKS
from pfbench.verification.mutants import MUTANTS
from pfbench.verification.mutants.session import judge_mutant

pytestmark = pytest.mark.claims

PAIRS = [(mutant.name, claim) for mutant in MUTANTS.values() for claim in mutant.expected]


@pytest.mark.parametrize(("mutant", "claim"), PAIRS)
def test_a_mutant_is_caught(mutant, claim):
    row = judge_mutant(mutant, claim, "quick", seed=0)
    assert row.verdict == "violated" or row.measured.get("verdict") == "violated"


def test_there_are_thirty_and_they_reach_every_paper():
    assert len(MUTANTS) >= 30
    assert {CLAIMS[claim].paper for _, claim in PAIRS} == {c.paper for c in CLAIMS.values()}


def test_a_mutant_names_claims_that_have_checks():
    assert {claim for _, claim in PAIRS} <= set(CHECKS)
