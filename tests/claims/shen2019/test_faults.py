"""Faults that several claims must catch."""

import pytest

from pfbench.claims.shen2019.estimator_faults import MUTANTS


@pytest.mark.thin(3)
@pytest.mark.claims
@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_planted_fault_is_caught_by_every_claim(mutant, judgements):
    assert len(mutant.expected_claims) > 1
    for claim in mutant.expected_claims:
        judgements.assert_caught(mutant, claim)
